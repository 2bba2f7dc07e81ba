import { utcDayEnd } from "../../../../lib/day.ts";
import type { FundamentalMetric } from "../../../../market/records.ts";
import type { Observation, ParsedResponse, RejectedObservation } from "../../provider.ts";
import { addDays, datedRecordKnownAt } from "../../publication-times.ts";
import { type Fact, type Filing, MAX_FILING_LAG_DAYS, XBRL_TAGS } from "./facts.ts";
import { createFiledFacts, type FiledFacts } from "./filed-facts.ts";

/** Maximum plausible figure, in USD or shares; no company reaches a thousandth of it. */
const MAX_FIGURE = 1e16;

/** One figure as a filing published it. */
interface Figure {
  readonly metric: FundamentalMetric;
  /** Last day of the period, an ISO date. */
  readonly end: string;
  readonly value: number;
}

/**
 * For each metric, a function that computes it for the quarter that ended on a day, from the
 * filings so far; `undefined` if a figure is missing.
 */
const METRICS = {
  netIncome: (known, end) => known.quarter(XBRL_TAGS.netIncome, end),
  freeCashFlow: (known, end) => {
    const spent = known.quarter(XBRL_TAGS.capitalExpenditure, end);
    return sum(known.quarter(XBRL_TAGS.operatingCashFlow, end), spent && -spent);
  },
  ebitda: (known, end) =>
    sum(known.quarter(XBRL_TAGS.operatingIncome, end), known.quarter(XBRL_TAGS.depreciation, end)),
  equity: (known, end) => known.instant(XBRL_TAGS.equity, end),
  assets: (known, end) => known.instant(XBRL_TAGS.assets, end),
  cash: (known, end) => known.instant(XBRL_TAGS.cash, end),
  debt: (known, end) => {
    const later = known.instant(XBRL_TAGS.laterDebt, end);
    const parts = sum(later, known.instant(XBRL_TAGS.currentDebt, end) ?? 0);
    const longTerm = known.instant(XBRL_TAGS.longTermDebt, end) ?? parts;
    const both = sum(longTerm, known.instant(XBRL_TAGS.shortTermDebt, end) ?? 0);
    return known.instant(XBRL_TAGS.allDebt, end) ?? both;
  },
} as const satisfies Partial<
  Record<FundamentalMetric, (known: FiledFacts, end: string) => number | undefined>
>;

const sum = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? undefined : one + other;

/**
 * The metrics as of each filing, without knowledge of later filings. A filing that changes a metric
 * reports it again under its own accession number.
 *
 * @param filings Oldest first.
 * @param from ISO date; earlier filings are read but not reported.
 */
export function reportedFiguresOf(
  filings: readonly Filing[],
  { symbol, from }: { readonly symbol: string; readonly from: string },
): Pick<Required<ParsedResponse>, "data" | "rejected"> {
  const known = createFiledFacts();
  const reported = new Map<string, number>();
  const data: Observation[] = [];
  const rejected: RejectedObservation[] = [];
  for (const filing of filings) {
    known.add(filing.facts);
    const figures = [...changes({ known, reported }, filing), ...shareCount(filing, symbol)];
    if (filing.filed < from) continue;
    for (const { metric, end, value } of figures) {
      const at = utcDayEnd(end) - 1;
      const place = { feed: "fundamentals", symbol, at, id: `${metric} ${filing.accn}` } as const;
      const record = {
        metric,
        periodEnd: at,
        value,
        availableAt: datedRecordKnownAt(filing.filed),
      };
      if (isPossible(metric, value)) data.push({ ...place, record });
      else rejected.push({ ...place, reason: `${metric} cannot be ${value}` });
    }
  }
  return { data, rejected };
}

/** Figures that are new or differ from the figures reported before. */
function* changes(
  { known, reported }: { readonly known: FiledFacts; readonly reported: Map<string, number> },
  { filed }: Filing,
): Generator<Figure> {
  for (const end of known.endsFrom(addDays(filed, -MAX_FILING_LAG_DAYS))) {
    for (const [metric, read] of Object.entries(METRICS)) {
      const value = read(known, end);
      const key = `${metric} ${end}`;
      if (value === undefined || value === reported.get(key)) continue;
      reported.set(key, value);
      yield { metric: metric as keyof typeof METRICS, end, value };
    }
  }
}

/**
 * The number of shares that a filing reports: from its cover, else from its balance sheet, else the
 * diluted average over the period. It is dated no later than the day before the filing. For one of
 * several share classes (`BRK-B`) only the cover is used, since the other numbers may convert all
 * classes into shares of another class.
 */
function shareCount({ facts, filed }: Filing, symbol: string): readonly Figure[] {
  const { sharesOnCover, sharesOutstanding, sharesDiluted } = XBRL_TAGS;
  const places = symbol.includes("-")
    ? [sharesOnCover]
    : [sharesOnCover, sharesOutstanding, sharesDiluted];
  const counted = places
    .map(([tag]) => facts.filter((fact) => fact.tag === tag).sort(byNewest))
    .find((counts) => counts.length > 0);
  if (counted === undefined) return [];
  const [{ end, value }] = counted as [Fact];
  const before = addDays(filed, -1);
  return [{ metric: "shares", end: end < before ? end : before, value }];
}

/**
 * Sorts by the end of the period, latest first; among equal ends the shortest period comes first.
 */
const byNewest = (one: Fact, other: Fact): number =>
  other.end.localeCompare(one.end) || (other.start ?? "").localeCompare(one.start ?? "");

const isPossible = (metric: FundamentalMetric, value: number): boolean =>
  Math.abs(value) <= MAX_FIGURE && (metric !== "shares" || value > 0);
