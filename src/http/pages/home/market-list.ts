import { type FullFactors, fullFactors } from "../../../answers/factors.ts";
import { type FullItem, fullItem } from "../../../answers/signal.ts";
import type { Scope } from "../../../auth/scopes.ts";
import type { Instrument } from "../../../market/instrument.ts";
import { searchInstruments } from "../../../market/symbols.ts";
import type { ToolContext } from "../../../tool.ts";
import type { Filter } from "./filter.ts";
import { cacheByInstrument } from "./instrument-cache.ts";

/** Rows per page. */
const PAGE_ROWS = 50;

/** The four factors of an instrument, from `get_factors`. */
export type Factors = FullFactors["factors"];

/** Name of a factor. */
export type FactorName = keyof Factors;

/** One instrument of the list. */
export interface MarketRow {
  /** From `get_signal`. */
  readonly signal: FullItem;
  /** Absent for viewers without access. */
  readonly factors: Factors | undefined;
}

/** A page of instruments. */
export interface MarketList {
  /** Number of matching instruments on all pages. */
  readonly found: number;
  /** Number of covered instruments. */
  readonly total: number;
  /** Number of this page, from 1. */
  readonly page: number;
  /** Number of the last page. */
  readonly pages: number;
  readonly rows: readonly MarketRow[];
}

/** Lists the instruments that match a filter. */
export type ListMarket = (filter: Filter, scopes: ReadonlySet<Scope>) => MarketList;

/** Creates the function that lists the market. */
export function createListMarket(context: ToolContext): ListMarket {
  // Cached, because computing the indicators is slow.
  const factorsOf = cacheByInstrument(
    context,
    (symbol) => fullFactors(context.snapshots.newest(symbol), context, undefined).factors,
  );
  return (filter, scopes) => {
    const all = context.market.instruments();
    const found = select(filter, context);
    const { page = 1 } = filter;
    const symbols = found.slice(PAGE_ROWS * (page - 1), PAGE_ROWS * page);
    const maySeeFactors = scopes.has("factor:read");
    return {
      found: found.length,
      total: all.length,
      page,
      pages: Math.max(1, Math.ceil(found.length / PAGE_ROWS)),
      rows: symbols.map((symbol) => ({
        signal: fullItem(context.snapshots.newest(symbol), context),
        factors: maySeeFactors ? factorsOf(symbol) : undefined,
      })),
    };
  };
}

/** Matching symbols in the order of `find_instruments`, or by descending score. */
function select(filter: Filter, { market, snapshots }: ToolContext): readonly string[] {
  const found = searched(market.instruments(), filter.q ?? "")
    .filter(({ assetClass }) => filter.class === undefined || assetClass === filter.class)
    .map(({ symbol }) => snapshots.newest(symbol))
    .filter(({ signal }) => filter.signal === undefined || signal.direction === filter.signal);
  const sorted = filter.sort === "score" ? found.toSorted((a, b) => b.score - a.score) : found;
  return sorted.map(({ instrument }) => instrument.symbol);
}

/** Instruments whose symbol or name fits, as `find_instruments` orders them, then those whose sector
 *  begins with the text. */
function searched(all: readonly Instrument[], text: string): readonly Instrument[] {
  const found = searchInstruments(all, text);
  if (text === "") return found;
  const wanted = text.toLowerCase();
  const inSector = all.filter(({ sector }) => sector?.toLowerCase().startsWith(wanted));
  return [...new Set([...found, ...inSector])];
}
