import type { MarketView } from "../market/market-view.ts";
import type { PastSnapshot } from "../score/snapshot.ts";
import type { MemoryArchive } from "../score/snapshot-archive.ts";
import { roundFraction, roundScorePoints, roundToWholePoints } from "./rounding.ts";

/** The signal members of an answer, rounded; `src/log/leaf-values.ts` signs the same values. */
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
 * Label of the session that a snapshot belongs to: the last that closed, whose prices and signal it
 * shows until the next close. The close of a session becomes known within half a market day.
 */
export function sessionOfSnapshot(
  { at, instrument: { symbol, assetClass } }: PastSnapshot,
  {
    market,
    snapshots,
  }: {
    readonly market: Pick<MarketView, "dayMs" | "sessionAt">;
    readonly snapshots: Pick<MemoryArchive, "history">;
  },
): string {
  const close = snapshots.history(symbol, 0, at).at(-1)?.at ?? at;
  return market.sessionAt(close - market.dayMs / 2, assetClass);
}
