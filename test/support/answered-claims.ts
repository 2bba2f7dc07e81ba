import { claimAnswer } from "../../src/answers/track-record.ts";
import { liveClaimFigures } from "../../src/grading/live-claim.ts";
import type { GradedRuns } from "../../src/log/graded-runs.ts";
import type { LogStore } from "../../src/log/log-store.ts";

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
