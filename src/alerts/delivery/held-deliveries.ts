import { type Loop, type ScheduleTimer, startLoop } from "../../lib/loop.ts";
import { readAll } from "../../store/port/read-all.ts";
import { collection, type Records } from "../../store/port/records.ts";
import { type Transaction, transact, transactOnce } from "../../store/transact.ts";
import { applyScheduleAnew, gatheringKey, isWaiting } from "../channels/digest.ts";
import {
  DELIVERIES_TOPIC,
  deliveries,
  queuedDeliveriesGroup,
  type StorableAlert,
  type StoredDelivery,
} from "./delivery.ts";

/** Requested releases of held deliveries, by the id of the alert or channel. */
const releases = collection<true>("alert-releases", { dueInMs: 0 });

/** Topic that announces a requested release. */
const RELEASES_TOPIC = "alert-releases";

/**
 * Pause between two polls for releases, in milliseconds; needed because an announcement can be
 * lost.
 */
const POLL_EVERY_MS = 60_000;

/** Number of deliveries that are released concurrently. */
const RELEASED_TOGETHER = 100;

/** Milliseconds after which another process may take over an unfinished release. */
const LEASE_MS = 30_000;

/**
 * Makes the held deliveries of an alert or channel due soon after the transaction that activates
 * the alert or channel or changes its schedule.
 */
export function releaseHeldDeliveries(
  tx: Transaction,
  { key, groups }: Pick<StorableAlert, "key" | "groups">,
): void {
  tx.put(releases, { key, value: true, groups });
  tx.announce(RELEASES_TOPIC);
}

/** Dependencies of the release loop. */
interface ReleaseLoopOptions {
  readonly records: Records;
  readonly schedule: ScheduleTimer;
  /** Called when the store fails. The release is tried again. */
  readonly onError: (error: unknown) => void;
}

/**
 * Starts a loop that releases held deliveries until it is stopped. Every process may run this loop.
 */
export function startReleaseLoop({
  records,
  schedule,
  onError,
}: ReleaseLoopOptions): Pick<Loop, "stop"> {
  const tick = async (): Promise<number> => {
    const due = await records.claimDue(releases, { limit: 1, leaseMs: LEASE_MS });
    for (const release of due) {
      await releaseAll(records, release.key);
      await transactOnce(records, (tx) => {
        tx.check(releases, release);
        tx.remove(releases, release.key);
        tx.announce(DELIVERIES_TOPIC);
      });
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

/**
 * Releases each held delivery once. Each delivery has its own transaction, so that a concurrently
 * deleted delivery does not block the others. A delivery that a worker has rescheduled in the
 * meantime already follows the new schedule, and is left to it.
 *
 * @param id Id of the alert or channel.
 */
async function releaseAll(records: Records, id: string): Promise<void> {
  const queued = await readAll(records, deliveries, queuedDeliveriesGroup(id));
  const isGathered = (each: StoredDelivery): boolean =>
    each.key === gatheringKey(id) || (isWaiting(each) && each.value.channelId === id);
  const held = queued.filter((each) => isHeld(each) && !isGathered(each));
  for (let from = 0; from < held.length; from += RELEASED_TOGETHER) {
    const some = held.slice(from, from + RELEASED_TOGETHER);
    await Promise.all(some.map((each) => transactOnce(records, (tx) => makeDue(tx, each))));
  }
  if (queued.some(isGathered)) await transact(records, (tx) => applyScheduleAnew(tx, id));
}

/**
 * Whether a delivery is held back individually. A delivery in a digest is released together with
 * the digest.
 */
const isHeld = ({ dueAt, value }: StoredDelivery): boolean =>
  value.digestId === undefined && (dueAt === undefined || value.heldUntil !== undefined);

/** Makes a held delivery due now. The worker decides anew whether it must wait. */
function makeDue(tx: Transaction, held: StoredDelivery): void {
  const { heldUntil: _, ...value } = held.value;
  tx.update(deliveries, held, { value, dueInMs: 0 });
}
