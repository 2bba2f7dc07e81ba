import { isoInstant } from "../answers/shared-members.ts";
import { Problem } from "../lib/problem.ts";
import type { Instrument } from "../market/instrument.ts";
import type { MarketView } from "../market/market-view.ts";
import { resolveSymbol } from "../market/symbols.ts";
import type { PastSnapshot } from "../score/snapshot.ts";
import type { ToolContext } from "./tool.ts";
import { isIsoDate, rangeEndInstant, rangeStartInstant } from "./when.ts";

/**
 * Caches the list of instruments without a price, keyed by the list of instruments with a price.
 */
const waiting = new WeakMap<readonly Instrument[], readonly Instrument[]>();

/** Instruments that the service follows but that have no price yet. */
export function unpricedInstruments({
  instruments,
  followed = [],
}: Pick<MarketView, "instruments" | "followed">): readonly Instrument[] {
  const listed = instruments();
  const known = waiting.get(listed);
  if (known !== undefined) return known;
  const priced = new Set(listed.map(({ symbol }) => symbol));
  const others = followed.filter(({ symbol }) => !priced.has(symbol));
  waiting.set(listed, others);
  return others;
}

/**
 * Explains why a real symbol may be unknown, worded to follow what was not found; empty if the
 * market is not simulated.
 */
export const notCoveredReason = ({ source }: MarketView): string =>
  source.simulated ? ": this market is simulated and has symbols of its own" : "";

/**
 * Finds the instrument of a symbol.
 *
 * @throws {Problem} `unknown_symbol` or `ambiguous_symbol`, with the symbols that the caller may
 * have meant; `not_available_then` if the instrument has no price yet.
 */
export function resolveInstrument(symbol: string, { market }: ToolContext): Instrument {
  const resolution = resolveSymbol(market.instruments(), symbol);
  if (resolution.kind === "found") return resolution.instrument;
  refuseAwaited(symbol, market);
  const named = JSON.stringify(symbol);
  const candidates = resolution.candidates.map(({ symbol, name }) => `${symbol} (${name})`);
  const didYouMean = `Did you mean: ${candidates.join(", ")}?`;
  if (resolution.kind === "ambiguous") {
    const detail = `${named} matches more than one instrument.`;
    throw new Problem("ambiguous_symbol", { detail, next: didYouMean });
  }
  throw new Problem("unknown_symbol", {
    detail: `No instrument has the symbol ${named}${notCoveredReason(market)}.`,
    next: candidates.length > 0 ? didYouMean : lookElsewhere(market),
  });
}

/**
 * Advice for an unknown symbol that resembles no known symbol; in a simulated market it gives an
 * example of a valid symbol.
 */
function lookElsewhere({ source, instruments }: MarketView): string {
  const [first] = source.simulated ? instruments() : [];
  const example = first === undefined ? "" : `Try ${first.symbol} (${first.name}), for example. `;
  return `${example}find_instruments (GET /api/instruments) lists what is covered.`;
}

/** @throws {Problem} `not_available_then` if the symbol's instrument has no price yet. */
function refuseAwaited(symbol: string, market: MarketView): void {
  const resolution = resolveSymbol(unpricedInstruments(market), symbol);
  if (resolution.kind !== "found") return;
  throw new Problem("not_available_then", {
    detail: `${resolution.instrument.symbol} is tracked, but has no price yet.`,
    next: "Try again in some minutes; GET /readyz lists providers that do not answer.",
  });
}

/**
 * `asOf` in Unix milliseconds: the current time if omitted; for a day, the end of that day or the
 * current time, whichever is earlier.
 *
 * @throws {Problem} `not_available_then` if `asOf` is in the future.
 */
export function requestedInstant(asOf: string | undefined, { market }: ToolContext): number {
  const now = market.now();
  const at = asOf === undefined ? now : Date.parse(asOf);
  if (at <= now) return asOf === undefined ? now : Math.min(now, rangeEndInstant(asOf, market));
  throw new Problem("not_available_then", {
    detail: `${isoInstant(at)} is in the future.`,
    next: `Ask for a time up to ${isoInstant(now)}, or without asOf.`,
  });
}

/**
 * The last snapshot of an instrument at or before an instant. If `asOf` is a day, it is the
 * snapshot at the close of that day, or at the last close before that day, so that it contains
 * nothing of the next session.
 *
 * @param asOf The requested day or instant; `undefined` for now.
 * @param at The end of `asOf`, Unix milliseconds.
 */
export const lastSnapshot = (
  symbol: string,
  { asOf, at }: { readonly asOf: string | undefined; readonly at: number },
  { snapshots }: Pick<ToolContext, "snapshots">,
): PastSnapshot | undefined =>
  asOf !== undefined && isIsoDate(asOf)
    ? snapshots.history(symbol, 0, at).at(-1)
    : snapshots.lastAt(symbol, at);

/**
 * The newest snapshot of an instrument, or the last snapshot recorded at or before `asOf`.
 *
 * @throws {Problem} `not_available_then` if there is no snapshot by then, or if `asOf` is in the
 * future; `not_ready` while the history is being recomputed after a start.
 */
export function snapshotAt(
  { symbol }: Instrument,
  asOf: string | undefined,
  context: ToolContext,
): PastSnapshot {
  const at = requestedInstant(asOf, context);
  const snapshot = lastSnapshot(symbol, { asOf, at }, context);
  if (snapshot !== undefined) return snapshot;
  requireComputedHistory(context);
  throw new Problem("not_available_then", {
    detail: `No snapshot of ${symbol} was recorded at or before ${isoInstant(at)}.`,
    next: `Ask for a later time, up to ${isoInstant(context.market.now())}, or without asOf.`,
  });
}

/** @throws {Problem} `not_ready` while the history is being recomputed after a start. */
export function requireComputedHistory({ market }: ToolContext): void {
  if (!market.isProvisional?.()) return;
  throw new Problem("not_ready", {
    detail: "The scores of the past are being computed.",
    next: "Try again in a moment, or ask for the newest scores.",
    headers: { "retry-after": "1" },
  });
}

/**
 * The requested time range, in Unix milliseconds. Without `from` it starts at the epoch; without
 * `to` it extends to `until`.
 *
 * @throws {Problem} `invalid_request` if the range ends before it begins, for example because it
 * begins in the future.
 */
export function requestedInstantRange(
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  until: number,
  market: MarketView,
): { readonly from: number; readonly to: number } {
  const range = {
    from: from === undefined ? 0 : rangeStartInstant(from, market),
    to: to === undefined ? until : rangeEndInstant(to, market),
  };
  const end = Math.min(range.to, until);
  if (range.from <= end) return range;
  throw new Problem("invalid_request", {
    detail: `from, to: the range would end at ${isoInstant(end)}, before it begins.`,
    next: "Use an earlier from.",
  });
}
