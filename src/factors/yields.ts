import { type Figure, type Filings, type Split, sharesOutstanding } from "./filings.ts";

/**
 * Yields, never multiples: safe for losses. Trailing earnings, free cash flow and newest book
 * equity over market value, and trailing EBITDA over enterprise value.
 */
export const YIELDS = ["earningsYield", "freeCashFlowYield", "bookYield", "ebitdaYield"] as const;
/** One of the four. */
export type YieldName = (typeof YIELDS)[number];

/** By yield, for those that are known. */
export type Yields = Readonly<Partial<Record<YieldName, number>>>;

/** Days after which figures are missing: filings come every quarter, share counts every year. */
export const MAX_FIGURE_AGE_DAYS = { filing: 200, shareCount: 400 } as const;

/** The debt of banks and insurers is their trade: enterprise value says nothing about them. */
const isFinancial = (sector: string | null): boolean =>
  sector !== null && /financ|bank|insur/iu.test(sector);

/** What valuation measures on one stock, before it is compared with its peers. */
export interface ValuationMeasurement {
  readonly sector: string | null;
  readonly yields: Yields;
  readonly marketCapUsd: number;
  readonly shares: Figure;
  /** When the price of the market value became known, Unix milliseconds. */
  readonly priceAt: number;
  /** When the newest filing used became known, Unix milliseconds. */
  readonly asOf: number;
}

/** Filings, price and instant of one valuation. */
export interface ValuationContext {
  readonly filings: Filings;
  /** The newest bar, `undefined` before the first. */
  readonly newestBar: { readonly close: number; readonly availableAt: number } | undefined;
  /** Known splits, oldest first. */
  readonly splits: readonly Split[];
  readonly sector: string | null;
  /** Unix milliseconds. */
  readonly at: number;
  readonly dayMs: number;
}

/**
 * Yields on the price of the newest bar, from figures known then.
 *
 * @returns `undefined` when there is no price, share count or recent figure, or when the market
 *   value is too large or small to be a number.
 */
export function measureValuation(context: ValuationContext): ValuationMeasurement | undefined {
  const { filings, newestBar, splits, sector, at, dayMs } = context;
  if (newestBar === undefined || filings.newestAt === undefined) return undefined;
  const shares = sharesOutstanding(filings.shareCounts, splits);
  if (shares === undefined || at - shares.availableAt > MAX_FIGURE_AGE_DAYS.shareCount * dayMs) {
    return undefined;
  }
  const marketCapUsd = shares.value * newestBar.close;
  if (!Number.isFinite(marketCapUsd) || marketCapUsd === 0) return undefined;
  const oldest = at - MAX_FIGURE_AGE_DAYS.filing * dayMs;
  const parts = yieldParts(filings, marketCapUsd, sector).flatMap(({ name, figures, value }) => {
    const isRecent = figures.every(({ availableAt }) => availableAt >= oldest);
    return isRecent && Number.isFinite(value) ? [{ name, figures, value }] : [];
  });
  if (parts.length === 0) return undefined;
  return {
    sector,
    yields: Object.fromEntries(parts.map(({ name, value }) => [name, value])),
    marketCapUsd,
    shares,
    priceAt: newestBar.availableAt,
    asOf: Math.max(...parts.flatMap(({ figures }) => figures.map((f) => f.availableAt))),
  };
}

/** A yield and the figures that it was made from. */
interface YieldPart {
  readonly name: YieldName;
  readonly figures: readonly Figure[];
  readonly value: number;
}

function yieldParts(
  { trailing, newest }: Filings,
  marketCapUsd: number,
  sector: string | null,
): readonly YieldPart[] {
  const over = (name: YieldName, figure: Figure | undefined): YieldPart[] =>
    figure === undefined ? [] : [{ name, figures: [figure], value: figure.value / marketCapUsd }];
  const parts = [
    ...over("earningsYield", trailing.netIncome),
    ...over("freeCashFlowYield", trailing.freeCashFlow),
    ...over("bookYield", newest.equity),
  ];
  const { ebitda } = trailing;
  const { debt, cash } = newest;
  if (ebitda === undefined || debt === undefined || cash === undefined || isFinancial(sector)) {
    return parts;
  }
  const enterpriseValue = marketCapUsd + debt.value - cash.value;
  if (enterpriseValue <= 0) return parts;
  const value = ebitda.value / enterpriseValue;
  return [...parts, { name: "ebitdaYield", figures: [ebitda, debt, cash], value }];
}
