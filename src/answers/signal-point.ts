import type { MarketView } from "../market/market-view.ts";
import type { PastSnapshot } from "../score/snapshot.ts";
import { roundFraction, roundScorePoints, roundToWholePoints } from "./rounding.ts";

/** The signal members of an answer, rounded; the signal log records the same values. */
export const roundedSignal = ({ score, confidence, coverage, signal }: PastSnapshot) => ({
  signal: signal.direction,
  score: roundToWholePoints(score),
  scoreRaw: roundScorePoints(score),
  scoreSmoothed: roundScorePoints(signal.smoothed),
  confidence: roundFraction(confidence),
  coverage: roundFraction(coverage),
});

/** The signal members of an answer, unrounded except for the whole-number score. */
export const exactSignal = ({ score, confidence, coverage, signal }: PastSnapshot) => ({
  signal: signal.direction,
  score: roundToWholePoints(score),
  scoreRaw: score,
  scoreSmoothed: signal.smoothed,
  confidence,
  coverage,
});

/**
 * Label of the session that a snapshot belongs to. The close of a session becomes known within half
 * a market day.
 */
export const sessionOfSnapshot = (
  { at, instrument }: PastSnapshot,
  { dayMs, sessionAt }: Pick<MarketView, "dayMs" | "sessionAt">,
): string => sessionAt(at - dayMs / 2, instrument.assetClass);
