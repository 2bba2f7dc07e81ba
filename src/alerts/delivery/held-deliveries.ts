import { type Loop, type Schedule, startLoop } from "../../lib/loop.ts";
import { announce, put, removeAt, replace } from "../../store/port/operations.ts";
import { readAll } from "../../store/port/read-all.ts";
import { collection, type Operation, type Records, type Stored } from "../../store/port/records.ts";
import {
  type AlertTarget,
  DELIVERIES_TOPIC,
  type Delivery,
  deliveries,
  queueGroup,
  RELEASED,
} from "./delivery.ts";

/** Alerts and channels whose held deliveries are to be released, by their id. */
const releases = collection<true>("alert-releases");

/** Topic that announces a release. */
const RELEASES_TOPIC = "alert-releases";

/** Pause between two polls for releases, in milliseconds: announcements may be lost. */
const POLL_EVERY_MS = 60_000;

/** Deliveries that are released at a time. */
const RELEASED_TOGETHER = 100;

/** Another process continues a release after this many milliseconds. */
const LEASE_MS = 30_000;

/** The operations that make the held deliveries of an alert or channel due soon after the commit.
 *  They must be in the same commit that makes it active or changes its schedule, so that neither
 *  happens without the other. */
export function releaseHeld({
  key,
  groups,
}: Pick<AlertTarget, "key" | "groups">): readonly Operation[] {
  return [put(releases, { key, value: true, groups, dueInMs: 0 }), announce(RELEASES_TOPIC)];
}

/** Dependencies of the release loop. */
export interface ReleaseOptions {
  readonly records: Records;
  readonly schedule: Schedule;
  /** Called when the store failed; the release is tried again. */
  readonly onError: (error: unknown) => void;
}

/** Releases held deliveries until it is stopped; every process may run it. */
export function startReleaseLoop({
  records,
  schedule,
  onError,
}: ReleaseOptions): Pick<Loop, "stop"> {
  const tick = async (): Promise<number> => {
    const due = await records.claimDue(releases, { limit: 1, leaseMs: LEASE_MS });
    for (const release of due) {
      await releaseAll(records, release.key);
      await records.commit([removeAt(releases, release), announce(DELIVERIES_TOPIC)]);
    }
    return due.length;
  };
  const loop = startLoop({ tick, everyMs: POLL_EVERY_MS, onError, schedule });
  const stopListening = records.onAnnounce(RELEASES_TOPIC, loop.wake);
  return {
    async stop() {
      stopListening();
      await loop.stop();
    },
  };
}

/** Releases each delivery once: what a worker has put back since was decided by the new schedule. One commit
 *  each, because a delivery that was deleted meanwhile must not block the others. */
async function releaseAll(records: Records, id: string): Promise<void> {
  const held = (await readAll(records, deliveries, queueGroup(id))).filter(isHeld);
  for (let from = 0; from < held.length; from += RELEASED_TOGETHER) {
    const some = held.slice(from, from + RELEASED_TOGETHER);
    await Promise.all(some.map((each) => records.commit([dueNow(each)])));
  }
}

/** A delivery within a digest is not released; the digest is. */
const isHeld = ({ dueAt, value }: Stored<Delivery>): boolean =>
  value.digestId === undefined && (dueAt === undefined || value.heldUntil !== undefined);

/** What has waited for the schedule of its channel leaves in one digest, unless the schedule lets it wait
 *  on. */
function dueNow(held: Stored<Delivery>): Operation {
  const hasWaited = held.value.heldUntil !== undefined;
  const value = hasWaited ? { ...held.value, heldUntil: RELEASED } : held.value;
  return replace(deliveries, held, { value, dueInMs: 0 });
}
