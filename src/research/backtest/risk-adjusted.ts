import type { AssetClass } from "../../market/instrument.ts";
import type { InstrumentRecords } from "../../market/records.ts";
import { hasVariance, summarizeSeries } from "../../statistics/series-summary.ts";
import { mean } from "../../statistics/statistics.ts";
import { type BookReturns, netReturns } from "./book-returns.ts";
import { maxDrawdown } from "./drawdown.ts";
import { SESSIONS_PER_YEAR } from "./question.ts";
import { createReturnGrid, type ReturnGrid } from "./return-grid.ts";

/** Instruments that stand for the market of a class, in the order in which they are looked for. */
const MARKETS: Readonly<Record<AssetClass, readonly [AssetClass, readonly string[]]>> = {
  stock: ["etf", ["SPY", "VTI", "IVV", "VOO"]],
  etf: ["etf", ["SPY", "VTI", "IVV", "VOO"]],
  crypto: ["crypto", ["BTC-USD"]],
};

/** Regression of the returns of a book on those of a benchmark. */
export interface Alpha {
  /** Intercept times the sessions of a year, as a fraction. */
  readonly perYear: number;
  /** As in `SeriesSummary`. */
  readonly t: number;
  readonly beta: number;
}

/** Return and risk of a book or a benchmark over all sessions of the backtest. */
interface BookPerformance {
  readonly name: string;
  /** Arithmetic mean of the simple returns, times the sessions of a year. */
  readonly returnPerYear: number;
  readonly volatilityPerYear: number;
  /** Return over volatility; no risk-free rate is subtracted. */
  readonly sharpe: number;
  /** Of the mean return, as in `SeriesSummary`. */
  readonly t: number;
  readonly maxDrawdown: number;
  /** Against the equal-weighted mean of the graded instruments; `null` for that mean itself. */
  readonly equalWeight: Alpha | null;
  /**
   * Against the market, over the sessions in which it has a return; `null` for the market itself,
   * and if the folder has none.
   */
  readonly market: Alpha | null;
}

/** Performance of the books, with the benchmarks. */
export interface RiskAdjusted {
  /** First and last session, ISO dates. */
  readonly from: string;
  readonly to: string;
  /** The instrument that stands for the market; `null` if the folder has none. */
  readonly market: {
    readonly symbol: string;
    /** First and last session with a return, ISO dates. */
    readonly from: string;
    readonly to: string;
  } | null;
  readonly books: readonly BookPerformance[];
}

/** Data of one class for the performance of its books. */
interface PerformanceOptions {
  readonly grid: ReturnGrid;
  readonly records: readonly InstrumentRecords[];
  readonly graded: ReadonlySet<number>;
  /** Index of the session with the first return. */
  readonly first: number;
  readonly books: readonly { readonly name: string; readonly returns: BookReturns }[];
}

/** One-way costs in basis points of the books after costs. */
const COST_BP = 10;

/**
 * Measures the books before and after costs, and the benchmarks, over the same sessions.
 *
 * @returns `null` with fewer than three sessions or without a book.
 */
