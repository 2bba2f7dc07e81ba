import { randomBytes } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { openKeyring } from "../../src/keys/keyring.ts";
import { createKeyringVault } from "../../src/keys/keyring-vault.ts";
import { createCertificate } from "../support/certificate.ts";
import { startPostgres } from "../support/postgres.ts";
import {
  type ReceivedRequest,
  type Receiver,
  type ReceiverOptions,
  startReceiver,
} from "../support/receivers.ts";
import { storeWebhookAlert, type WebhookAlert, webhookAlert } from "../support/webhook-alerts.ts";
import { openStore } from "./open-store.ts";
import type { Measure, Outcome } from "./outcome.ts";
import { startWorker, type Worker } from "./workers.ts";

/** Slightly more than the lease of a delivery, in milliseconds. */
const LEASE_MS = 61_000;

/** Number of receivers that accept everything. */
const HEALTHY = 7;

/**
 * Response time of a healthy receiver, in milliseconds, so that a kill interrupts some deliveries.
 */
const THINKS_MS = 25;

/** Behavior of the three faulty receivers: reactions in turn, or an untrusted certificate. */
const BAD: readonly ReceiverOptions[] = [
  { inTurn: ["black-hole", "drip", "reset"] },
  { inTurn: [500, 302, "endless"] },
  { tls: createCertificate("127.0.0.1") },
];

/** Maximum share of deliveries that may arrive twice after a kill. */
const TWICE = 0.01;

const MEGABYTE = 1024 * 1024;

/** Options of a delivery load. */
export interface DeliveryStorm {
  readonly engine: "embedded" | "postgres";
  readonly events: number;
  /**
   * `all`: each event goes to all ten receivers. `one`: each event goes to one receiver, and the
   * receivers take turns.
   */
  readonly to: "all" | "one";
  readonly perSecond: number;
  /** Number of delivering processes. On the embedded store, the only process also queues. */
  readonly workers: number;
  /**
   * Which delivering processes are killed once a third of the events has arrived. `all`: all of
   * them; a new process then starts with a clock by which their leases have expired. `one`: one of
   * them, and a new process starts; the others continue, and the leases expire in real time.
   */
  readonly kill: "none" | "one" | "all";
  /** Goals on an otherwise idle machine; absent: time and memory are only reported. */
  readonly goals?: {
    /** 99th percentile of the time from queuing to arrival, in milliseconds. */
    readonly p99Ms: number;
    /** Growth of live memory during the load, in megabytes. */
    readonly memoryMb: number;
  };
}

/** Sends events to ten receivers, three of which are faulty. */
export async function deliveryStorm(storm: DeliveryStorm): Promise<Outcome> {
  const place = await placeOf(storm.engine);
  const trap = await startReceiver();
  const inboxes = await startInboxes(wantedBy(storm), trap);
  try {
    const masterKey = randomBytes(32).toString("hex");
    await keepAlerts(inboxes, { store: place.address, masterKey });
    const workers = await blow(storm, { store: place.address, masterKey, inboxes });
    const measures = [
      ...delivered(storm, inboxes),
      { name: "requests that followed a redirect", value: trap.connections, most: 0 },
      ...figures(storm, workers),
    ];
    return { title: titleOf(storm), measures };
  } finally {
    await Promise.all([trap, ...inboxes.map(({ receiver }) => receiver)].map((one) => one.close()));
    await place.leave();
  }
}

interface Place {
  readonly address: string;
  readonly leave: () => Promise<void>;
}

async function placeOf(engine: DeliveryStorm["engine"]): Promise<Place> {
  if (engine === "postgres") {
    const cluster = await startPostgres({ durable: true });
    return { address: await cluster.createDatabase(), leave: cluster.stop };
  }
  const address = await mkdtemp(join(tmpdir(), "deliveries-"));
  return { address, leave: () => rm(address, { recursive: true }) };
}

