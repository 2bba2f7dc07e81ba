import { setTimeout as delay } from "node:timers/promises";
import { createAuditor } from "../../src/access/auditor.ts";
import { allScopes } from "../../src/access/scopes.ts";
import { alerts, type StoredAlert } from "../../src/alerts/alert.ts";
import {
  ATTEMPT_ARCHIVE_KIND,
  deliveries,
  EVENT_RETENTION_MS,
  enqueueDelivery,
  queuedDeliveriesGroup,
} from "../../src/alerts/delivery/delivery.ts";
import { createWebhookSender, type WebhookSender } from "../../src/alerts/delivery/sender.ts";
import { DeliveryWorker } from "../../src/alerts/delivery/worker.ts";
import { openKeyring } from "../../src/keys/keyring.ts";
import { createKeyringVault } from "../../src/keys/keyring-vault.ts";
import { scheduleTimer } from "../../src/lib/loop.ts";
import type { LimitOverrides } from "../../src/limits/classes.ts";
import { createLimits } from "../../src/limits/limits.ts";
import { startMaintenance } from "../../src/maintenance/maintenance.ts";
import { createSteadyClock } from "../../src/process/steady-clock.ts";
import { put } from "../../src/store/port/operations.ts";
import { collection, type Records } from "../../src/store/port/records.ts";
import type { Store } from "../../src/store/port/store.ts";
import { openPostgres } from "../../src/store/postgres/open.ts";
import { openEmbedded } from "../../src/store/sqlite/open.ts";
import { outletsOn, shiftBody } from "../support/channels.ts";
import { stepsOf } from "../support/steps-of.ts";

// A process that queues events, delivers them, or both, with the code of the service, until it is
// stopped or killed.

/** Options of the deliverer process, as JSON in its first argument. */
export interface DelivererOptions {
  /** Folder of the store, or URL of its database. */
  readonly store: string;
  /** Master key: 32 bytes as hexadecimal digits. */
  readonly masterKey: string;
  /** Offset of the clock in milliseconds, which makes leases of killed processes expire. */
  readonly aheadMs: number;
  readonly delivers: boolean;
  /** What to queue; absent: nothing. */
  readonly queues?: Queuing;
  /** Ids of the alerts whose remaining deliveries are reported. */
  readonly watches: readonly string[];
  /** Base URL of the Telegram Bot API. */
  readonly telegramUrl?: string;
  /** Timeout of a delivery request in milliseconds; absent: that of the service. */
  readonly totalMs?: number;
  /** Messages per channel and hour; absent: the limit of the service. */
  readonly messagesPerHour?: number;
}

/** The deliveries to queue. */
export interface Queuing {
  readonly events: number;
  /**
   * `all`: each event goes to every alert. `one`: each event goes to one alert, and the alerts take
   * turns.
   */
  readonly to: "all" | "one";
  readonly perSecond: number;
  /** Ids of the alerts. */
  readonly alertIds: readonly string[];
}

/** A report of the deliverer process. */
export type DelivererReport =
  | { readonly is: "ready" }
  /** Number of finished attempts. */
  | { readonly is: "sent"; readonly sent: number }
  /** Number of watched alerts that still have queued deliveries. */
  | { readonly is: "left"; readonly left: number }
  /** Memory in bytes: live heap with external memory, and resident memory. */
  | { readonly is: "memory"; readonly live: number; readonly rss: number };

/** Padding that gives an event its usual length, in characters. */
const PADDING = "x".repeat(1_200);

/**
 * Intervals of the reports, in milliseconds. Memory is reported rarely, because each report runs a
 * full garbage collection.
 */
const REPORT_EVERY_MS = { sent: 50, left: 250, memory: 2_000 };

/** Pause of the queuing loop when nothing is due to be queued, in milliseconds. */
const TICK_MS = 5;

/** Number of queued events, stored in the same commit as the events. */
const progress = collection<number>("storm-progress");
const PROGRESS_KEY = "events";

const say = (report: DelivererReport) => void process.send?.(report);

function openStore({ store, aheadMs }: DelivererOptions): Promise<Store> {
  const monotonic = () => performance.now();
  const steady = createSteadyClock({ wall: () => Date.now() + aheadMs, monotonic });
  if (!store.startsWith("postgres")) {
    return openEmbedded({ folder: store, mode: "sandbox", now: steady });
  }
  return openPostgres({ url: store, mode: "sandbox", ...(aheadMs > 0 && { now: steady }) });
}

