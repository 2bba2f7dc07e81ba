import { claimAnswer, trackRecordFiguresAnswer } from "../../src/answers/track-record.ts";
import { liveClaimFigures } from "../../src/grading/live-claim.ts";
import { TRACK_RECORD_HORIZON_SESSIONS } from "../../src/grading/run-grade.ts";
import { trackRecordTerms } from "../../src/grading/track-record.ts";
import { GradedRuns } from "../../src/log/graded-runs.ts";
import type { LogStore } from "../../src/log/log-store.ts";
import { runningMethod } from "../../src/method/running.ts";
import { closeOf, type SignalLog } from "./signal-log.ts";

/** The graded runs of a log. */
export async function gradedRunsOf({ store }: Pick<SignalLog, "store">): Promise<GradedRuns> {
  const graded = new GradedRuns(store);
  await graded.reload();
  return graded;
}

/** Figures of the runs of stocks in a log that began with day 0. */
export const stockFigures = (
  graded: GradedRuns,
  horizon = 5,
  methodHash = runningMethod().methodHash,
) => graded.record({ assetClass: "stock", horizon, methodHash }, trackRecordTerms(0), 0).figures;

/**
 * The claims of a log as `GET /api/track-record` answers them.
 *
 * @param now On the market's clock, Unix milliseconds.
 */
export async function answeredClaims(store: LogStore, graded: GradedRuns, now = 0) {
  const { claims = {} } = (await store.state())?.value ?? {};
  return Object.entries(claims).map(([methodHash, { terms }]) => {
    const { assetClass, horizon } = terms;
    const runs = graded.runsOf({ assetClass, horizon, methodHash });
    return claimAnswer({ methodHash, ...liveClaimFigures(terms, runs, now), openSince: null }, now);
  });
}

/**
 * The answer of `GET /api/track-record` about the stocks in a log that began with day 0.
 *
 * @param change What a forger changes in every record.
 */
export async function answeredTrackRecord(log: SignalLog, change: object = {}) {
  const graded = await gradedRunsOf(log);
  const { origin = "" } = (await log.reader.checkpoint()) ?? {};
  const records = TRACK_RECORD_HORIZON_SESSIONS.stock.flatMap((horizon) =>
    graded.methodsOf({ assetClass: "stock", horizon }).map((methodHash) => ({
      ...{ methodHash, ...trackRecordFiguresAnswer(stockFigures(graded, horizon, methodHash)) },
      isHeadline: trackRecordTerms(0).headline.stock === horizon,
      ...{ expectedAt: null, verdicts: [], nextVerdictAt: null },
      ...change,
    })),
  );
  return {
    ...{ market: "live", simulated: false, origin, size: graded.size, records },
    beganAt: new Date(closeOf(0)).toISOString(),
    claims: await answeredClaims(log.store, graded),
  };
}