/** A receiver, its alert, and the deliveries that arrived. */
interface Inbox {
  readonly receiver: Receiver;
  readonly isHealthy: boolean;
  readonly hook: { alert: WebhookAlert | undefined };
  /** Number of arrivals of each event. */
  readonly times: Map<string, number>;
  /** Times from queuing to arrival, in milliseconds. */
  readonly tookMs: number[];
  /** Emits `third` after a third of the events, and `all` after all of them. */
  readonly events: EventEmitter;
}

/** Number of events that each receiver must get. */
const wantedBy = ({ events, to }: DeliveryStorm): number =>
  to === "all" ? events : Math.floor(events / (HEALTHY + BAD.length));

async function startInboxes(events: number, trap: Receiver): Promise<readonly Inbox[]> {
  const healthy = Array.from({ length: HEALTHY }, () =>
    startInbox(events, { thinksMs: THINKS_MS }, true),
  );
  const answers = { location: trap.url };
  const bad = BAD.map((options) => startInbox(events, { ...options, answers }, false));
  return Promise.all([...healthy, ...bad]);
}

async function startInbox(
  wanted: number,
  options: ReceiverOptions,
  isHealthy: boolean,
): Promise<Inbox> {
  const inbox = {
    ...{ isHealthy, hook: { alert: undefined as WebhookAlert | undefined } },
    ...{ times: new Map<string, number>(), tookMs: [] as number[], events: new EventEmitter() },
  };
  const onReceived = ({ id, at, body }: ReceivedRequest): void => {
    inbox.times.set(id, (inbox.times.get(id) ?? 0) + 1);
    const { timestamp } = JSON.parse(body) as { timestamp: string };
    inbox.tookMs.push(at - Date.parse(timestamp));
    const { size } = inbox.times;
    if (size === Math.floor(wanted / 3)) inbox.events.emit("third");
    if (size === wanted) inbox.events.emit("all");
  };
  const verify = ({ body, headers }: ReceivedRequest) =>
    new Webhook(inbox.hook.alert?.secret ?? "").verify(body, headers as Record<string, string>);
  const receiver = await startReceiver({ ...options, onReceived, verify });
  return { ...inbox, receiver };
}

interface Kept {
  readonly store: string;
  readonly masterKey: string;
}

/** Stores one alert per receiver, each with a different owner. */
async function keepAlerts(inboxes: readonly Inbox[], { store: address, masterKey }: Kept) {
  const store = await openStore(address);
  const { records } = store;
  const key = Buffer.from(masterKey, "hex");
  const vault = createKeyringVault(await openKeyring({ records, masterKey: key, now: Date.now }));
  for (const [at, { hook, receiver }] of inboxes.entries()) {
    const owner = { kind: "agent", id: `agent-${at}`, accountId: undefined } as const;
    hook.alert = webhookAlert({ url: receiver.url, owner, vault });
    await records.commit([storeWebhookAlert(hook.alert)]);
  }
  await store.close();
}

/**
 * Runs the load until every healthy receiver has got every event. @returns The delivering
 * processes.
 */
async function blow(
  storm: DeliveryStorm,
  { inboxes, ...kept }: Kept & { readonly inboxes: readonly Inbox[] },
): Promise<readonly Worker[]> {
  const { engine, events, to, perSecond, workers: count, kill } = storm;
  const alertIds = inboxes.flatMap(({ hook }) => hook.alert?.key ?? []);
  const healthy = inboxes.filter(({ isHealthy }) => isHealthy);
  const watches = healthy.flatMap(({ hook }) => hook.alert?.key ?? []);
  const queues = { events, to, perSecond, alertIds };
  const common = { ...kept, watches };
  const isAlone = engine === "embedded";
  const started: Worker[] = [];
  const work = async (aheadMs: number): Promise<void> => {
    const also = isAlone ? { queues } : {};
    started.push(await startWorker({ ...common, aheadMs, delivers: true, ...also }));
  };
  const all = Promise.all(healthy.map((inbox) => once(inbox.events, "all")));
  const third = Promise.all(healthy.map((inbox) => once(inbox.events, "third")));
  try {
    await Promise.all(Array.from({ length: count }, () => work(0)));
    if (!isAlone)
      started.push(await startWorker({ ...common, aheadMs: 0, delivers: false, queues }));
    if (kill !== "none") {
      await third;
      const killed = started.slice(0, kill === "all" ? count : 1);
      await Promise.all(killed.map((worker) => worker.kill()));
      await work(kill === "all" ? LEASE_MS : 0);
    }
    await all;
    // Deliveries that a kill interrupted arrive again when their lease has expired.
    await Promise.race(started.map((worker) => worker.cleared()));
    return started.filter(({ delivers }) => delivers);
  } finally {
    await Promise.all(started.map((worker) => worker.stop()));
  }
}

