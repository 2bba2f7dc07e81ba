import { randomBytes } from "node:crypto";
import { trackRecordTerms } from "../grading/track-record.ts";
import type { LastCheckpointFile } from "./last-checkpoint-file.ts";
import type { LogState } from "./log-state.ts";

/** Number of random bytes in the id of a log. */
const ID_BYTES = 6;

/** Maximum number of former logs that are remembered: a replay starts a new log each time. */
const MAX_FORMER = 100;

/**
 * Origins of the logs that a new log replaces, oldest first.
 *
 * @param head The last checkpoint that this machine signed.
 */
export function formerLogOrigins(
  before: LogState | undefined,
  head?: ReturnType<LastCheckpointFile["read"]>,
): readonly string[] {
  const known = [...(before?.former ?? []), before?.origin, head?.origin];
  const origins = known.filter((origin) => origin !== undefined);
  return [...new Set(origins)].slice(-MAX_FORMER);
}

/**
 * The state of a log without entries, with a new origin.
 *
 * @param host Host with which the origin begins.
 */
export function newLogState(
  host: string,
  beginning: Pick<LogState, "createdAt" | "beganAt" | "recordedUntil" | "replaces" | "former">,
): LogState {
  const id = randomBytes(ID_BYTES).toString("hex");
  return {
    id,
    origin: `${host}/log/${id}`,
    edge: [],
    method: null,
    record: trackRecordTerms(beginning.beganAt),
    universes: {},
    open: null,
    unsettled: [],
    settling: null,
    repeatedAt: Math.max(0, ...Object.values(beginning.recordedUntil)),
    ...beginning,
  };
}
