import type { Instrument } from "../market/instrument.ts";
import type { MarketView } from "../market/market-view.ts";
import { resolveSymbol } from "../market/symbols.ts";
import { Problem } from "../problem.ts";
import type { PastSnapshot } from "../score/snapshot.ts";
import type { ToolContext } from "../tool.ts";
import { isoInstant } from "./common.ts";
import { isDay, rangeEnd, rangeStart } from "./when.ts";

/** Caches the instruments without a price, by the list of those with one. */
const waiting = new WeakMap<readonly Instrument[], readonly Instrument[]>();

/** Instruments that are followed but have no price yet. */
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

/** Why a symbol of the real world may be unknown, as a text after the words "is covered"; empty if
 *  the market has real symbols. */
export const whyNotCovered = ({ source }: MarketView): string =>
  source.simulated ? ": this market is simulated and has symbols of its own" : "";

/**
 * Looks up the instrument of a symbol.
 *
 * @throws {Problem} `unknown_symbol` or `ambiguous_symbol`, with candidates; `not_available_then`
 *   if it has no price yet.
 */
export function resolve(symbol: string, { market }: ToolContext): Instrument {
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
    detail: `No instrument ${named} is covered${whyNotCovered(market)}.`,
    next: candidates.length > 0 ? didYouMean : lookElsewhere(market),
  });
}

/** Advice if no symbol is similar; with an example where real symbols are not covered. */
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
 * The requested instant, Unix milliseconds; now by default.
 *
 * @throws {Problem} `not_available_then` if it is in the future.
 */
export function requestedInstant(asOf: string | undefined, { market }: ToolContext): number {
  const now = market.now();
  const at = asOf === undefined ? now : Date.parse(asOf);
  if (at <= now) return asOf === undefined ? now : Math.min(now, rangeEnd(asOf, market));
  throw new Problem("not_available_then", {
    detail: `${isoInstant(at)} is in the future.`,
    next: `Ask for a time up to ${isoInstant(now)}, or without asOf.`,
  });
}

/**
 * The last snapshot of an instrument at or before an instant. For a day, this is the snapshot of
 * its last close, which contains nothing of the next session.
 *
 * @param asOf `undefined` for now.
 * @param at The instant of `asOf`.
 */
export const lastSnapshot = (
  symbol: string,
  { asOf, at }: { readonly asOf: string | undefined; readonly at: number },
  { snapshots }: Pick<ToolContext, "snapshots">,
): PastSnapshot | undefined =>
  asOf !== undefined && isDay(asOf)
    ? snapshots.history(symbol, 0, at).at(-1)
    : snapshots.lastAt(symbol, at);

/**
 * The newest snapshot of an instrument, or the last one recorded at or before `asOf`.
 *
 * @throws {Problem} `not_available_then` if nothing was recorded by then, or it is in the future.
 */
export function snapshotAt(
  { symbol }: Instrument,
  asOf: string | undefined,
  context: ToolContext,
): PastSnapshot {
  const at = requestedInstant(asOf, context);
  const snapshot = lastSnapshot(symbol, { asOf, at }, context);
  if (snapshot !== undefined) return snapshot;
  refuseWhileWarm(context);
  throw new Problem("not_available_then", {
    detail: `No snapshot of ${symbol} was recorded at or before ${isoInstant(at)}.`,
    next: `Ask for a later time, up to ${isoInstant(context.market.now())}, or without asOf.`,
  });
}

/** @throws {Problem} `not_ready` while history is computed again after a start. */
export function refuseWhileWarm({ market }: ToolContext): void {
  if (!market.isWarm?.()) return;
  throw new Problem("not_ready", {
    detail: "The scores of the past are being computed.",
    next: "Try again in a moment, or ask for the newest scores.",
    headers: { "retry-after": "1" },
  });
}

/**
 * A requested time range, in Unix milliseconds. Without `from` it starts at the epoch; without `to`
 * it extends to `until`.
 *
 * @throws {Problem} `invalid_request` if it ends before it begins, for example in the future.
 */
export function instantRange(
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  until: number,
  market: MarketView,
): { readonly from: number; readonly to: number } {
  const range = {
    from: from === undefined ? 0 : rangeStart(from, market),
    to: to === undefined ? until : rangeEnd(to, market),
  };
  const end = Math.min(range.to, until);
  if (range.from <= end) return range;
  throw new Problem("invalid_request", {
    detail: `from, to: the range would end at ${isoInstant(end)}, before it begins.`,
    next: "Use an earlier from.",
  });
}
