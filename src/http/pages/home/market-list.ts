import type { z } from "zod";
import { getFactors } from "../../../../tools/get-factors.ts";
import { getSignal } from "../../../../tools/get-signal.ts";
import type { SignalPage } from "../../../answers/signal.ts";
import type { Scope } from "../../../auth/scopes.ts";
import { searchInstruments } from "../../../market/symbols.ts";
import type { ToolContext } from "../../../tool.ts";
import type { Filter } from "./filter.ts";
import { remembered } from "./remember.ts";

/** Rows of a page; `get_signal` takes as many symbols at once. */
const ROWS = 50;

/** The four factors of an instrument, as `get_factors` answers. */
export type Factors = ReturnType<typeof getFactors.run>["factors"];

/** Name of a factor. */
export type FactorName = keyof Factors;

/** One instrument of the list. */
export interface Row {
  /** As `get_signal` answers. */
  readonly signal: z.infer<typeof SignalPage>["items"][number];
  /** Absent for viewers who may not see them. */
  readonly factors: Factors | undefined;
}

/** A page of instruments. */
export interface MarketList {
  /** What fits the filter, on all pages. */
  readonly found: number;
  /** All that is covered. */
  readonly total: number;
  /** Number of this page, from 1 on, and of the last one. */
  readonly page: number;
  readonly pages: number;
  readonly rows: readonly Row[];
}

/** Finds the instruments that fit a filter. */
export type ListMarket = (filter: Filter, scopes: ReadonlySet<Scope>) => MarketList;

/** Creates what lists the market in the words of the tools. */
export function createListMarket(context: ToolContext): ListMarket {
  // Their indicators make them slow.
  const factorsOf = remembered(context, (symbol) => getFactors.run({ symbol }, context).factors);
  return (filter, scopes) => {
    const all = context.market.instruments();
    const found = select(filter, context);
    const { page = 1 } = filter;
    const symbols = found.slice(ROWS * (page - 1), ROWS * page);
    const maySeeFactors = scopes.has("factor:read");
    return {
      found: found.length,
      total: all.length,
      page,
      pages: Math.max(1, Math.ceil(found.length / ROWS)),
      rows: signalsOf(symbols, context).map((signal) => ({
        signal,
        factors: maySeeFactors ? factorsOf(signal.symbol) : undefined,
      })),
    };
  };
}

/** Symbols in the order of `find_instruments`, or the highest score first. */
function select(filter: Filter, { market, snapshots }: ToolContext): readonly string[] {
  const found = searchInstruments(market.instruments(), filter.q ?? "")
    .filter(({ assetClass }) => filter.class === undefined || assetClass === filter.class)
    .map(({ symbol }) => snapshots.newest(symbol))
    .filter(({ signal }) => filter.signal === undefined || signal.direction === filter.signal);
  const sorted = filter.sort === "score" ? found.toSorted((a, b) => b.score - a.score) : found;
  return sorted.map(({ instrument }) => instrument.symbol);
}

/** `get_signal` answers in alphabetical order. */
function signalsOf(symbols: readonly string[], context: ToolContext): readonly Row["signal"][] {
  if (symbols.length === 0) return [];
  const answer = getSignal.run({ symbols: [...symbols], limit: ROWS }, context);
  const items = "items" in answer ? answer.items : [];
  const bySymbol = new Map(items.map((item) => [item.symbol, item]));
  return symbols.flatMap((symbol) => bySymbol.get(symbol) ?? []);
}
