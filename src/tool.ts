import type { z } from "zod";
import type { AlertService } from "./alerts/api/alert-service.ts";
import type { Channels } from "./alerts/channels/channels.ts";
import type { Watchlists } from "./alerts/watchlists/watchlists.ts";
import type { Caller } from "./auth/caller.ts";
import type { Scope } from "./auth/scopes.ts";
import type { Analyzer } from "./ingest/sentiment-model.ts";
import type { SignalLog } from "./log/signal-log.ts";
import type { MarketView } from "./market/market-view.ts";
import type { RecordList } from "./market/records.ts";
import type { PastSnapshot, Snapshot } from "./score/snapshot.ts";
import type { ColumnHead, TablePage } from "./tables/table.ts";

/** What a tool may use: members for the files in tools/, and those that determine how long answers
 *  are valid. */
export interface ToolContext {
  readonly alerts: AlertService;
  readonly watchlists: Watchlists;
  readonly channels: Pick<Channels, "idOf">;
  /** The log of signals; absent in a market with a stopped clock. */
  readonly signalLog?: ToolLog;
  /** The analyzer of messages. */
  readonly analyser: Analyzer;
  readonly market: MarketView;
  readonly snapshots: {
    /** Increases whenever data that read-only tools can return has changed; the passing of time
     *  alone does not count. */
    edition(): number;
    /** Instant of the newest snapshot, Unix milliseconds. */
    latestAt(): number;
    /** The newest snapshot of a listed instrument. */
    newest(symbol: string): Snapshot;
    /** The newest snapshot of every instrument, in alphabetical order of their symbols. */
    allNewest(): readonly Snapshot[];
    /** The last snapshot at or before an instant. */
    lastAt(symbol: string, at: number): PastSnapshot | undefined;
    /** Snapshots of the sessions that closed in [from, to], oldest first. */
    history(symbol: string, from: number, to: number): RecordList<PastSnapshot>;
  };
}

/** The part of the signal log that tools may use. */
export type ToolLog = Pick<
  SignalLog,
  "reader" | "committer" | "indexOf" | "shortVerifiersOf" | "trackRecord"
>;

/** Who calls a tool, and how. */
export interface Call {
  /** The caller; tools whose answers are shared cannot read it. */
  readonly caller: Caller;
  /** Scopes of the caller; if the tool's answers are shared, only those listed in `extraScopes`. */
  readonly scopes: ReadonlySet<Scope>;
  /** Idempotency key of the request, if any. */
  readonly idempotencyKey: string | undefined;
  /** Version of the alert that the caller saw; a change of another version is rejected. Absent: any
   *  version can be changed. */
  readonly version?: string;
}

/** HTTP route of a tool. The input consists of the values in the path, and of the query string
 *  (GET, DELETE) or a JSON body (POST, PATCH). */
export interface ToolRoute {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** `{name}` stands for a member of the input. */
  readonly path: `/api/${string}`;
  /** Members of the input that the route itself sets. */
  readonly with?: Readonly<Record<string, string>>;
  /** HTTP status of a successful answer; absent: 200. With 201 the answer's `id` names the new resource
   *  below the path. */
  readonly status?: 201;
}

/** Effect of a tool on data. */
interface Effect {
  /** Whether it can delete something or make it useless. */
  readonly isDestructive: boolean;
}

/** The tables in which a tool can also answer. */
interface ToolTables<I extends z.ZodObject = z.ZodObject> {
  /** The columns of each table by its name. */
  readonly kinds: Readonly<Record<string, readonly ColumnHead[]>>;
  /**
   * The rows that an input asks for. Its `limit` is infinite unless the caller set one.
   *
   * @throws {Problem} As `run`, and if the answer is not a table.
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
  /** Scopes that a credential needs, all of them. */
  readonly scopes: readonly Scope[];
  readonly routes: readonly ToolRoute[];
  readonly input: I;
  readonly output: O;
  /** Absent if the tool only reads, and only data of this service. */
  readonly effect?: Effect;
  /** Optional scopes, which add to the answer. */
  readonly extraScopes?: readonly Scope[];
  /** Set if the answer depends only on the input, the market and the extra scopes, so that callers
   *  can share it. Absent if it also depends on the caller or on alerts. */
  readonly isShared?: true;
  /** Absent if the answer is never a table. */
  readonly tables?: ToolTables<I>;
  /**
   * @throws {Problem} For an error that the caller can correct; every other error is a bug.
   */
  run(input: z.output<I>, context: ToolContext, call: Call): z.input<O> | Promise<z.input<O>>;
}

/** Infers the schemas, so that `run` is checked against them, and keeps the type of a `run` that
 *  needs no call or is synchronous. */
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
