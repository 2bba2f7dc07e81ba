import type { Label } from "../../factors/hashed-linear.ts";
import { COUNTER_RULES } from "../../factors/message-counters.ts";

/** What a message was read as, and what it is known to say. */
export interface Reading {
  /** In [-1, 1]. */
  readonly polarity: number;
  readonly label: Label;
}

/**
 * Chance that a bullish message is read as more bullish than a bearish one, ties counting half
 * (Mann-Whitney U by mid-ranks), in [0, 1]; neutral ones are left out. NaN without both sides.
 */
export function areaUnderCurve(readings: readonly Reading[]): number {
  const sided = readings.filter(({ label }) => label !== "neutral");
  const ties = Map.groupBy(sided, ({ polarity }) => polarity);
  let [wins, bearishBelow] = [0, 0];
  for (const value of [...ties.keys()].sort((a, b) => a - b)) {
    const tied = ties.get(value) ?? [];
    const bullish = tied.filter(({ label }) => label === "bullish").length;
    const bearish = tied.length - bullish;
    wins += bullish * (bearishBelow + bearish / 2);
    bearishBelow += bearish;
  }
  return wins / (bearishBelow * (sided.length - bearishBelow));
}

/** Share of messages that would count as what they are, in [0, 1]; NaN without messages. */
export function accuracy(readings: readonly Reading[]): number {
  return (
    readings.filter(({ polarity, label }) => counted(polarity) === label).length / readings.length
  );
}

/** As the social factor counts. */
function counted(polarity: number): Label {
  if (Math.abs(polarity) <= COUNTER_RULES.minPolarity) return "neutral";
  return polarity > 0 ? "bullish" : "bearish";
}
