import type { Factor } from "../factors/reading.ts";
import type { CANDIDATE_PARTS } from "../score/candidate.ts";
import type { PastSnapshot } from "../score/snapshot.ts";
import { partValue, percentile } from "./leaf-values.ts";

/** The factor whose inputs contain each part of a stock's score. */
const FACTOR_OF_PART = {
  surprise: "valuation",
  residualMomentum: "momentum",
  reversal: "momentum",
} as const satisfies Readonly<Record<(typeof CANDIDATE_PARTS)[number], Factor>>;

/**
 * The members of a signal leaf that say how a stock compared with the other stocks of its close,
 * with their members in the order of RFC 8785. They are `null` for other classes, but for the
 * steadiness of coins.
 */
export function peerMembers(snapshot: PastSnapshot) {
  const { instrument, at, exposures, steadiness } = snapshot;
  const isStock = instrument.assetClass === "stock";
  return {
    parts: isStock && snapshot.factors ? partsOf(snapshot.factors) : null,
    percentiles: exposures
      ? {
          beta: percentile(exposures.beta),
          dollarVolume: percentile(exposures.dollarVolume),
          volatility: percentile(exposures.volatility),
        }
      : null,
    sector: isStock ? instrument.sector : null,
    steadiness: steadiness?.at === at ? percentile(steadiness.value) : null,
  };
}

function partsOf(factors: NonNullable<PastSnapshot["factors"]>) {
  const part = (name: keyof typeof FACTOR_OF_PART) => {
    const { inputs } = factors[FACTOR_OF_PART[name]];
    const { value = null, relative, rank, of } = inputs.find((one) => one.name === name) ?? {};
    if (value === null || rank === undefined || of === undefined) return null;
    const [own, compared] = [value, relative ?? value].map(partValue);
    return { of, rank, relative: compared, value: own };
  };
  return {
    residualMomentum: part("residualMomentum"),
    reversal: part("reversal"),
    surprise: part("surprise"),
  };
}
