import { EventEmitter, once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { createAuditor } from "../../src/access/auditor.ts";
import { allScopes } from "../../src/access/scopes.ts";
import { DELIVERIES_TOPIC, deliveries } from "../../src/alerts/delivery/delivery.ts";
import type { WebhookSender } from "../../src/alerts/delivery/sender.ts";
import { DeliveryWorker, type DeliveryWorkerOptions } from "../../src/alerts/delivery/worker.ts";
import { scheduleTimer } from "../../src/lib/loop.ts";
import { createLimits } from "../../src/limits/limits.ts";
import { announce } from "../../src/store/port/operations.ts";
import type { Records } from "../../src/store/port/records.ts";
import { outletsOn } from "./channels.ts";
import { type Receiver, type ReceiverOptions, startReceiver } from "./receivers.ts";
import { loopbackSender, vault } from "./webhook-alerts.ts";

/** Starts a receiver; it stops after the test. */
export async function receiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const started = await startReceiver(options);
  onTestFinished(started.close);
  return started;
}

/** A running delivery worker. */
export interface RunningWorker {
  /** Errors that the worker reported. */
  readonly errors: unknown[];
  readonly stop: () => Promise<void>;
  /** Resolves when no store or send operation is pending. */
  quiet(): Promise<void>;
  /**
   * Makes the worker check for due deliveries; resolves when all due deliveries have been handled.
   */
  look(): Promise<void>;
}

/** The parts of a store that the worker uses. */
interface WorkerStore {
  readonly records: Records;
  readonly clock: { readonly now: number };
}

/** Starts a delivery worker on the clock of the store; it stops after the test. */
export function startWorker(
  { records, clock }: WorkerStore,
  options: Partial<DeliveryWorkerOptions> = {},
): RunningWorker {
  const errors: unknown[] = [];
  const now = () => new Date(clock.now);
  const sender = loopbackSender({ now: () => clock.now });
  const watch = watching(records, options.sender ?? sender);
  const worker = new DeliveryWorker({
    ...{ vault, now, monotonic: () => clock.now, schedule: scheduleTimer },
    ...{
      keys: () => [],
      scopesOf: async () => new Set(allScopes),
      limits: createLimits({ now: () => clock.now }),
    },
    channels: outletsOn(vault, now),
    ...{ random: () => 0.5, onError: (error) => void errors.push(error) },
    audit: createAuditor({ hashAddress: () => "", now }),
    ...options,
    ...{ records: watch.records, sender: watch.sender },
  });
  worker.start();
  onTestFinished(async () => {
    const stopped = worker.stop();
    await sender.close();
    await stopped;
  });
  return { errors, stop: () => worker.stop(), quiet: watch.quiet, look: watch.look };
}

/** Wraps records and a sender so that their pending operations are counted. */
function watching(records: Records, sender: Pick<WebhookSender, "send">) {
  const events = new EventEmitter().setMaxListeners(0);
  let pending = 0;
  /**
   * Number of calls so far, and sequence number of the last call that found, sent or changed
   * something.
   */
  let [calls, busy] = [0, 0];
  /**
   * Sequence number of the last `claimDue` call that returned fewer deliveries than it could take.
   */
  let last = 0;
  const watched = async <T>(call: (at: number) => Promise<T>): Promise<T> => {
    pending += 1;
    calls += 1;
    try {
      return await call(calls);
    } finally {
      // The worker continues after a call before the call stops being pending.
      setImmediate().then(() => {
        pending -= 1;
        events.emit("done");
      });
    }
  };
  const watchedRecords: Records = {
    ...records,
    get: (from, key) => watched(() => records.get(from, key)),
    list: (from, selection) => watched(() => records.list(from, selection)),
    commit: (operations) =>
      watched((at) => {
        // A commit may make deliveries due; other connections to the store are notified only later.
        busy = at;
        return records.commit(operations);
      }),
    claimDue: (from, selection) =>
      watched(async (at) => {
        // Due deliveries may be left out because of calls that have not ended yet.
        if (selection.except?.length && pending > 1) busy = at;
        const due = await records.claimDue(from, selection);
        if (due.length > 0) busy = calls;
        if (due.length < selection.limit && from.name === deliveries.name) last = at;
        return due;
      }),
  };
  return {
    records: watchedRecords,
    sender: {
      send: (outgoing: Parameters<WebhookSender["send"]>[0]) =>
        watched((at) => {
          busy = at;
          return sender.send(outgoing);
        }),
    },
    async quiet(): Promise<void> {
      do await setImmediate();
      while (pending > 0);
    },
    async look(): Promise<void> {
      for (let seen = -1; seen !== busy; ) {
        seen = busy;
        const start = calls;
        await records.commit([announce(DELIVERIES_TOPIC)]);
        while (last <= start || pending > 0) await once(events, "done");
      }
    },
  };
}

/** Returns all queued deliveries. */
export const queuedIn = ({ records }: Pick<WorkerStore, "records">) =>
  records.list(deliveries, { limit: 1_000 });

/** Resolves when all requested releases of held deliveries have ended. */
export async function releasesEnd({ records }: Pick<WorkerStore, "records">): Promise<void> {
  while ((await records.list({ name: "alert-releases" }, { limit: 1 })).length > 0) {
    await setImmediate();
  }
}
