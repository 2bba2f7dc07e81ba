import type { z } from "zod";
import type { Caller } from "../access/caller.ts";
import type { Scope } from "../access/scopes.ts";
import type { AlertService } from "../alerts/api/alert-service.ts";
import type { ChannelService } from "../alerts/channels/channels.ts";
import type { WatchlistService } from "../alerts/watchlists/watchlists.ts";
import type { SignalLog } from "../log/signal-log.ts";
import type { MarketView } from "../market/market-view.ts";
import type { RecordList } from "../market/records.ts";
import type { PastSnapshot, Snapshot } from "../score/snapshot.ts";
import type { ColumnHead, TablePage } from "../tables/table.ts";

/**
 * The parts of the service that tools may use: the members that the modules in tools/ read, and
 * those that determine how long results stay valid.
 */
export interface ToolContext {
  readonly alerts: AlertService;
  readonly watchlists: WatchlistService;
  readonly channels: Pick<ChannelService, "idOf">;
  /** The signal log; absent in a market with a stopped clock. */
  readonly signalLog?: ToolSignalLog;
  readonly market: MarketView;
  readonly snapshots: {
    /**
     * Increases whenever data that read-only tools can return has changed; the passing of time
     * alone does not count as a change.
     */
    edition(): number;
    /** Instant of the newest snapshot of any instrument, Unix milliseconds. */
    latestAt(): number;
    /** The newest snapshot of a listed instrument. */
    newest(symbol: string): Snapshot;
    /** The newest snapshot of every instrument, in alphabetical order of the symbols. */
    allNewest(): readonly Snapshot[];
    /** The last snapshot of an instrument at or before an instant (`at`, Unix milliseconds). */
    lastAt(symbol: string, at: number): PastSnapshot | undefined;
    /**
     * Snapshots of an instrument's sessions that closed between `from` and `to`, both inclusive
     * (Unix milliseconds), oldest first.
     */
    history(symbol: string, from: number, to: number): RecordList<PastSnapshot>;
  };
}

/** The part of the signal log that tools may use. */
export type ToolSignalLog = Pick<
  SignalLog,
  "reader" | "committer" | "indexOf" | "shortVerifiersOf" | "trackRecord"
>;

/** What a tool learns about a call besides its input: the caller, and parameters of the request. */
export interface ToolCall {
  /** The authenticated caller. Tools whose results are shared cannot read it. */
  readonly caller: Caller;
  /**
   * Scopes of the caller; if the tool's results are shared, only those that are in `extraScopes`.
   */
  readonly scopes: ReadonlySet<Scope>;
  /** Idempotency key of the request, if any. */
  readonly idempotencyKey: string | undefined;
  /**
   * Version of the alert that the caller last read; the change is rejected if the alert now has
   * another version. If absent, the version is not checked.
   */
  readonly version?: string;
}

/**
 * HTTP route of a tool. The input of the tool consists of the path parameters, and of the query
 * string (GET, DELETE) or a JSON body (POST, PATCH).
 */
export interface ToolRoute {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Path in which `{name}` stands for a member of the input. */
  readonly path: `/api/${string}`;
  /** Input members that the route itself sets. */
  readonly with?: Readonly<Record<string, string>>;
  /**
   * HTTP status of a successful response. Default: 200. With 201, the `id` in the response
   * identifies the new resource below the path.
   */
  readonly status?: 201;
}

/** The tables that a tool can return instead of its JSON result. */
interface ToolTables<I extends z.ZodObject = z.ZodObject> {
  /** The columns of each table, by the name of the table. */
  readonly kinds: Readonly<Record<string, readonly ColumnHead[]>>;
  /**
   * Returns the rows for an input. The input's `limit` is infinite unless the caller set it.
   *
   * @throws {Problem} In the same cases as `run`, and if the requested view is not a table.
   */
  read(input: z.output<I>, context: ToolContext, call: ToolCall): TablePage | Promise<TablePage>;
}

/** Schema of a tool's result: an object, or a union of objects. */
type AnswerSchema = z.ZodObject | z.ZodUnion<readonly z.ZodObject[]>;

/** An operation of the service, offered both as an MCP tool and over REST. */
export interface Tool<I extends z.ZodObject = z.ZodObject, O extends AnswerSchema = AnswerSchema> {
  /** MCP tool name and operation id, in snake case. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Scopes that a credential needs; all of them are required. */
  readonly scopes: readonly Scope[];
  readonly routes: readonly ToolRoute[];
  readonly input: I;
  readonly output: O;
  /** The effect of the tool; absent if the tool only reads data of this service. */
  readonly effect?: {
    /** Whether the tool can delete data, or make data useless. */
    readonly isDestructive: boolean;
  };
  /** Optional scopes, each of which adds data to the result. */
  readonly extraScopes?: readonly Scope[];
  /**
   * Set if the result depends only on the input, the market and the extra scopes, so that several
   * callers can share it. Absent if the result also depends on the caller or on alerts.
   */
  readonly isShared?: true;
  /** The tables of the tool; absent if its result is never a table. */
  readonly tables?: ToolTables<I>;
  /**
   * Runs the tool.
   * @throws {Problem} For an error that the caller can correct; every other error is a bug.
   */
  run(input: z.output<I>, context: ToolContext, call: ToolCall): z.input<O> | Promise<z.input<O>>;
}

/**
 * Defines a tool. The schema types are inferred, so that `run` is checked against them. The type of
 * `run` is kept, so that a `run` that is synchronous, or that takes no `call` argument, can be
 * called accordingly.
 */
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
