import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ChannelKind, ChannelTarget, ChatKind } from "../../src/alerts/channels/channel.ts";
import { mails, openEmail } from "../../src/mail/outbox.ts";
import { openKeyring } from "../../src/store/keys/keyring.ts";
import { createKeyringVault } from "../../src/store/keys/keyring-vault.ts";
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

/** How far clocks go between two kills: half a day, so that leases and retries are due, and a digest comes
 *  in every second life. */
const LIFE_HOURS = 12.5;

/** Kills before everything is let through: fewer than the ten attempts of a delivery. */
const KILLS = 6;

/** Events in each life, for every channel. */
const EVENTS = 20;

const EVENTS_PER_SECOND = 40;

/** Time from the start of a process to its kill, in milliseconds. */
const LIVES_MS = { least: 300, most: 1_500 };

/** Longest time until everything that waits is through, in milliseconds. */
const PATIENCE_MS = 120_000;

/** Timeout of a request, in milliseconds: black holes hold a place for so long. */
const TOTAL_MS = 500;

/** Messages that a channel is sent in an hour while processes are killed: fewer than there are events, so
 *  that some are gathered. Then as many as there are. */
const MESSAGES = { few: 12, all: 10_000 };

/** What each service does in turn, while processes are killed. */
const FAULTS: readonly ChatBehavior[] = [
  ...["takes", 500, "takes", "black-hole", "takes", "reset", "takes", "drip"],
  ...["takes", "redirect", "takes", "endless", "takes", "limited"],
] as readonly ChatBehavior[];

const CHATS: readonly ChatKind[] = ["slack", "discord", "telegram", "ntfy"];

/** What came by one channel. */
interface Inbox {
  readonly kind: ChannelKind;
  readonly isDigest: boolean;
  readonly alertId: string;
  /** The messages, in their order. */
  readonly texts: string[];
  /** Keys of the emails that were read. */
  readonly read: Set<string>;
}

const TITLE = "kill -9 of processes that send to channels";

/**
 * Kills processes while they send to every kind of channel, at once and by a daily digest, whose services
 * misbehave.
 *
 * @param cycles How often there are six kills, after which everything must come.
 */
export async function channelKills(cycles: number): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), "channels-"));
  try {
    return { title: TITLE, measures: await killed(folder, cycles) };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The same on PostgreSQL. */
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

/** @param address Of the store: a folder, or a database's URL. */
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
  // There is one server of Telegram: its channels differ by their chat.
  kind === "telegram" ? kind : `${kind} ${isDigest}`;

async function startChats(location: string): Promise<Chats> {
  const keys = new Set(CHATS.flatMap((kind) => [keyOf(kind, false), keyOf(kind, true)]));
  const started = [...keys].map(async (key) => {
    const [kind] = key.split(" ") as [ChatKind];
    return [key, await startChat(kind, { location })] as const;
  });
  return new Map(await Promise.all(started));
}

/** Makes a channel of each kind that is sent everything at once, and one with a digest. */
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
  for (const kind of [...CHATS, "email"] as const) {
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
  /** Events that have been queued for each channel when it is over. */
  readonly events: number;
  readonly aheadMs: number;
  readonly messagesPerHour: number;
}

/** A life that is not cut short. */
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

/** Runs until every chosen channel of a chat has got every event. */
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

/** Waits until no attempt has ended for a while: emails have no server that could tell. */
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

/** Reads the emails that the outbox has accepted, in the commit that ends their delivery. They are read
 *  after every life, because the outbox drops them in time. */
async function readEmails({ store: address, masterKey, inboxes }: Scene): Promise<void> {
  const store = await openStore(address);
  const { records } = store;
  const key = Buffer.from(masterKey, "hex");
  const vault = createKeyringVault(await openKeyring({ records, masterKey: key, now: Date.now }));
  const kept = await records.list(mails, { limit: 10_000 });
  const opened = kept.map((mail) => ({ key: mail.key, ...openEmail(vault, mail) }));
  for (const { kind, isDigest, texts, read } of inboxes) {
    if (kind !== "email") continue;
    const own = opened.filter((mail) => mail.to === `${isDigest}@mail.example`);
    texts.push(...own.filter((mail) => !read.has(mail.key)).map(({ text }) => text));
    for (const mail of own) read.add(mail.key);
  }
  await store.close();
}

/** How often each event was told. */
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
    { name: `${name}: events told`, value: told, least: events, most: events },
    {
      name: `${name}: events in two messages that differ`,
      value: inTwo,
      // What a killed process had just sent can come again in the digest of what exceeds the hour.
      most: isDigest || kind === "email" ? 0 : 5 * kills,
    },
    {
      name: `${name}: messages that came again`,
      value: texts.length - different.length,
      // A killed process has at most five under way. An email cannot come again: the outbox takes it in the commit that ends its delivery.
      most: kind === "email" ? 0 : 5 * kills,
    },
  ];
}
