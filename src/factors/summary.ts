import { type Factor, type FactorReading, type FactorStatus, isSideUnknown } from "./reading.ts";

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

/**
 * Describes a reading in one plain sentence.
 *
 * @param hasShareCount Whether any number of shares was filed; matters only to a valuation.
 */
export function summarizeReading(
  factor: Factor,
  reading: Pick<FactorReading, "z" | "status" | "asOf">,
  hasShareCount: boolean,
): string {
  const subject = SUBJECT[factor];
  const { z, status } = reading;
  if (z === null) return `${subject} ${whyMissing(factor, reading, hasShareCount)}.`;
  const age = status === "stale" ? ", on old data" : "";
  return `${subject} is ${strength(z)} against ${YARDSTICK[factor]} (z ${z.toFixed(2)}${age}).`;
}

function whyMissing(
  factor: Factor,
  reading: Pick<FactorReading, "status" | "asOf">,
  hasShareCount: boolean,
): string {
  const { status, asOf } = reading;
  if (isSideUnknown(reading)) return "cannot be told: no block trade has a known side";
  // A stock that is compared with peers has yields, and thus the instant of its newest filing.
  if (factor === "valuation" && status === "insufficient_data" && asOf === null) {
    return hasShareCount
      ? "cannot be formed yet: its filings have too few figures"
      : "cannot be formed: no number of shares is known";
  }
  return WHY_MISSING[status];
}

function strength(z: number): string {
  if (Math.abs(z) < NOTICEABLE_Z) return "about usual";
  const direction = z > 0 ? "bullish" : "bearish";
  return Math.abs(z) < STRONG_Z ? direction : `strongly ${direction}`;
}
