import type { Packing } from "../../market/packed-list.ts";
import type { Bar, Fundamental, FundamentalMetric, OnChain } from "../../market/records.ts";
import { QUARTER_DAYS } from "./calendar.ts";
import type { Scene, Stage } from "./day-context.ts";
import { ERA_DAYS } from "./price-regimes.ts";
import { normal } from "./rng.ts";

/** A quarter is published 20..50 days after its end. */
const SHORTEST_LAG_DAYS = 20;
const LAG_SPREAD_DAYS = 30;

/** Of eight quarters a lapsing instrument files five. */
const LAPSE_CYCLE = 8;
const FILED_OF_CYCLE = 5;

function isFiled({ profile }: Scene, quarter: number): boolean {
  const { filings, phase } = profile.traits;
  if (filings === "usual") return true;
  return (quarter + (phase * LAPSE_CYCLE) / 2) % LAPSE_CYCLE < FILED_OF_CYCLE;
}

/**
 * Shares outstanding: a split multiplies them, buy-backs spread over the era undo it, so that
 * neither price nor market value runs away over the eras.
 */
function sharesOn({ stage, profile }: Scene, day: number): number {
  const era = stage.eraOf(day);
  const split = era.paths[profile.index]?.split ?? null;
  if (split === null) return profile.baseShares;
  const offset = day - era.firstDay;
  const sinceSplit = offset >= split.offset ? split.ratio : 1;
  return Math.round((profile.baseShares * sinceSplit) / split.ratio ** (offset / ERA_DAYS));
}

/** Figures filed on a day, none on most days. */
export function filingsOf(scene: Scene): readonly Fundamental[] {
  const { stage, profile, day } = scene;
  const phaseDays = (profile.index * 5) % QUARTER_DAYS;
  const quarter = Math.floor((day - SHORTEST_LAG_DAYS - phaseDays) / QUARTER_DAYS);
  const endDay = quarter * QUARTER_DAYS + phaseDays;
  const draw = stage.draws("filing", profile.index, quarter);
  const publishedDay = endDay + SHORTEST_LAG_DAYS + LAG_SPREAD_DAYS * draw();
  if (Math.floor(publishedDay) !== day || !isFiled(scene, quarter)) return [];
  const baseValue = profile.basePrice * profile.baseShares;
  const year = stage.draws("filingYear", profile.index, Math.floor(quarter / 4));
  const earned = 1 + 0.15 * normal(year) + 0.1 * normal(draw);
  const values: readonly (readonly [FundamentalMetric, number])[] = [
    ["netIncome", (baseValue * profile.earningsYield * earned) / 4],
    ["equity", baseValue * profile.bookYield * (1 + 0.03 * normal(draw))],
    ["shares", sharesOn(scene, endDay)],
  ];
  return values.map(([metric, value]) => ({
    availableAt: Math.floor(publishedDay * stage.dayMs),
    metric,
    periodEnd: endDay * stage.dayMs,
    value: Math.round(value),
  }));
}

/** Days after the start of a day at which its network figures are known. */
const ON_CHAIN_PUBLISHED_DAYS = 1.25;
const UNPUBLISHED_PROBABILITY = 0.005;

/** What a network valuation is made from. */
type Draft = Pick<OnChain, "mvrv"> & {
  /** Days since the Unix epoch. */
  readonly day: number;
};

/** Network valuation of the day before: high after rises, as holders' cost lags the price. */
export function onChainOf({ stage, profile, day: today }: Scene, yesterday: Bar): Draft {
  const day = today - 1;
  const draw = stage.draws("onChain", profile.index, day);
  const ratio = 1.2 * (yesterday.close / profile.basePrice) ** 0.5 * Math.exp(0.03 * normal(draw));
  const mvrv = draw() < UNPUBLISHED_PROBABILITY ? null : Math.round(ratio * 10_000) / 10_000;
  return { day, mvrv };
}

/** How network valuations are kept. */
export const packedOnChain = ({
  dayMs,
  sessionOf,
}: Pick<Stage, "dayMs" | "sessionOf">): Packing<Draft, OnChain> => ({
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
