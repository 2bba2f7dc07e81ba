import { setTimeout as delay } from "node:timers/promises";
import { type Loop, type Schedule, startLoop } from "../../lib/loop.ts";
import { replace } from "../../store/port/operations.ts";
import type { Records } from "../../store/port/records.ts";
import { quotaGroupIn } from "../alert.ts";
import { type AttemptOptions, attemptDelivery } from "./attempt.ts";
import { MAX_CONCURRENT_ATTEMPTS } from "./circuit-breaker.ts";
import { DELIVERIES_TOPIC, deliveries, endpointGroupIn, type StoredDelivery } from "./delivery.ts";
import { createEndpointQueues } from "./endpoint-queues.ts";
import { startReleasing } from "./held-deliveries.ts";

/** What falls due later is announced by nobody, and announcements may be lost: so often is looked
 *  anyway, in milliseconds. A tenth of the shortest pause between two attempts. */
const LOOK_EVERY_MS = 500;

/** Attempts of one process that are under way or wait their turn, and those of one owner, whose
 *  webhooks may all be slow. */
const PLACES = { most: 200, mostOfOne: 40 } as const;

/** Another process takes a delivery after this many milliseconds: longer than two attempts last,
 *  the one that it waits for and its own. */
const LEASE_MS = 60_000;

/** Attempts under way may take this many milliseconds to end when the process stops. */
const STOP_MS = 2_000;

/** What the courier works with. */
export interface DeliveryWorkerOptions extends Omit<AttemptOptions, "signal"> {
  readonly records: Records;
  /** Milliseconds by a clock that is never set, such as `performance.now`. */
  readonly monotonic: () => number;
  readonly schedule: Schedule;
  /** Told when a delivery could not be carried or its outcome not be kept, which another attempt
   *  makes good. Not told of webhooks that fail. */
  readonly onError: (error: unknown) => void;
}

/** Whoever brings deliveries to their webhooks. */
export interface DeliveryWorker {
  start(): void;
  /** Nothing is sent after this, and what was not sent is at once due for another process. */
  stop(): Promise<void>;
}

/**
 * Brings what is due to its webhooks, in every process that has a courier; each delivery by one
 * process at a time. One may come twice, under the same id: when a process ends, or the store is
 * gone, between the answer of the webhook and the note of it.
 */
export function createDeliveryWorker(options: DeliveryWorkerOptions): DeliveryWorker {
  const { records, monotonic, schedule, onError } = options;
  const over = new AbortController();
  let loop: Loop | undefined;
  let releases: Pick<Loop, "stop"> | undefined;
  let stopListening = () => {};

  const lanes = createEndpointQueues<StoredDelivery>({
    endpointOf: ({ groups }) => endpointGroupIn(groups),
    ownerOf: ({ groups }) => quotaGroupIn(groups),
    run: (delivery) =>
      attemptDelivery(delivery, { ...options, signal: over.signal }).catch((error) => {
        onError(error);
        return "none";
      }),
    onCapacity: () => loop?.wake(),
    ...PLACES,
    monotonic,
  });
  const tick = async (): Promise<number> => {
    // No more than one endpoint has room for: what is left over waits here while others could send
    // it, and a few can wait without the end of their lease in sight.
    const limit = Math.min(MAX_CONCURRENT_ATTEMPTS, lanes.capacity);
    if (limit <= 0) return 0;
    const selection = { limit, leaseMs: LEASE_MS, except: lanes.saturated() };
    const due = await records.claimDue(deliveries, selection);
    due.forEach(lanes.add);
    // Fewer than asked for: there are no more.
    return due.length < limit ? 0 : due.length;
  };
  const giveBack = async (taken: readonly StoredDelivery[]): Promise<void> => {
    await Promise.all(
      taken.map((delivery) =>
        records.commit([replace(deliveries, delivery, { value: delivery.value, dueInMs: 0 })]),
      ),
    );
  };
  return {
    start() {
      loop = startLoop({ tick, everyMs: LOOK_EVERY_MS, onError, schedule });
      releases = startReleasing({ records, schedule, onError });
      stopListening = records.onAnnounce(DELIVERIES_TOPIC, loop.wake);
    },
    async stop() {
      stopListening();
      await Promise.all([loop?.stop(), releases?.stop()]);
      const { waiting, ended } = lanes.stop();
      await giveBack(waiting).catch(onError);
      await Promise.race([ended, delay(STOP_MS, undefined, { ref: false })]);
      over.abort();
    },
  };
}