/** Starts the process's work. @returns A function that stops it. */
async function start(options: DelivererOptions): Promise<() => Promise<void>> {
  const store = await openStore(options);
  const { records } = store;
  const masterKey = Buffer.from(options.masterKey, "hex");
  const keyring = await openKeyring({ records, masterKey, now: Date.now });
  const onError = (error: unknown) => void process.stderr.write(`${error}\n`);
  const retentionMs = { [ATTEMPT_ARCHIVE_KIND]: EVENT_RETENTION_MS };
  const maintenance = startMaintenance({ store, keyring, retentionMs, now: Date.now, onError });
  const sender = counting(
    createWebhookSender({
      ...{ schemes: ["https:", "http:"], isAllowed: () => true },
      now: Date.now,
      ...(options.totalMs !== undefined && { totalMs: options.totalMs }),
    }),
  );
  const now = () => new Date(Date.now() + options.aheadMs);
  const worker = new DeliveryWorker({
    ...{ records, sender, vault: createKeyringVault(keyring), now, random: Math.random },
    keys: () => keyring.keys("webhook-signing").map(({ jwk }) => jwk),
    scopesOf: async () => new Set(allScopes),
    limits: createLimits({ overrides: overridesOf(options) }),
    channels: outletsOn(createKeyringVault(keyring), now, options.telegramUrl),
    ...{ monotonic: () => performance.now(), schedule: scheduleTimer, onError },
    audit: createAuditor({ hashAddress: keyring.hashAddress, now }),
  });
  if (options.delivers) worker.start();
  const timers = [
    setInterval(() => say({ is: "sent", sent: sender.sent() }), REPORT_EVERY_MS.sent),
    setInterval(() => void reportLeft(records, options).catch(onError), REPORT_EVERY_MS.left),
    setInterval(reportMemory, REPORT_EVERY_MS.memory),
  ];
  if (options.queues) queue(records, options.queues).catch(onError);
  return async () => {
    for (const timer of timers) clearInterval(timer);
    reportMemory();
    const stopped = options.delivers ? worker.stop() : undefined;
    await sender.close();
    await stopped;
    await maintenance.stop();
    await store.close();
  };
}

const overridesOf = ({ messagesPerHour }: DelivererOptions): LimitOverrides =>
  messagesPerHour === undefined
    ? {}
    : { messages: { caller: messagesPerHour, network: 1e6, total: 1e7 } };

function counting(sender: WebhookSender) {
  let sent = 0;
  return {
    sent: () => sent,
    close: sender.close,
    async send(outgoing: Parameters<WebhookSender["send"]>[0]) {
      try {
        return await sender.send(outgoing);
      } finally {
        sent += 1;
      }
    },
  };
}

async function reportLeft(
  records: Records,
  { watches }: Pick<DelivererOptions, "watches">,
): Promise<void> {
  const some = await Promise.all(
    watches.map((id) => records.list(deliveries, { group: queuedDeliveriesGroup(id), limit: 1 })),
  );
  say({ is: "left", left: some.flat().length });
}

function reportMemory(): void {
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  say({ is: "memory", live: heapUsed + external, rss });
}

/** Queues events at a steady rate; continues where an earlier process stopped. */
async function queue(records: Records, queuing: Queuing): Promise<void> {
  const { events, perSecond, alertIds, to } = queuing;
  const found = await Promise.all(alertIds.map((id) => records.get(alerts, id)));
  const watching = found.filter((alert) => alert !== undefined);
  const takers = (event: number) =>
    to === "all" ? watching : watching.slice(event % watching.length).slice(0, 1);
  let next = (await records.get(progress, PROGRESS_KEY))?.value ?? 0;
  const [first, startedAt] = [next, performance.now()];
  while (next < events) {
    const due = first + ((performance.now() - startedAt) / 1_000) * perSecond;
    if (next > due) {
      await delay(TICK_MS);
      continue;
    }
    await records.commit([
      ...takers(next).flatMap((alert) => eventFor(alert, next)),
      put(progress, { key: PROGRESS_KEY, value: next + 1 }),
    ]);
    next += 1;
  }
}

function eventFor(alert: StoredAlert, number: number) {
  const [type, at] = ["signal.shift", Date.now()];
  const eventId = `msg_${number}_${alert.key}`;
  if (alert.value.way.by === "channel") {
    return stepsOf(enqueueDelivery, alert, { eventId, type, body: shiftBody(`E${number}`) });
  }
  const data = { alertId: alert.key, number, padding: PADDING };
  const body = JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
  return stepsOf(enqueueDelivery, alert, { eventId, type, body });
}

if (import.meta.main) {
  const stop = await start(JSON.parse(process.argv[2] ?? "") as DelivererOptions);
  const end = () => void stop().then(() => process.exit(0));
  process.once("SIGTERM", end);
  process.once("disconnect", () => process.exit(1));
  reportMemory();
  say({ is: "ready" });
}
