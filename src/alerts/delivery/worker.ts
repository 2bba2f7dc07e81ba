import { setTimeout as delay } from "node:timers/promises";
import { type Loop, type Schedule, startLoop } from "../../lib/loop.ts";
import { replace } from "../../store/port/operations.ts";
import { quotaGroupIn } from "../alert.ts";
import { type AttemptOptions, attemptDelivery } from "./attempt.ts";
import { MAX_CONCURRENT_ATTEMPTS } from "./circuit-breaker.ts";
import { DELIVERIES_TOPIC, deliveries, endpointGroupIn, type StoredDelivery } from "./delivery.ts";
import { EndpointQueues } from "./endpoint-queues.ts";
import { startReleaseLoop } from "./held-deliveries.ts";

/** Pause between two polls for due deliveries, in milliseconds: retries fall due without an
 *  announcement, and announcements may be lost. A tenth of the shortest pause between two attempts. */
const POLL_EVERY_MS = 500;

/** Attempts of one process that are running or waiting: of all owners, and of one owner that is alone,
 *  whose webhooks may all be slow. */
const CAPACITY = { maxTotal: 200, maxPerOwner: 40 } as const;

/** Another process may claim a delivery after this many milliseconds: longer than two attempts, the
 *  one that it waits for and its own. */
const LEASE_MS = 60_000;

/** How long a stop waits for running attempts, in milliseconds. */
const STOP_MS = 2_000;

/** Dependencies of the delivery worker. */
export interface DeliveryWorkerOptions extends AttemptOptions {
  /** Milliseconds of a monotonic clock, such as `performance.now`. */
  readonly monotonic: () => number;
  readonly schedule: Schedule;
  /** Called when an attempt could not be made or recorded; the delivery is attempted again. Not called
   *  for webhooks that fail. */
  readonly onError: (error: unknown) => void;
}

/**
 * Sends due deliveries to their webhooks. Every process may run a worker; a delivery is leased to one
 * of them at a time. Delivery is at least once: if the process or the store fails between the answer
 * of the webhook and the record of the attempt, the delivery is sent again under the same id.
 */
export class DeliveryWorker {
  readonly #options: DeliveryWorkerOptions;
  readonly #queues: EndpointQueues<StoredDelivery>;
  /** Aborted when the outcome of running attempts must not be recorded any more. */
  readonly #stopped = new AbortController();
  #loop: Loop | undefined;
  #releases: { stop(): Promise<void> } | undefined;
  #stopListening = () => {};

  constructor(options: DeliveryWorkerOptions) {
    this.#options = options;
    this.#queues = new EndpointQueues({
      attempt: (delivery) => this.#attempt(delivery),
      onCapacity: () => this.#loop?.wake(),
      maxTotal: CAPACITY.maxTotal,
      maxPerOwner: CAPACITY.maxPerOwner,
      monotonic: options.monotonic,
    });
  }

  start(): void {
    const { records, schedule, onError } = this.#options;
    const loop = startLoop({
      tick: () => this.#claim(),
      everyMs: POLL_EVERY_MS,
      onError,
      schedule,
    });
    this.#loop = loop;
    this.#releases = startReleaseLoop({ records, schedule, onError });
    this.#stopListening = records.onAnnounce(DELIVERIES_TOPIC, loop.wake);
  }

  /** Sends nothing after this. Deliveries that were not sent are due at once for another process. */
  async stop(): Promise<void> {
    this.#stopListening();
    await Promise.all([this.#loop?.stop(), this.#releases?.stop()]);
    const { waiting, ended } = this.#queues.stop();
    await this.#giveBack(waiting).catch(this.#options.onError);
    await Promise.race([ended, delay(STOP_MS, undefined, { ref: false })]);
    this.#stopped.abort();
  }

  /** Claims some due deliveries. @returns How many, or 0 when there are no more. */
  async #claim(): Promise<number> {
    // At most as many as one endpoint may have running: more would wait here under a lease while
    // another process could send them. All of them may be of one owner.
    const { capacity, share } = this.#queues;
    const limit = Math.min(MAX_CONCURRENT_ATTEMPTS, capacity, share);
    if (limit <= 0) return 0;
    const due = await this.#options.records.claimDue(deliveries, {
      limit,
      leaseMs: LEASE_MS,
      except: this.#queues.saturated(),
    });
    for (const delivery of due) {
      this.#queues.add(delivery, endpointGroupIn(delivery.groups), quotaGroupIn(delivery.groups));
    }
    if (due.length === limit) return due.length;
    return this.#queues.nextRound() ? 1 : 0;
  }

  async #attempt(delivery: StoredDelivery) {
    try {
      return await attemptDelivery(delivery, this.#options, this.#stopped.signal);
    } catch (error) {
      this.#options.onError(error);
      return "none";
    }
  }

  async #giveBack(claimed: readonly StoredDelivery[]): Promise<void> {
    const { records } = this.#options;
    await Promise.all(
      claimed.map((delivery) =>
        records.commit([replace(deliveries, delivery, { value: delivery.value, dueInMs: 0 })]),
      ),
    );
  }
}
