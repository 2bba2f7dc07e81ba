import type { z } from "zod";
import type { AlertService } from "./alerts/api/alert-service.ts";
import type { Watchlists } from "./alerts/watchlists/watchlists.ts";
import type { Caller } from "./auth/caller.ts";
import type { Scope } from "./auth/scopes.ts";
import type { Analyser } from "./ingest/sentiment-model.ts";
import type { SignalLog } from "./log/signal-log.ts";
import type { MarketView } from "./market/market-view.ts";
import type { RecordList } from "./market/records.ts";
import type { PastSnapshot, Snapshot } from "./score/snapshot.ts";
import type { ColumnHead, TablePage } from "./tables/table.ts";

/** What a tool may reach: members that a file in tools/ uses, and what tells how long answers hold. */
export interface ToolContext {
  readonly alerts: AlertService;
  readonly watchlists: Watchlists;
  /** Where decisions are logged; absent where time stands still. */
  readonly signalLog?: ToolLog;
  /** Who reads the messages. */
  readonly analyser: Analyser;
  readonly market: MarketView;
  readonly snapshots: {
    /** Increases whenever data that read-only tools can return has changed; the passing of
     *  time is no change. */
    edition(): number;
    /** The latest instant that any of them is of, Unix milliseconds. */
    latestAt(): number;
    /** Of a listed instrument. */
    newest(symbol: string): Snapshot;
    /** In alphabetical order of their symbols. */
    allNewest(): readonly Snapshot[];
    /** The last one at or before an instant. */
    lastAt(symbol: string, at: number): PastSnapshot | undefined;
    /** Of the sessions that closed in [from, to], oldest first. */
    history(symbol: string, from: number, to: number): RecordList<PastSnapshot>;
  };
}

/** What a tool may reach of the signal log. */
export type ToolLog = Pick<
  SignalLog,
  "reader" | "committer" | "indexOf" | "shortVerifiersOf" | "trackRecord"
>;

/** Who calls a tool, and how. */
export interface Call {
  /** Not readable by tools whose answers are shared. */
  readonly caller: Caller;
  /** Scopes of the caller; of tools whose answers are shared only those of `extraScopes`. */
  readonly scopes: ReadonlySet<Scope>;
  /** Of the request, where it can have one. */
  readonly idempotencyKey: string | undefined;
}

/** HTTP route of a tool. The input is what the path says together with the query string (GET,
 *  DELETE) or a JSON body (POST, PATCH). */
export interface ToolRoute {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** `{name}` stands for a member of the input. */
  readonly path: `/api/${string}`;
  /** Members of the input that the route itself says. */
  readonly with?: Readonly<Record<string, string>>;
  /** HTTP status of a successful answer; absent: 200. With 201 the answer's `id` names the new resource
   *  below the path. */
  readonly status?: 201;
}

/** What a tool does besides answering. */
interface Effect {
  /** It can take something away or make it useless. */
  readonly isDestructive: boolean;
}

/** The tables that a tool's answer can also be had as. */
interface ToolTables<I extends z.ZodObject = z.ZodObject> {
  /** The columns of each table by its name. */
  readonly kinds: Readonly<Record<string, readonly ColumnHead[]>>;
  /**
   * The rows that an input asks for. Its `limit` is infinite unless the caller set one.
   *
   * @throws {Problem} As `run`, and where the answer is no table.
   */
  read(input: z.output<I>, context: ToolContext, call: Call): TablePage | Promise<TablePage>;
}

/** A tool's answer is an object, or one of several objects. */
export type AnswerSchema = z.ZodObject | z.ZodUnion<readonly z.ZodObject[]>;

/** One thing the service can do, offered both as an MCP tool and as a REST operation. */
export interface Tool<I extends z.ZodObject = z.ZodObject, O extends AnswerSchema = AnswerSchema> {
  /** MCP tool name and operation id, snake_case. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** What a credential needs, all of them. */
  readonly scopes: readonly Scope[];
  readonly routes: readonly ToolRoute[];
  readonly input: I;
  readonly output: O;
  /** Absent: the tool only reads, and only data of this service. */
  readonly effect?: Effect;
  /** Scopes that a credential need not have, and that add to the answer. */
  readonly extraScopes?: readonly Scope[];
  /** The answer depends on the input, the market and the extra scopes alone, whoever asks; so many can
   *  share it. Absent: on the caller or on alerts as well. */
  readonly isShared?: true;
  /** Absent: the answer is no table. */
  readonly tables?: ToolTables<I>;
  /**
   * @throws {Problem} For what the caller can put right; every other error is a bug.
   */
  run(input: z.output<I>, context: ToolContext, call: Call): z.input<O> | Promise<z.input<O>>;
}

/** Infers the schemas, so that `run` is checked against them; one that needs no call, or answers at
 *  once, stays so. */
export function defineTool<
  I extends z.ZodObject,
  O extends AnswerSchema,
  R extends Tool<I, O>["run"],
>(tool: Tool<I, O> & { readonly run: R }): Tool<I, O> & { readonly run: R } {
  return tool;
}

/** Whether a tool is about alerts and the watchlists that they follow, not about the market. */
export const isAboutAlerts = ({ routes }: Pick<Tool, "routes">): boolean =>
  routes.some(({ path }) => /^\/api\/(alerts|watchlists)/.test(path));
