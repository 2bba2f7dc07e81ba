import type { Factor, FactorStatus, Reading } from "./reading.ts";

/** Names of the factors in sentences. */
const SUBJECT: Readonly<Record<Factor, string>> = {
  momentum: "Risk-adjusted momentum",
  valuation: "Valuation",
  social: "The tone of messages",
  darkpool: "Off-exchange pressure",
};

/** What each factor is compared with, in sentences. */
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
  not_observed: "is not observed: there is no feed for it",
  insufficient_data: "cannot be formed yet: history or peer group is too short",
};

/** |z| from which evidence is called bullish or bearish, and from which strongly so. */
const NOTICEABLE_Z = 0.5;
const STRONG_Z = 1.5;

/** One plain sentence about a reading. */
export function summarize(factor: Factor, { z, status }: Pick<Reading, "z" | "status">): string {
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
