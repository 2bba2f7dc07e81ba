import type { AlertSystem } from "../alerts/create.ts";
import { snapshotId } from "../answers/shared-members.ts";
import type { Scoring } from "../ingest/create.ts";
import { createSessionArchiveJob } from "../ingest/session-archive.ts";
import type { SignalLog } from "../log/signal-log.ts";
import type { LeaderJob } from "../maintenance/maintenance.ts";
import type { Store } from "../store/port/store.ts";

/** Interval between checks for closed sessions that are not yet recorded, in milliseconds. */
const RECORD_EVERY_MS = 250;

/** Interval between checks for rate limit windows that have ended, in milliseconds. */
const SWEEP_EVERY_MS = 60_000;

/** All jobs that only the leader runs. */
export const leaderJobs = ({
  store,
  scoring,
  signalLog,
  alerts,
}: {
  readonly store: Store;
  readonly scoring: Scoring;
  readonly signalLog: SignalLog | undefined;
  readonly alerts: AlertSystem;
}): readonly LeaderJob[] => [
  ...recording(scoring, store).map((job) => onceScored(job, scoring)),
  ...(signalLog?.leaderJobs ?? []).map((job) => onceScored(job, scoring)),
  ...(scoring.live?.work ?? []),
  onceScored(alerts.leaderJob, scoring),
  ...sweeping(store),
];

/** Leader jobs that delete the counts of rate limit windows that have ended. */
const sweeping = ({ counters }: Pick<Store, "counters">): readonly LeaderJob[] =>
  counters === undefined ? [] : [{ tick: counters.sweep, everyMs: SWEEP_EVERY_MS }];

/** A job that pauses while the scores of the previous run are still in use. */
const onceScored = (job: LeaderJob, { isProvisional }: Scoring): LeaderJob => ({
  ...job,
  tick: async () => (isProvisional() ? 0 : job.tick()),
});

/**
 * Leader jobs that record final snapshots. The sandbox has none, because anyone can compute its
 * snapshots again from the seed.
 */
function recording(
  { market: { mode, dayMs }, snapshots, recordableUntil: knownUntil }: Scoring,
  { archive }: Pick<Store, "archive">,
): readonly LeaderJob[] {
  if (mode === "sandbox") return [];
  const hasWholeHistory = mode !== "live";
  const tick = createSessionArchiveJob({
    archive,
    snapshots,
    knownUntil,
    dayMs,
    hasWholeHistory,
    idOf: snapshotId,
  });
  return [{ tick, everyMs: RECORD_EVERY_MS }];
}
