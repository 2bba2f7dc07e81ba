import type { Scope } from "../../../access/scopes.ts";
import { isoInstant } from "../../../answers/shared-members.ts";
import { steadinessPoints } from "../../../answers/steadiness.ts";
import { DAY_MS } from "../../../lib/day.ts";
import type { Instrument } from "../../../market/instrument.ts";
import { countKnownRecords } from "../../../market/point-in-time.ts";
import {
  isWeakMatch,
  matchInstruments,
  searchInstruments,
  type WeakMatch,
} from "../../../market/symbols.ts";
import type { Direction } from "../../../score/signal-hysteresis.ts";
import type { Snapshot } from "../../../score/snapshot.ts";
import { fullFactorsAnswer } from "../../../tool/factors.ts";
import { type FullSignalItem, fullSignalItem } from "../../../tool/signal-row.ts";
import type { ToolContext } from "../../../tool/tool.ts";
import type { MarketFilter } from "./filter.ts";
import { cacheByInstrument } from "./instrument-cache.ts";
import type { FactorAnswers, FactorName } from "./marks.ts";
import { peerGroupOf, SPARKLINE_SESSIONS, simpleReturn } from "./peers.ts";

/** Number of rows per page. */
const PAGE_ROWS = 50;

/** One instrument in the list. */
export interface MarketRow {
  /** Signal of the instrument, as `get_signal` returns it. */
  readonly signal: FullSignalItem;
  readonly missing: readonly FactorName[];
  readonly price: Snapshot["price"];
  readonly currency: string;
  /** Simple return of the newest session; `null` if it is not known. */
  readonly change: number | null;
  /** In whole points; `null` if the instrument is not ranked. */
  readonly steadiness: number | null;
  /** Start of the signal in ISO 8601: a date, or an instant if sessions are shorter than a day. */
  readonly since: string;
  /**
   * Closing prices relative to the first of them, adjusted for dividends and splits, oldest first.
   */
  readonly closes: readonly number[];
  /** `undefined` for viewers without access. */
  readonly factors: FactorAnswers | undefined;
}

/** One page of the instrument list. */
export interface MarketList {
  /** Number of matching instruments on all pages. */
  readonly found: number;
  /** The best match of the search text if nothing that it finds is likely meant. */
  readonly weakMatch: WeakMatch | undefined;
  /** Number of covered instruments. */
  readonly total: number;
  /**
   * Number of matching instruments by signal, regardless of the selected signal; `full` is the
   * number with full coverage, regardless of the selected coverage.
   */
  readonly counts: Readonly<Record<Direction | "full", number>>;
  /** Number of this page, from 1. */
  readonly page: number;
  /** Number of the last page. */
  readonly pages: number;
  readonly rows: readonly MarketRow[];
  /** Rows of the compared instruments. */
  readonly compared: readonly MarketRow[];
}

/**
 * The sectors of a market, and the names of asset classes without sectors, in alphabetical order.
 */
export const sectorsOf = (instruments: readonly Instrument[]): readonly string[] =>
  [...new Set(instruments.map(peerGroupOf))].toSorted((a, b) => a.localeCompare(b));

/** Lists the instruments that match a filter. */
type ListMarket = (
  filter: MarketFilter,
  scopes: ReadonlySet<Scope>,
  /** Symbols to which the list is restricted; absent for all. */
  only?: readonly string[],
) => MarketList;

/** Creates the function that lists the market. */
export function createListMarket(context: ToolContext): ListMarket {
  // The factors are cached, because computing their indicators is slow.
  const factorsOf = cacheByInstrument(
    context,
    (symbol) => fullFactorsAnswer(context.snapshots.newest(symbol), context, undefined).factors,
  );
  const rowOf = (symbol: string, maySeeFactors: boolean): MarketRow => {
    const snapshot = context.snapshots.newest(symbol);
    return {
      signal: fullSignalItem({ snapshot, context }),
      missing: snapshot.missingFactors,
      price: snapshot.price,
      currency: snapshot.instrument.currency,
      change: simpleReturn(symbol, context),
      steadiness: steadinessPoints(snapshot),
      since: isoInstant(snapshot.signal.since).slice(
        0,
        context.market.dayMs < DAY_MS ? undefined : 10,
      ),
      closes: closesOf(symbol, context),
      factors: maySeeFactors ? factorsOf(symbol) : undefined,
    };
  };
  return (filter, scopes, only) => {
    const all = context.market.instruments();
    const { page = 1, signal, coverage } = filter;
    const selected = select(filter, context).filter(
      ({ instrument }) => only?.includes(instrument.symbol) ?? true,
    );
    const isSignal = (one: Snapshot) => signal === undefined || one.signal.direction === signal;
    const isCovered = (one: Snapshot) => coverage === undefined || one.coverage === 1;
    const found = selected.flatMap((one) =>
      isSignal(one) && isCovered(one) ? [one.instrument.symbol] : [],
    );
    const covered = selected.filter(isCovered);
    const count = (direction: Direction) =>
      covered.filter((one) => one.signal.direction === direction).length;
    const symbols = found.slice(PAGE_ROWS * (page - 1), PAGE_ROWS * page);
    const maySeeFactors = scopes.has("factor:read");
    return {
      found: found.length,
      weakMatch: weakMatch(all, filter.q ?? ""),
      total: all.length,
      counts: {
        LONG: count("LONG"),
        WAIT: count("WAIT"),
        SHORT: count("SHORT"),
        full: selected.filter((one) => isSignal(one) && one.coverage === 1).length,
      },
      page,
      pages: Math.max(1, Math.ceil(found.length / PAGE_ROWS)),
      rows: symbols.map((symbol) => rowOf(symbol, maySeeFactors)),
      compared: comparedOf(filter, all).map((symbol) => rowOf(symbol, maySeeFactors)),
    };
  };
}

