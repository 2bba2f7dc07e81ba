import type { Snapshot } from "../../score/snapshot.ts";
import type { ClosedSessions } from "./closed-sessions.ts";
import { type ConditionState, evaluateCondition } from "./condition.ts";
import { type EvaluationState, type Progress, stateKey } from "./evaluation-state.ts";
import type { createFanOut, Draft, Found } from "./fan-out.ts";
import type { ConditionGroup } from "./matching.ts";

/** Alerts that are told in one commit: some milliseconds of work. */
const TOLD_PER_COMMIT = 100;

/** Steps from which on a commit is not made longer: telling an alert takes six. */
const STEPS_PER_COMMIT = 6 * TOLD_PER_COMMIT;

/** An instrument that somebody watches, at the close of a session. */
export interface Sighting {
  readonly audience: ConditionGroup;
  readonly snapshot: Snapshot;
}

/** What deciding works with. */
export interface DecidingOptions {
  readonly ledger: EvaluationState;
  readonly closed: ClosedSessions;
  readonly tell: ReturnType<typeof createFanOut>;
}

/** A commit that is being put together. */
export interface OpenEntry extends Draft {
  readonly states: Map<string, ConditionState | undefined>;
  toldThrough: Progress["toldThrough"];
}

/** An entry that changes nothing. */
export const emptyEntry = ({ progress }: EvaluationState): OpenEntry => ({
  states: new Map(),
  steps: [],
  sequences: new Map(),
  newestEventAt: progress.newestEventAt,
  toldThrough: progress.toldThrough,
});

/** What a session changes of a watched instrument. */
interface Change {
  readonly key: string;
  readonly after: ConditionState;
  readonly found: Found | undefined;
}

/**
 * Decides about watched instruments, and writes as soon as there is enough for a commit.
 *
 * @param entry What was decided before and is still to be written.
 * @returns The entry with what is still to be written; `undefined` when something else changed
 *   first.
 */
export async function decide(
  sightings: readonly Sighting[],
  entry: OpenEntry,
  options: DecidingOptions,
): Promise<OpenEntry | undefined> {
  const { ledger } = options;
  let open = entry;
  for (const part of sightings.flatMap((sighting) => partsOf(sighting, options))) {
    await add(part, open, options);
    if (part.isLast && open.steps.length + open.states.size < STEPS_PER_COMMIT) continue;
    if (!(await ledger.commit(open))) return undefined;
    open = emptyEntry(ledger);
  }
  return open;
}

/** What a session changes of a watched instrument, and some of those that are told; the last part
 *  writes the state. */
interface Part {
  readonly change: Change;
  readonly alertIds: readonly string[];
  readonly isLast: boolean;
}

async function add(
  { change, alertIds, isLast }: Part,
  open: OpenEntry,
  { tell }: DecidingOptions,
): Promise<void> {
  if (change.found !== undefined) await tell(change.found, alertIds, open);
  if (isLast) open.states.set(change.key, change.after);
  else open.toldThrough = { ...open.toldThrough, [nameOf(change)]: alertIds.at(-1) ?? "" };
}

/** None when nothing changes. */
function partsOf(sighting: Sighting, options: DecidingOptions): readonly Part[] {
  const change = changeOf(sighting, options);
  if (change === undefined) return [];
  const alertIds = listenersOf(change, sighting, options.ledger);
  const count = Math.max(1, Math.ceil(alertIds.length / TOLD_PER_COMMIT));
  return Array.from({ length: count }, (_, index) => ({
    change,
    alertIds: alertIds.slice(index * TOLD_PER_COMMIT, (index + 1) * TOLD_PER_COMMIT),
    isLast: index === count - 1,
  }));
}

function changeOf(
  { audience: { watch }, snapshot }: Sighting,
  { ledger, closed }: DecidingOptions,
): Change | undefined {
  const key = stateKey(watch.key, snapshot.instrument.symbol);
  const known = ledger.state(key);
  // It was decided already when the process ended before the rest of the session was.
  if (known !== undefined && known.at >= snapshot.at) return undefined;
  const seen = (one: Snapshot, before: ConditionState | undefined) =>
    evaluateCondition(watch, before, closed.of(one, watch.kind));

  // Watching begins with what was known before this close, so that the close can be news.
  const previous = known === undefined ? closed.before(snapshot) : undefined;
  const before = previous === undefined ? known : seen(previous, undefined).after;
  const { after, event } = seen(snapshot, before);
  if (after === undefined || after === known) return undefined;
  return { key, after, found: event && { watch, event, snapshot } };
}

const nameOf = ({ key, after }: Change): string => `${key} ${after.at}`;

/** Ids of the alerts that are still to be told. */
function listenersOf(
  change: Change,
  { audience, snapshot }: Sighting,
  { progress: { toldThrough } }: EvaluationState,
): readonly string[] {
  if (change.found === undefined) return [];
  const through = toldThrough[nameOf(change)] ?? "";
  return audience.listeners(snapshot).filter((id) => id > through);
}
