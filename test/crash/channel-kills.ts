import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { CHAT_KINDS, type ChatKind } from "../../src/alerts/channels/services/chat-services.ts";
import {
  CHANNEL_KINDS,
  type ChannelKind,
  type ChannelTarget,
} from "../../src/alerts/channels/targets.ts";
import { openKeyring } from "../../src/keys/keyring.ts";
import { createKeyringVault } from "../../src/keys/keyring-vault.ts";
import { decryptEmail, queuedMails } from "../../src/mail/outbox.ts";
import { channelAlert } from "../support/channels.ts";
import {
  type ChatBehavior,
  type ChatServer,
  SUPERGROUP,
  startChat,
} from "../support/chat-server.ts";
import { postgresAvailable, startPostgres } from "../support/postgres.ts";
import { startReceiver } from "../support/receivers.ts";
import { openStore } from "./open-store.ts";
import { type Measure, type Outcome, skip } from "./outcome.ts";
import { startWorker, type Worker } from "./workers.ts";

const HOUR_MS = 3_600_000;

/**
 * Step of the clock between two kills, in hours: half a day, so that leases and retries are due,
 * and a digest falls into every second run.
 */
const LIFE_HOURS = 12.5;

/** Number of kills in a cycle: fewer than the ten attempts of a delivery. */
const KILLS = 6;

/** Number of events for every channel in each run of a process. */
const EVENTS = 20;

const EVENTS_PER_SECOND = 40;

/** Shortest and longest time from the start of a process to its kill, in milliseconds. */
const LIVES_MS = { least: 300, most: 1_500 };

/** Timeout for the delivery of everything that is queued, in milliseconds. */
const PATIENCE_MS = 120_000;

/**
 * Timeout of a delivery request, in milliseconds: a server that never answers occupies a slot for
 * that long.
 */
const TOTAL_MS = 500;

/**
 * Messages per channel and hour. `few` applies while processes are killed and is less than the
 * number of events, so that the service gathers some of them into one message; `all` lets every
 * event through.
 */
const MESSAGES = { few: 12, all: 10_000 };

/** Successive reactions of each chat server while processes are killed. */
const FAULTS: readonly ChatBehavior[] = [
  ...["takes", 500, "takes", "black-hole", "takes", "reset", "takes", "drip"],
  ...["takes", "redirect", "takes", "endless", "takes", "limited"],
] as readonly ChatBehavior[];

/** What one channel received. */
interface Inbox {
  readonly kind: ChannelKind;
  readonly isDigest: boolean;
  readonly alertId: string;
  /** The messages in order of arrival. */
  readonly texts: string[];
  /** Keys of the emails that are already in `texts`. */
  readonly read: Set<string>;
}

const TITLE = "kill -9 of processes that send to channels";

/**
 * Kills processes while they send to channels of every kind, both immediately and as a daily
 * digest, and while the channels' servers misbehave.
 *
 * @param cycles Number of cycles. Each has six kills, after which every event must arrive.
 */