/** The symbols selected for comparison, without those that are not listed. */
const comparedOf = (
  { compare = "" }: MarketFilter,
  all: readonly Instrument[],
): readonly string[] => {
  const wanted = new Set(compare.split(","));
  return all.flatMap(({ symbol }) => (wanted.has(symbol) ? [symbol] : []));
};

/**
 * Closing prices of the newest sessions relative to the first of them, adjusted for dividends and
 * splits.
 */
function closesOf(symbol: string, { market }: ToolContext): readonly number[] {
  const { bars } = market.records(symbol);
  const known = countKnownRecords(bars, market.knownUntil());
  let close = 1;
  return bars.slice(Math.max(0, known - SPARKLINE_SESSIONS), known).map(({ logReturn }, index) => {
    close *= Math.exp(index === 0 ? 0 : (logReturn ?? 0));
    return close;
  });
}

/**
 * The value by which each sort order sorts, highest first; what has none comes last. `strength` is
 * the distance of the smoothed score from 50, because the smoothed score decides the signal.
 */
const sortKeys: Readonly<
  Record<
    "score" | "change" | "strength" | "since" | "coverage" | "confidence" | "steadiness",
    (one: Snapshot, context: ToolContext) => number | undefined
  >
> = {
  score: ({ score }) => score ?? -1,
  change: ({ instrument }, context) => simpleReturn(instrument.symbol, context) ?? 0,
  strength: ({ signal }) => Math.abs((signal.smoothed ?? 50) - 50),
  since: ({ signal }) => signal.since,
  coverage: ({ coverage }) => coverage,
  confidence: ({ confidence }) => confidence,
  steadiness: ({ steadiness }) => steadiness?.value,
};

/**
 * The snapshots that match the search text, asset class and sector of the filter; its signal and
 * coverage are not applied. They are in the order of `find_instruments`, or sorted by a figure.
 */
function select(filter: MarketFilter, context: ToolContext): readonly Snapshot[] {
  const { market, snapshots } = context;
  const found = searched(market.instruments(), filter.q ?? "")
    .filter(({ assetClass }) => filter.class === undefined || assetClass === filter.class)
    .filter((one) => filter.sector === undefined || peerGroupOf(one) === filter.sector)
    .map(({ symbol }) => snapshots.newest(symbol));
  const { sort = "symbol" } = filter;
  const key =
    sort === "symbol" ? undefined : sortKeys[sort.replace("-", "") as keyof typeof sortKeys];
  const sign = sort.startsWith("-") ? -1 : 1;
  const sortValue = (figure: number | undefined) =>
    figure === undefined ? -Number.MAX_VALUE : sign * figure;
  const keyed = key && found.map((one) => ({ one, value: sortValue(key(one, context)) }));
  return keyed?.toSorted((a, b) => b.value - a.value).map(({ one }) => one) ?? found;
}

function weakMatch(all: readonly Instrument[], text: string): WeakMatch | undefined {
  const match = matchInstruments(all, text)[0]?.match;
  return isWeakMatch(match) && inSector(all, text).length === 0 ? match : undefined;
}

/** Instruments whose sector begins with a text. */
function inSector(all: readonly Instrument[], text: string): readonly Instrument[] {
  const wanted = text.toLowerCase();
  return all.filter(({ sector }) => sector?.toLowerCase().startsWith(wanted));
}

/**
 * Instruments whose symbol or name matches a text, in the order of `find_instruments`, followed by
 * those whose sector begins with the text.
 */
function searched(all: readonly Instrument[], text: string): readonly Instrument[] {
  const found = searchInstruments(all, text);
  if (text === "") return found;
  return [...new Set([...found, ...inSector(all, text)])];
}
