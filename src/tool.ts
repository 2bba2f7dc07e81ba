import type { z } from "zod";
import type { Scope } from "./auth/scopes.ts";
import type { Instrument } from "./market/instrument.ts";
import type { MarketMode, Source } from "./market/market.ts";
import type { InstrumentRecords } from "./market/records.ts";
import type { Snapshot } from "./score/snapshot.ts";

/** A snapshot of which the factors may no longer be kept. */
export type PastSnapshot = Omit<Snapshot, "factors"> & Partial<Pick<Snapshot, "factors">>;

/** What a tool may reach. Only members that a file in tools/ uses. */
export interface ToolContext {
  readonly market: {
    readonly mode: MarketMode;
    readonly source: Source;
    /** Length of a market day in milliseconds. */
    readonly dayMs: number;
    /** What counts as now, Unix milliseconds. */
    now(): number;
    /** Instant up to which everything is known, at most now. */
    knownUntil(): number;
    /** Instruments that have data by then, in alphabetical order of their symbols. */
    instruments(): readonly Instrument[];
    /** Records of a listed instrument; readers cut them at `knownUntil` or earlier. */
    records(symbol: string): InstrumentRecords;
  };
  readonly snapshots: {
    /** Of a listed instrument. */
    newest(symbol: string): Snapshot;
    /** In alphabetical order of their symbols. */
    allNewest(): readonly Snapshot[];
    /** The last one at or before an instant. */
    lastAt(symbol: string, at: number): PastSnapshot | undefined;
    /** Of the sessions that closed in [from, to], oldest first. */
    history(symbol: string, from: number, to: number): readonly PastSnapshot[];
  };
}

/** HTTP route of a tool. GET reads the input from the query string. */
interface Route {
  readonly method: "GET";
  readonly path: `/api/${string}`;
}

/** A tool's answer is an object, or one of several objects. */
export type AnswerSchema = z.ZodObject | z.ZodUnion<readonly z.ZodObject[]>;

/** One thing the service can do, offered both as an MCP tool and as a REST operation. */
export interface Tool<I extends z.ZodObject = z.ZodObject, O extends AnswerSchema = AnswerSchema> {
  /** MCP tool name and operation id, snake_case. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly scope: Scope;
  readonly routes: readonly Route[];
  readonly input: I;
  readonly output: O;
  /**
   * @throws {Problem} For what the caller can put right; every other error is a bug.
   */
  run(input: z.output<I>, context: ToolContext): z.input<O>;
}

/** Infers the schemas, so that `run` is checked against them. */
export function defineTool<I extends z.ZodObject, O extends AnswerSchema>(
  tool: Tool<I, O>,
): Tool<I, O> {
  return tool;
}