function delivered(storm: DeliveryStorm, inboxes: readonly Inbox[]): Measure[] {
  const { events, goals } = storm;
  const healthy = inboxes.filter(({ isHealthy }) => isHealthy);
  const came = healthy.flatMap(({ times }) => [...times.values()]);
  const requests = came.reduce((sum, times) => sum + times, 0);
  const took = healthy.flatMap(({ tookMs }) => tookMs).sort((a, b) => a - b);
  const at = (share: number) => took[Math.floor(took.length * share)] ?? 0;
  const wanted = wantedBy(storm) * HEALTHY;
  const bad = inboxes.filter(({ isHealthy }) => !isHealthy);
  return [
    { name: "events", value: events },
    { name: "deliveries to healthy receivers", value: came.length, least: wanted, most: wanted },
    {
      name: "deliveries that arrived more than once",
      value: requests - came.length,
      most: mostTwice(storm, wanted),
    },
    { name: "deliveries with an invalid signature", value: forgedIn(inboxes), most: 0 },
    {
      name: "requests to faulty receivers",
      value: bad.reduce((sum, each) => sum + seenBy(each), 0),
    },
    { name: "queued to received, p50", unit: "ms", value: at(0.5) },
    {
      name: "queued to received, p99",
      unit: "ms",
      value: at(0.99),
      ...(goals && { most: goals.p99Ms }),
    },
    { name: "queued to received, longest", unit: "ms", value: took.at(-1) ?? 0 },
  ];
}

/**
 * Maximum number of duplicates: a killed process has at most five deliveries in progress per
 * receiver.
 */
function mostTwice({ kill, workers }: DeliveryStorm, wanted: number): number {
  const killed = { none: 0, one: 1, all: workers }[kill];
  return killed && Math.max(wanted * TWICE, killed * HEALTHY * 5);
}

const forgedIn = (inboxes: readonly Inbox[]): number =>
  inboxes.reduce((sum, { receiver }) => sum + receiver.forged.length, 0);

const seenBy = ({ times }: Inbox): number => [...times.values()].reduce((sum, one) => sum + one, 0);

function figures({ goals }: DeliveryStorm, workers: readonly Worker[]): Measure[] {
  return workers.flatMap(({ figures: seen }, at) => [
    { name: `worker ${at + 1}: finished attempts`, value: seen().sent, least: 1 },
    {
      ...{ name: `worker ${at + 1}: growth of live memory`, unit: "MB" },
      value: (seen().mostBytes - seen().firstBytes) / MEGABYTE,
      ...(goals && { most: goals.memoryMb }),
    },
    { name: `worker ${at + 1}: peak resident memory`, unit: "MB", value: seen().rss / MEGABYTE },
  ]);
}

function titleOf({ engine, events, to, perSecond, workers, kill }: DeliveryStorm): string {
  const killed = { none: "", one: ", one killed by kill -9", all: ", all killed by kill -9" }[kill];
  const who = `${workers} ${workers === 1 ? "process" : "processes"}`;
  return `${events} events, each to ${to === "all" ? "all" : "one"} of 10 receivers, ${perSecond} a second, ${engine}, ${who}${killed}`;
}
