import { setTimeout as delay } from "node:timers/promises";
import { type Loop, type ScheduleTimer, startLoop } from "../../lib/loop.ts";
import { transactOnce } from "../../store/transact.ts";
import { findQuotaGroup } from "../alert.ts";
import { attemptDelivery, type DeliveryAttemptOptions } from "./attempt.ts";
import { MAX_CONCURRENT_ATTEMPTS } from "./circuit-breaker.ts";
import {
  DELIVERIES_TOPIC,
  deliveries,
  findEndpointGroup,
  type StoredDelivery,
} from "./delivery.ts";
import { EndpointQueues } from "./endpoint-queues.ts";
import { startReleaseLoop } from "./held-deliveries.ts";
import { rescheduleDelivery } from "./repeat-limit.ts";

/**
 * Pause between two polls for due deliveries, in milliseconds. Polling is needed because retries
 * become due without an announcement, and announcements can be lost. The value is a tenth of the
 * shortest pause between two attempts.
 */
const POLL_EVERY_MS = 500;

/**
 * Maximum number of attempts that are running or waiting in one process: `maxTotal` for all owners
 * together, and `maxPerOwner` for one owner while no other owner has work.
 */
const CAPACITY = { maxTotal: 200, maxPerOwner: 40 } as const;

/**
 * Milliseconds after which another process may claim a delivery. The lease outlasts two attempts:
 * the delivery's own attempt, and one for which it may have to wait.
 */
const LEASE_MS = 60_000;

/** How long `stop` waits for running attempts, in milliseconds. */
const STOP_MS = 2_000;

/** Dependencies of the delivery worker. */
export interface DeliveryWorkerOptions extends DeliveryAttemptOptions {
  /** The monotonic clock in milliseconds, such as `performance.now`. */
  readonly monotonic: () => number;
  readonly schedule: ScheduleTimer;
  /**
   * Called when an attempt could not be made or recorded. The delivery is attempted again. Not
   * called when a webhook rejects a delivery or is unreachable.
   */
  readonly onError: (error: unknown) => void;
}

/**
 * Sends due deliveries to webhooks and channels. Every process may run a worker; each delivery is
 * leased to one worker at a time. Delivery is at least once: if the process or the store fails
 * after the endpoint has responded and before the attempt is recorded, the delivery is sent again
 * with the same id.
 */
export class DeliveryWorker {
  readonly #options: DeliveryWorkerOptions;
  readonly #queues: EndpointQueues<StoredDelivery>;
  /** Aborted when the outcome of running attempts must no longer be recorded. */
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

  /**
   * Stops the worker; nothing is sent afterwards. Deliveries that were claimed but not sent are
   * immediately due for another process.
   */
  async stop(): Promise<void> {
    this.#stopListening();
    await Promise.all([this.#loop?.stop(), this.#releases?.stop()]);
    const { waiting, ended } = this.#queues.stop();
    await this.#giveBack(waiting).catch(this.#options.onError);
    await Promise.race([ended, delay(STOP_MS, undefined, { ref: false })]);
    this.#stopped.abort();
  }

  /** Claims due deliveries. @returns How many were claimed; 0 when there are no more. */
  async #claim(): Promise<number> {
    // Claims at most as many deliveries as one endpoint may receive concurrently, because all of
    // them may belong to one endpoint, and at most one owner's share, because all of them may
    // belong to one owner. Further deliveries would wait here under a lease while another process
    // could send them.
    const { capacity, share } = this.#queues;
    const limit = Math.min(MAX_CONCURRENT_ATTEMPTS, capacity, share);
    if (limit <= 0) return 0;
    const due = await this.#options.records.claimDue(deliveries, {
      limit,
      leaseMs: LEASE_MS,
      except: this.#queues.saturated(),
    });
    for (const delivery of due) {
      this.#queues.add(
        delivery,
        findEndpointGroup(delivery.groups),
        findQuotaGroup(delivery.groups),
      );
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
      claimed.map((delivery) => transactOnce(records, rescheduleDelivery(delivery, 0))),
    );
  }
}
