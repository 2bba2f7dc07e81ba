import type { VerificationCheck } from "../../tree/check.ts";
import { type Checkpoint, parseCheckpointText, shownOrigin } from "../../tree/checkpoint.ts";
import type { KnownLog } from "../../tree/known-log.ts";

/**
 * Checks a log that another log has taken the place of: entries of a former log are in no later
 * one, so this check always fails and says how many are gone.
 *
 * @param replaces Text of the last checkpoint of the former log, as the first `method` entry of the
 * new log names it; `undefined` if it names none.
 */
export function checkSuccession(
  { origin, sightings }: KnownLog,
  replaces: string | undefined,
): VerificationCheck {
  const seen = Math.max(...sightings.map(({ size }) => size));
  const last = checkpointIn(replaces);
  const detail =
    last?.origin === origin
      ? `it takes the place of the log that was seen, and names ${last.size} entries as its last: ${lossText(seen, last.size)}`
      : `${seen} entries of ${shownOrigin(origin)} were seen, and this log does not say that it takes its place`;
  return { name: "history", outcome: "failed", detail };
}

const lossText = (seen: number, kept: number): string =>
  seen > kept
    ? `${seen} were seen, so the last ${seen - kept} of them were lost or withdrawn`
    : `of the ${seen} that were seen none is missing there`;

function checkpointIn(text: string | undefined): Checkpoint | undefined {
  try {
    return text === undefined ? undefined : parseCheckpointText(text);
  } catch {
    return undefined;
  }
}
