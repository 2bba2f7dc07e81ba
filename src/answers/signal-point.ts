import type { MarketView } from "../market/market-view.ts";
import type { PastSnapshot } from "../score/snapshot.ts";
import { fraction, points, wholePoints } from "./rounding.ts";

/** The signal members of an answer, rounded; the signal log records the same ones. */
export const roundedSignal = ({ score, confidence, coverage, signal }: PastSnapshot) => ({
  signal: signal.direction,
  score: wholePoints(score),
  scoreRaw: points(score),
  scoreSmoothed: points(signal.smoothed),
  confidence: fraction(confidence),
  coverage: fraction(coverage),
});

/** The signal members of an answer as they were computed. */
export const exactSignal = ({ score, confidence, coverage, signal }: PastSnapshot) => ({
  signal: signal.direction,
  score: wholePoints(score),
  scoreRaw: score,
  scoreSmoothed: signal.smoothed,
  confidence,
  coverage,
});

/** Label of the session of a snapshot: closes become known within half a market day. */
export const sessionOf = (
  { at, instrument }: PastSnapshot,
  { dayMs, sessionAt }: Pick<MarketView, "dayMs" | "sessionAt">,
): string => sessionAt(at - dayMs / 2, instrument.assetClass);