export async function channelKills(cycles: number): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), "channels-"));
  try {
    return { title: TITLE, measures: await killed(folder, cycles) };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Runs `channelKills` on PostgreSQL. */
export async function channelKillsOnPostgres(cycles: number): Promise<Outcome> {
  const title = `PostgreSQL: ${TITLE}`;
  if (!postgresAvailable) return skip(title, "there is no PostgreSQL for this platform");
  const server = await startPostgres();
  try {
    return { title, measures: await killed(await server.createDatabase(), cycles) };
  } finally {
    await server.stop();
  }
}

/** @param address Folder of the store, or URL of its database. */
async function killed(address: string, cycles: number): Promise<readonly Measure[]> {
  const trap = await startReceiver();
  const masterKey = randomBytes(32).toString("hex");
  const chats = await startChats(trap.url);
  try {
    const inboxes = await keepChannels(chats, address, masterKey);
    const scene = { store: address, masterKey, chats, inboxes };
    let [events, hours] = [0, 0];
    for (let cycle = 0; cycle < cycles; cycle++) {
      for (const chat of chats.values()) chat.inTurn = FAULTS;
      for (let kill = 0; kill < KILLS; kill++) {
        events += EVENTS;
        const life = { events, aheadMs: hours * HOUR_MS, messagesPerHour: MESSAGES.few };
        await liveAndDie(scene, life);
        await readEmails(scene);
        hours += LIFE_HOURS;
      }
      for (const chat of chats.values()) chat.inTurn = undefined;
      await letThrough(scene, lastLife(events, hours), ({ isDigest }) => !isDigest);
      await readEmails(scene);
      hours += 2 * LIFE_HOURS;
      await letThrough(scene, lastLife(events, hours), () => true);
      await readEmails(scene);
      hours += LIFE_HOURS;
    }
    return [
      { name: "kills", value: cycles * KILLS },
      ...inboxes.flatMap((inbox) => measuresOf(inbox, events, cycles * KILLS)),
      { name: "requests that followed a redirect", value: trap.connections, most: 0 },
    ];
  } finally {
    await Promise.all([trap, ...chats.values()].map((one) => one.close()));
  }
}

type Chats = ReadonlyMap<string, ChatServer>;

const keyOf = (kind: ChannelKind, isDigest: boolean): string =>
  // Both Telegram channels share one server and differ by their chat.
  kind === "telegram" ? kind : `${kind} ${isDigest}`;

async function startChats(location: string): Promise<Chats> {
  const keys = new Set(CHAT_KINDS.flatMap((kind) => [keyOf(kind, false), keyOf(kind, true)]));
  const started = [...keys].map(async (key) => {
    const [kind] = key.split(" ") as [ChatKind];
    return [key, await startChat(kind, { location })] as const;
  });
  return new Map(await Promise.all(started));
}

/** Creates two channels of each kind: one with immediate messages and one with a daily digest. */
async function keepChannels(
  chats: Chats,
  address: string,
  masterKey: string,
): Promise<readonly Inbox[]> {
  const store = await openStore(address);
  const { records } = store;
  const key = Buffer.from(masterKey, "hex");
  const vault = createKeyringVault(await openKeyring({ records, masterKey: key, now: Date.now }));
  const inboxes: Inbox[] = [];
  for (const kind of CHANNEL_KINDS) {
    for (const isDigest of [false, true]) {
      const chat = chats.get(keyOf(kind, isDigest));
      const target = targetOf(kind, isDigest, chat);
      const name = `${kind} ${isDigest}`;
      const schedule = isDigest ? { digestAt: "00:00" } : {};
      const made = channelAlert({ target, vault, schedule, name, accountId: `acc_${name}` });
      await records.commit(made.steps);
      inboxes.push({ kind, isDigest, alertId: made.alert.key, texts: [], read: new Set() });
    }
  }
  await store.close();
  return inboxes;
}

function targetOf(kind: ChannelKind, isDigest: boolean, chat?: ChatServer): ChannelTarget {
  if (chat === undefined) return { kind: "email", to: `${isDigest}@mail.example` };
  const { target } = chat;
  return kind === "telegram" && target.kind === "telegram" && isDigest
    ? { ...target, chatId: SUPERGROUP }
    : target;
}

interface Scene {
  readonly store: string;
  readonly masterKey: string;
  readonly chats: Chats;
  readonly inboxes: readonly Inbox[];
}

interface Life {
  /**
   * Number of events that are queued for each channel at the end of this run, counted from the
   * first run.
   */
  readonly events: number;
  readonly aheadMs: number;
  readonly messagesPerHour: number;
}

/** A run of a process that is not killed and has a high message limit. */
const lastLife = (events: number, hours: number): Life => ({
  events,
  aheadMs: hours * HOUR_MS,
  messagesPerHour: MESSAGES.all,
});

function startProcess(scene: Scene, { events, aheadMs, messagesPerHour }: Life): Promise<Worker> {
  const { store, masterKey, chats, inboxes } = scene;
  const alertIds = inboxes.map(({ alertId }) => alertId);
  const common = {
    ...{ store, masterKey, aheadMs, delivers: true, watches: [], totalMs: TOTAL_MS },
    messagesPerHour,
    telegramUrl: chats.get("telegram")?.origin ?? "",
  };
  const queues = { events, to: "all", perSecond: EVENTS_PER_SECOND, alertIds } as const;
  return startWorker({ ...common, queues });
}

async function liveAndDie(scene: Scene, life: Life): Promise<void> {
  const worker = await startProcess(scene, life);
  await delay(LIVES_MS.least + Math.random() * (LIVES_MS.most - LIVES_MS.least));
  await worker.kill();
}

/** Runs a process until every selected chat channel has received every event. */
async function letThrough(
  scene: Scene,
  life: Life,
  isWanted: (inbox: Inbox) => boolean,
): Promise<void> {
  const worker = await startProcess(scene, life);
  try {
    const until = performance.now() + PATIENCE_MS;
    while (performance.now() < until) {
      readChats(scene);
      const wanted = scene.inboxes.filter((inbox) => inbox.kind !== "email" && isWanted(inbox));
      if (wanted.every(({ texts }) => timesOf(texts).size >= life.events)) break;
      await delay(100);
    }
    await settled(worker);
  } finally {
    await worker.stop();
  }
}

/**
 * Waits until a second passes without a finished attempt. Emails have no server that could report
 * their arrival.
 */
async function settled(worker: Worker): Promise<void> {
  for (let before = -1; before !== worker.figures().sent; ) {
    before = worker.figures().sent;
    await delay(1_000);
  }
}

function readChats({ chats, inboxes }: Scene): void {
  for (const { kind, isDigest, texts } of inboxes) {
    const chat = chats.get(keyOf(kind, isDigest));
    if (chat === undefined) continue;
    const own = chat.taken.filter(
      ({ body }) => kind !== "telegram" || (body.chat_id === SUPERGROUP) === isDigest,
    );
    texts.splice(0, texts.length, ...own.map(({ text }) => text));
  }
}

/**
 * Reads the emails in the outbox. An email enters the outbox in the commit that ends its delivery.
 * This function runs after every kill, because the outbox drops emails after a while.
 */
async function readEmails({ store: address, masterKey, inboxes }: Scene): Promise<void> {
  const store = await openStore(address);
  const { records } = store;
  const key = Buffer.from(masterKey, "hex");
  const vault = createKeyringVault(await openKeyring({ records, masterKey: key, now: Date.now }));
  const kept = await records.list(queuedMails, { limit: 10_000 });
  const opened = kept.map((mail) => ({ key: mail.key, ...decryptEmail(vault, mail) }));
  for (const { kind, isDigest, texts, read } of inboxes) {
    if (kind !== "email") continue;
    const own = opened.filter((mail) => mail.to === `${isDigest}@mail.example`);
    texts.push(...own.filter((mail) => !read.has(mail.key)).map(({ text }) => text));
    for (const mail of own) read.add(mail.key);
  }
  await store.close();
}

/** How often each event appears in the messages. */
function timesOf(texts: readonly string[]): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  for (const text of texts) {
    for (const [, symbol = ""] of text.matchAll(/\b(E\d+): LONG/g)) {
      times.set(symbol, (times.get(symbol) ?? 0) + 1);
    }
  }
  return times;
}

function measuresOf({ kind, isDigest, texts }: Inbox, events: number, kills: number): Measure[] {
  const name = `${kind}${isDigest ? ", digest" : ""}`;
  const told = timesOf(texts).size;
  const different = [...new Set(texts)];
  const inTwo = [...timesOf(different).values()].filter((times) => times > 1).length;
  return [
    { name: `${name}: events delivered`, value: told, least: events, most: events },
    {
      name: `${name}: events in two different messages`,
      value: inTwo,
      // An event that a process sent just before its kill can appear again in the summary of the
      // events that exceeded the hourly limit.
      most: isDigest || kind === "email" ? 0 : 5 * kills,
    },
    {
      name: `${name}: messages delivered twice`,
      value: texts.length - different.length,
      // A killed process has at most five deliveries in progress. An email cannot arrive twice: it
      // enters the outbox in the commit that ends its delivery.
      most: kind === "email" ? 0 : 5 * kills,
    },
  ];
}
