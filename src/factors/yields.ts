import type { FilingFigures, KnownFigure } from "./filings.ts";

/**
 * The yields of the valuation factor: trailing earnings, trailing free cash flow and newest book
 * equity, each over market value, and trailing EBITDA over enterprise value. Yields stay meaningful
 * for losses; multiples do not.
 */
export const YIELD_NAMES = [
  "earningsYield",
  "freeCashFlowYield",
  "bookYield",
  "ebitdaYield",
] as const;
/** Name of one of the four yields. */
type YieldName = (typeof YIELD_NAMES)[number];

/** Values by yield; unknown yields are absent. */
type Yields = Readonly<Partial<Record<YieldName, number>>>;

/**
 * Age in days after which figures count as missing: filings are quarterly, numbers of shares are
 * yearly.
 */
export const MAX_FIGURE_AGE_DAYS = { filing: 200, shareCount: 400 } as const;

/**
 * Whether a sector consists of banks or insurers. Enterprise value does not apply to them, because
 * debt is part of their business.
 */
const isFinancial = (sector: string | null): boolean =>
  sector !== null && /financ|bank|insur/iu.test(sector);

/** The valuation measures of one stock, before they are compared with its peers. */
export interface ValuationMeasurement {
  readonly sector: string | null;
  readonly yields: Yields;
  readonly marketCapUsd: number;
  readonly shares: KnownFigure;
  /** When the price behind the market value became known, Unix milliseconds. */
  readonly priceAt: number;
  /** When the newest filing in use became known, Unix milliseconds. */
  readonly asOf: number;
}

/** Inputs of a valuation. */
export interface ValuationContext {
  readonly filings: FilingFigures;
  /** The newest bar; `undefined` before the first bar. */
  readonly newestBar: { readonly close: number; readonly availableAt: number } | undefined;
  /**
   * Shares outstanding on the share basis of the newest bar; `undefined` if no number of shares was
   * filed.
   */
  readonly shares: KnownFigure | undefined;
  readonly sector: string | null;
  /** Instant of the valuation, Unix milliseconds. */
  readonly at: number;
  readonly dayMs: number;
}

/**
 * Computes the yields at the price of the newest bar, from the figures known by then.
 *
 * @returns `undefined` if there is no price, number of shares or recent figure, or if the market
 * value is not a usable number.
 */
export function measureValuation(context: ValuationContext): ValuationMeasurement | undefined {
  const { filings, newestBar, shares, sector, at, dayMs } = context;
  if (newestBar === undefined || filings.newestAt === undefined) return undefined;
  if (shares === undefined || at - shares.availableAt > MAX_FIGURE_AGE_DAYS.shareCount * dayMs) {
    return undefined;
  }
  const marketCapUsd = shares.value * newestBar.close;
  if (!Number.isFinite(marketCapUsd) || marketCapUsd === 0) return undefined;
  const { netIncome, freeCashFlow, ebitda } = filings.trailing;
  const { equity, debt, cash } = filings.newest;
  const oldest = at - MAX_FIGURE_AGE_DAYS.filing * dayMs;
  const yields: { -readonly [Name in YieldName]?: number } = {};
  let asOf = Number.NEGATIVE_INFINITY;
  const add = (name: YieldName, value: number, knownAt: number) => {
    if (!Number.isFinite(value)) return;
    yields[name] = value;
    asOf = Math.max(asOf, knownAt);
  };
  if (isRecent(netIncome, oldest)) {
    add("earningsYield", netIncome.value / marketCapUsd, netIncome.availableAt);
  }
  if (isRecent(freeCashFlow, oldest)) {
    add("freeCashFlowYield", freeCashFlow.value / marketCapUsd, freeCashFlow.availableAt);
  }
  if (isRecent(equity, oldest)) add("bookYield", equity.value / marketCapUsd, equity.availableAt);
  if (isRecent(ebitda, oldest) && isRecent(debt, oldest) && isRecent(cash, oldest)) {
    const enterpriseValue = marketCapUsd + debt.value - cash.value;
    const knownAt = Math.max(ebitda.availableAt, debt.availableAt, cash.availableAt);
    if (enterpriseValue > 0 && !isFinancial(sector)) {
      add("ebitdaYield", ebitda.value / enterpriseValue, knownAt);
    }
  }
  if (asOf === Number.NEGATIVE_INFINITY) return undefined;
  return { sector, yields, marketCapUsd, shares, priceAt: newestBar.availableAt, asOf };
}

const isRecent = (figure: KnownFigure | undefined, oldest: number): figure is KnownFigure =>
  figure !== undefined && figure.availableAt >= oldest;
