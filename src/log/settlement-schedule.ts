import type { TrackRecordTerms } from "../grading/track-record.ts";
import type { LogState, UnsettledRun } from "./log-state.ts";

/**
 * When runs are settled. A run is settled over each horizon, the shortest first, once its returns
 * are known. Some sessions after the longest horizon, each settlement is looked at again: if prices
 * that became known late lead to other outcomes, the log gets another settlement, which names the
 * one whose place it takes. Both stay in the log, and nothing is looked at a third time.
 */

/**
 * Number of sessions that a settlement needs besides its horizon: the entry session, and a session
 * in which doubtful prices are confirmed.
 */
const CONFIRMATION_SESSIONS = 2;

/** Number of additional sessions for which a settlement waits for missing prices. */
export const MAX_PRICE_WAIT_SESSIONS = 10;

/** Number of sessions after a run from which on it can be settled over a horizon. */
export const settledAfter = (horizon: number): number => horizon + CONFIRMATION_SESSIONS;

/** Number of sessions after a run from which on its settlements are looked at again. */
export const lookedAtAgainAfter = (
  horizons: readonly number[],
  { correctedWithin }: Pick<TrackRecordTerms["rules"], "correctedWithin">,
): number => settledAfter(Math.max(0, ...horizons)) + correctedWithin;

/** The next settlement of a run. */
export interface NextSettlement {
  readonly run: UnsettledRun;
  /** Horizon in sessions. */
  readonly horizon: number;
  /**
   * Index of the settlement that is looked at again, and whose place the next one takes if prices
   * were corrected; `null` if that index is not known, absent for the first settlement over the
   * horizon.
   */
  readonly corrects?: number | null | undefined;
  /** Number of sessions after the run from which on the settlement is due. */
  readonly after: number;
}

/** The next settlement of a run that is not settled for good. */
export function nextSettlement(run: UnsettledRun, { record }: LogState): NextSettlement {
  const { settled, settlements } = run;
  const horizons = horizonsOf(run, record);
  const horizon = horizons[settled % horizons.length] as number;
  if (settled < horizons.length) return { run, horizon, after: settledAfter(horizon) };
  const corrects = settlements[settled - horizons.length];
  return { run, horizon, corrects, after: lookedAtAgainAfter(horizons, record.rules) };
}

/** A settlement that is due. */
export interface DueSettlement extends NextSettlement {
  /** Whether the settlement no longer waits for missing prices. */
  readonly isFinal: boolean;
}

/**
 * The settlements that are due, the next one to append first. Their runs have been covered by a
 * checkpoint, and enough later sessions have been logged. Settlements that no longer wait for
 * prices come first, then the oldest. No settlement is therefore more than
 * `MAX_PRICE_WAIT_SESSIONS` late, which verifiers rely on.
 */
export function dueSettlements(state: LogState): readonly DueSettlement[] {
  const due = state.unsettled.flatMap((run): readonly DueSettlement[] => {
    const next = nextSettlement(run, state);
    const later = state.unsettled.filter(
      ({ assetClass, close }) => assetClass === run.assetClass && close > run.close,
    ).length;
    if (run.coveredAt === null || later < next.after) return [];
    return [{ ...next, isFinal: later >= next.after + MAX_PRICE_WAIT_SESSIONS }];
  });
  return due.toSorted((one, other) => Number(other.isFinal) - Number(one.isFinal));
}

/**
 * The unsettled runs after the next settlement of one of them, or after that was found to be
 * unnecessary. A run that was looked at again over every horizon is settled for good.
 *
 * @param settlement Leaf index of the settlement; absent if none was necessary.
 */
export const unsettledAfter = (
  { unsettled, record }: LogState,
  { run: { index } }: NextSettlement,
  settlement?: number,
): readonly UnsettledRun[] =>
  unsettled
    .map((run): UnsettledRun => {
      if (run.index !== index) return run;
      const settlements =
        settlement === undefined ? run.settlements : [...run.settlements, settlement];
      return { ...run, settled: run.settled + 1, settlements };
    })
    .filter((run) => run.settled < 2 * horizonsOf(run, record).length);

const horizonsOf = (
  { assetClass }: UnsettledRun,
  { horizons }: TrackRecordTerms,
): readonly number[] => horizons[assetClass] ?? [];
