import type { AssetClass } from "../market/instrument.ts";
import { type Factor, type FactorReading, type FactorStatus, isSideUnknown } from "./reading.ts";

/** A factor as the subject of a sentence, and what it is compared with. */
interface Wording {
  readonly subject: string;
  readonly yardstick: string;
}

/** The words for each factor of a fund or coin. */
const WORDINGS: Readonly<Record<Factor, Wording>> = {
  momentum: { subject: "Risk-adjusted momentum", yardstick: "its peers" },
  valuation: { subject: "Valuation", yardstick: "its own past" },
  social: { subject: "The tone of messages", yardstick: "its own habit" },
  darkpool: { subject: "Off-exchange pressure", yardstick: "its own habit" },
};

/** The words for each factor of a stock. */
const STOCK_WORDINGS: Readonly<Record<Factor, Wording>> = {
  ...WORDINGS,
  momentum: {
    subject: "Residual momentum with one-month reversal",
    yardstick: "its sector and the market",
  },
  valuation: { subject: "The earnings surprise", yardstick: "the other stocks" },
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

/** Describes a reading of an instrument of a class in one plain sentence. */
export function summarizeReading(
  factor: Factor,
  reading: Pick<FactorReading, "z" | "status" | "asOf">,
  assetClass: AssetClass,
): string {
  const { subject, yardstick } = (assetClass === "stock" ? STOCK_WORDINGS : WORDINGS)[factor];
  const { z, status } = reading;
  if (z === null) {
    const isSilent = isSideUnknown(reading);
    const why = isSilent ? "cannot be told: no block trade has a known side" : WHY_MISSING[status];
    return `${subject} ${why}.`;
  }
  const age = status === "stale" ? ", on old data" : "";
  return `${subject} is ${strength(z)} against ${yardstick} (z ${z.toFixed(2)}${age}).`;
}

function strength(z: number): string {
  if (Math.abs(z) < NOTICEABLE_Z) return "about usual";
  const direction = z > 0 ? "bullish" : "bearish";
  return Math.abs(z) < STRONG_Z ? direction : `strongly ${direction}`;
}