export function measureRiskAdjusted(options: PerformanceOptions): RiskAdjusted | null {
  const { grid, records, graded, first, books } = options;
  const { assetClass, sessions } = grid;
  const held = books.filter(({ returns }) => returns.gross.some((value) => value !== 0));
  if (sessions.length - first < 3 || held.length === 0) return null;
  const cut = (values: Float64Array) => [...values.subarray(first)];
  const equal = cut(equalWeighted(grid, graded));
  const found = marketReturns(grid, records);
  const market = found ? cut(found.returns) : [];
  const known = [...market.keys()].filter((session) => !Number.isNaN(market[session]));
  const perYear = SESSIONS_PER_YEAR[assetClass];
  /** Measures a series with a return in every session, or that of the market with those it has. */
  const measure = (name: string, values: readonly number[]): readonly BookPerformance[] => {
    const own = values.filter((value) => !Number.isNaN(value));
    const summary = summarizeSeries(own, DAILY);
    if (summary === undefined) return [];
    return [
      {
        name,
        returnPerYear: summary.mean * perYear,
        volatilityPerYear: summary.sd * Math.sqrt(perYear),
        sharpe: summary.ratio * Math.sqrt(perYear),
        t: summary.t,
        maxDrawdown: maxDrawdown(own),
        equalWeight: values === equal ? null : alphaOf(values, equal, perYear),
        market: values === market ? null : alphaOf(values, market, perYear),
      },
    ];
  };
  const labelAt = (index: number | undefined) => sessions[first + (index ?? 0)]?.label ?? "";
  return {
    from: labelAt(0),
    to: sessions.at(-1)?.label ?? "",
    market:
      found && known.length > 0
        ? { symbol: found.symbol, from: labelAt(known[0]), to: labelAt(known.at(-1)) }
        : null,
    books: [
      ...held.flatMap(({ name, returns }) => [
        ...measure(name, cut(returns.gross)),
        ...measure(`${name}, at ${COST_BP} bp`, cut(netReturns(returns, COST_BP))),
      ]),
      ...measure("Equal weight", equal),
      ...(found ? measure(`Market (${found.symbol})`, market) : []),
    ],
  };
}

const DAILY = { horizon: 1, step: 1 };

/**
 * Alpha by least squares, over the sessions in which both have a return. Its t is that of the mean
 * of alpha + e (1 - m (x - m) / s^2), with the residuals e and the mean m and variance s^2 of the
 * benchmark x, since alpha deviates from its true value by the mean of the second term.
 */
export function alphaOf(
  book: readonly number[],
  benchmark: readonly number[],
  perYear: number,
): Alpha | null {
  const pairs = book
    .map((value, session) => ({ y: value, x: benchmark[session] ?? Number.NaN }))
    .filter(({ x, y }) => !Number.isNaN(x) && !Number.isNaN(y));
  if (!hasVariance(pairs.map(({ x }) => x))) return null;
  const [center, middle] = [mean(pairs.map(({ y }) => y)), mean(pairs.map(({ x }) => x))];
  const variance = mean(pairs.map(({ x }) => (x - middle) ** 2));
  const beta = mean(pairs.map(({ x, y }) => (x - middle) * (y - center))) / variance;
  const alpha = center - beta * middle;
  const deviations = pairs.map(
    ({ x, y }) => alpha + (y - alpha - beta * x) * (1 - (middle * (x - middle)) / variance),
  );
  const summary = summarizeSeries(deviations, DAILY);
  return summary === undefined ? null : { perYear: alpha * perYear, t: summary.t, beta };
}

/** Equal-weighted mean simple return of the graded instruments by session. */
function equalWeighted({ rows, sessions }: ReturnGrid, graded: ReadonlySet<number>) {
  return Float64Array.from(sessions, (_, place) => {
    const known = [...graded]
      .map((row) => rows[row]?.returns[place] ?? Number.NaN)
      .filter((value) => !Number.isNaN(value));
    return known.length === 0 ? 0 : mean(known.map(Math.expm1));
  });
}

/**
 * Simple returns of the instrument that stands for the market, by session of the grid; `NaN` where
 * it has no bar.
 */
function marketReturns(grid: ReturnGrid, records: readonly InstrumentRecords[]) {
  const [assetClass, symbols] = MARKETS[grid.assetClass];
  const listed = records.filter(({ instrument }) => instrument.assetClass === assetClass);
  const found = symbols
    .map((symbol) => listed.find(({ instrument }) => instrument.symbol === symbol))
    .find((one) => one !== undefined);
  if (found === undefined) return null;
  const own = createReturnGrid([found], assetClass, grid.sessions.at(-1)?.label ?? "");
  const places = new Map(own.sessions.map(({ label }, place) => [label, place]));
  const returns = Float64Array.from(grid.sessions, ({ label }) => {
    const logReturn = own.rows[0]?.returns[places.get(label) ?? -1] ?? Number.NaN;
    return Math.expm1(logReturn);
  });
  return { symbol: found.instrument.symbol, returns };
}
