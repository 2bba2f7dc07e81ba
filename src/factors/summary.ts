import type { Factor, FactorReading, FactorStatus } from "./reading.ts";

/** Each factor as the subject of a sentence. */
const SUBJECT: Readonly<Record<Factor, string>> = {
  momentum: "Risk-adjusted momentum",
  valuation: "Valuation",
  social: "The tone of messages",
  darkpool: "Off-exchange pressure",
};

/** What each factor is compared with, as it appears in a sentence. */
const YARDSTICK: Readonly<Record<Factor, string>> = {
  momentum: "its peers",
  valuation: "its peers or its own past",
  social: "its own habit",
  darkpool: "its own habit",
};

const WHY_MISSING: Readonly<Record<FactorStatus, string>> = {
  ok: "is measured",
  stale: "is too old to count",
  no_activity: "is silent: the feed found nothing",
  not_observed: "has no feed",
  insufficient_data: "cannot be formed yet: history or peer group is too short",
};

/**
 * Minimum |z| at which evidence is called bullish or bearish, and at which it is called strongly
 * so.
 */
const NOTICEABLE_Z = 0.5;
const STRONG_Z = 1.5;

/** Describes a reading in one plain sentence. */
export function summarizeReading(
  factor: Factor,
  { z, status }: Pick<FactorReading, "z" | "status">,
): string {
  const subject = SUBJECT[factor];
  if (z === null) return `${subject} ${WHY_MISSING[status]}.`;
  const age = status === "stale" ? ", on old data" : "";
  return `${subject} is ${strength(z)} against ${YARDSTICK[factor]} (z ${z.toFixed(2)}${age}).`;
}

function strength(z: number): string {
  if (Math.abs(z) < NOTICEABLE_Z) return "about usual";
  const direction = z > 0 ? "bullish" : "bearish";
  return Math.abs(z) < STRONG_Z ? direction : `strongly ${direction}`;
}
