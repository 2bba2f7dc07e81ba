import type { RecordPacking } from "../../market/packed-list.ts";
import type { Bar, Fundamental, FundamentalMetric, OnChainFigures } from "../../market/records.ts";
import { QUARTER_DAYS } from "./calendar.ts";
import type { DayContext, SandboxWorld } from "./day-context.ts";
import { SEGMENT_DAYS } from "./price-paths.ts";
import { standardNormal } from "./rng.ts";

/** The figures of a quarter are published 20 to 50 days after its end. */
const SHORTEST_LAG_DAYS = 20;
const LAG_SPREAD_DAYS = 30;

/**
 * Length of the filing cycle in quarters; an instrument whose filings are `lapsing` files five
 * quarters of each cycle.
 */
const LAPSE_CYCLE = 8;
const FILED_OF_CYCLE = 5;

function isFiled({ profile }: DayContext, quarter: number): boolean {
  const { filings, phase } = profile.traits;
  if (filings === "usual") return true;
  return (quarter + (phase * LAPSE_CYCLE) / 2) % LAPSE_CYCLE < FILED_OF_CYCLE;
}

/**
 * Shares outstanding. A split multiplies them. Buybacks, spread over the whole price segment, undo
 * the split, so that price and market value stay bounded.
 */
function sharesOn({ world, profile }: DayContext, day: number): number {
  const segment = world.segmentOf(day);
  const split = segment.paths[profile.index]?.split ?? null;
  if (split === null) return profile.baseShares;
  const offset = day - segment.firstDay;
  const sinceSplit = offset >= split.offset ? split.ratio : 1;
  return Math.round((profile.baseShares * sinceSplit) / split.ratio ** (offset / SEGMENT_DAYS));
}

/** Figures filed on a day; empty on most days. */
export function filingsOf(context: DayContext): readonly Fundamental[] {
  const { world, profile, day } = context;
  const phaseDays = (profile.index * 5) % QUARTER_DAYS;
  const quarter = Math.floor((day - SHORTEST_LAG_DAYS - phaseDays) / QUARTER_DAYS);
  const endDay = quarter * QUARTER_DAYS + phaseDays;
  const rng = world.rngFor("filing", profile.index, quarter);
  const publishedDay = endDay + SHORTEST_LAG_DAYS + LAG_SPREAD_DAYS * rng();
  if (Math.floor(publishedDay) !== day || !isFiled(context, quarter)) return [];
  const baseValue = profile.basePrice * profile.baseShares;
  const year = world.rngFor("filingYear", profile.index, Math.floor(quarter / 4));
  const earned = 1 + 0.15 * standardNormal(year) + 0.1 * standardNormal(rng);
  const values: readonly (readonly [FundamentalMetric, number])[] = [
    ["netIncome", (baseValue * profile.earningsYield * earned) / 4],
    ["equity", baseValue * profile.bookYield * (1 + 0.03 * standardNormal(rng))],
    ["shares", sharesOn(context, endDay)],
  ];
  return values.map(([metric, value]) => ({
    availableAt: Math.floor(publishedDay * world.dayMs),
    metric,
    periodEnd: endDay * world.dayMs,
    value: Math.round(value),
  }));
}

/** Time from the start of a day to the publication of its on-chain figures, in days. */
const ON_CHAIN_PUBLISHED_DAYS = 1.25;
const UNPUBLISHED_PROBABILITY = 0.005;

/** An on-chain valuation (MVRV ratio) as packed in memory. */
type PackedOnChain = Pick<OnChainFigures, "mvrv"> & {
  /** Days since the Unix epoch. */
  readonly day: number;
};

/**
 * On-chain valuation (MVRV ratio) of the previous day. It is high after a rise, because the cost
 * basis of holders lags the price.
 */
export function onChainOf(
  { world, profile, day: today }: DayContext,
  yesterday: Bar,
): PackedOnChain {
  const day = today - 1;
  const rng = world.rngFor("onChain", profile.index, day);
  const ratio =
    1.2 * (yesterday.close / profile.basePrice) ** 0.5 * Math.exp(0.03 * standardNormal(rng));
  const mvrv = rng() < UNPUBLISHED_PROBABILITY ? null : Math.round(ratio * 10_000) / 10_000;
  return { day, mvrv };
}

/** Binary layout of on-chain valuations. */
export const onChainPacking = ({
  dayMs,
  sessionOf,
}: Pick<SandboxWorld, "dayMs" | "sessionOf">): RecordPacking<PackedOnChain, OnChainFigures> => ({
  bytes: 12,
  write(view, at, { day, mvrv }) {
    view.setUint32(at, day);
    view.setFloat64(at + 4, mvrv ?? Number.NaN);
  },
  read(view, at) {
    const day = view.getUint32(at);
    const mvrv = view.getFloat64(at + 4);
    return {
      availableAt: Math.floor((day + ON_CHAIN_PUBLISHED_DAYS) * dayMs),
      session: sessionOf(day),
      mvrv: Number.isNaN(mvrv) ? null : mvrv,
    };
  },
});
