import type { Scope } from "../access/scopes.ts";
import type { MarketMode } from "../market/market.ts";

/** The facts about this instance from which every discovery document is derived. */
export interface Site {
  /** Public origin and OAuth issuer, without a trailing slash. */
  readonly baseUrl: string;
  readonly name: string;
  /** Version of the service, from package.json. */
  readonly version: string;
  /** Scopes of agents without an owner; may be empty. */
  readonly anonymousScopes: readonly Scope[];
  readonly market: MarketMode;
  /** Announced properties of the MCP endpoint. */
  readonly mcp: {
    /** Protocol revisions, newest first. */
    readonly versions: readonly string[];
    readonly capabilities: Readonly<Record<string, object>>;
  };
}

/** Inputs for rendering documents that depend on the date or on a hash. */
export interface RenderContext {
  /** Any instant of the current day. */
  readonly today: Date;
  /** SHA-256 of a text in UTF-8, as lower-case hexadecimal digits. */
  readonly sha256: (text: string) => string;
}

/** Summary of the service, in at most 100 characters (server card schema of 2026-07-24). */
export const SERVICE_SUMMARY =
  "Scores, signals and the evidence behind them for stocks and crypto. Not investment advice.";

/** For each market mode, a sentence about the market that the instance serves. */
export const marketNotes: Readonly<Record<MarketMode, string>> = {
  sandbox:
    "This instance serves a simulated market of invented instruments, whose symbols end in `.SIM`.",
  files: "This instance serves recorded history as of one instant, `asOf`.",
  replay: "This instance replays recorded history: `asOf` is its current position.",
  live: "This instance serves live markets: answers about instruments name their data sources and terms of use.",
};
