import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { alerts } from "../../../../src/alerts/alert.ts";
import { type Channel, channels } from "../../../../src/alerts/channels/channel.ts";
import { DIGEST_MESSAGE_TYPE } from "../../../../src/alerts/channels/digest.ts";
import {
  type ChannelSchedule,
  IMMEDIATE_SCHEDULE,
  scheduledWaitEnd,
} from "../../../../src/alerts/channels/schedule.ts";
import type { ChatKind } from "../../../../src/alerts/channels/services/chat-services.ts";
import { CHANNEL_KINDS, type ChannelTarget } from "../../../../src/alerts/channels/targets.ts";
import {
  DELIVERIES_TOPIC,
  type Delivery,
  deliveries,
} from "../../../../src/alerts/delivery/delivery.ts";
import { type ScheduleTimer, scheduleTimer as timer } from "../../../../src/lib/loop.ts";
import type { LimitNumbers } from "../../../../src/limits/classes.ts";
import { createLimits } from "../../../../src/limits/limits.ts";
import { decryptEmail, queuedMails } from "../../../../src/mail/outbox.ts";
import { accounts } from "../../../../src/principals/accounts/accounts.ts";
import { announce, insert, replace } from "../../../../src/store/port/operations.ts";
import type { Records } from "../../../../src/store/port/records.ts";
import { setAside } from "../../../../src/store/set-aside.ts";
import {
  attemptsAt,
  type ChannelAlert,
  changeAlert,
  changeChannel,
  channelAlert,
  channelNow,
  outletsOn,
  queuedShift,
  symbolsIn,
} from "../../../support/channels.ts";
import { startChat } from "../../../support/chat-server.ts";
import {
  queuedIn,
  type RunningWorker,
  releasesEnd,
  startWorker,
} from "../../../support/delivery-worker.ts";
import { stepsOf } from "../../../support/steps-of.ts";
import { embedded, openStore, type TestStore } from "../../../support/stores.ts";
import { vault } from "../../../support/webhook-alerts.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const DAILY: ChannelSchedule = {
  ...IMMEDIATE_SCHEDULE,
  timeZone: "Europe/Berlin",
  digestAt: "02:30",
};

/** A channel whose alert has events, and a worker that delivers them. */
interface Scene {
  readonly store: TestStore;
  readonly made: ChannelAlert;
  readonly worker: RunningWorker;
  /** Texts of the messages that the channel has received. */
  readonly texts: () => Promise<readonly string[]>;
  /** Symbols of the events in each message that the channel has received. */
  readonly told: () => Promise<readonly (readonly string[])[]>;
  /** Resolves when all waiting events have been released and the worker has processed them. */
  readonly released: () => Promise<void>;
}

/** Options of the channel and the worker in a test. */
interface Sending {
  readonly schedule?: ChannelSchedule;
  /** Initial time of the clock, ISO 8601. */
  readonly start?: string;
  /** Limit on the number of messages. Default: the limit of the service. */
  readonly messages?: LimitNumbers;
  /** Called after each read of the worker, before the worker receives the result. */
  readonly onRead?: (collection: string) => Promise<void>;
  /**
   * Whether the worker runs only when a commit announces work, as if its next poll were far away.
   */
  readonly isUnpolled?: boolean;
}

/** Timers of a worker that never polls: only timers without a delay fire. */
const unpolled: ScheduleTimer = (run, delayMs) => (delayMs > 0 ? () => {} : timer(run, 0));

/** Wraps records so that `onRead` is awaited after each read and before its result is returned. */
const toldOf = (records: Records, onRead: (collection: string) => Promise<void>): Records => ({
  ...records,
  async get(from, key) {
    const found = await records.get(from, key);
    await onRead(from.name);
    return found;
  },
});

/** A scene with a channel to a chat. */
async function chatScene(sending: Sending, kind: ChatKind = "slack") {
  const chat = await startChat(kind);
  onTestFinished(chat.close);
  const texts = async () => chat.taken.map(({ text }) => text);
  return { ...(await sceneOf(sending, chat, () => texts)), chat };
}

/** A scene with a channel to a mailbox. */
const mailScene = (sending: Sending): Promise<Scene> =>
  sceneOf(
    sending,
    { target: { kind: "email", to: "ann@mail.example" } },
    ({ records }) =>
      async () => {
        const queued = await records.list(queuedMails, { limit: 1_000 });
        return queued.map((mail) => decryptEmail(vault, mail).text);
      },
  );

async function sceneOf(
  { schedule = IMMEDIATE_SCHEDULE, start = "2026-06-01T12:00:00Z", messages, ...worked }: Sending,
  { target, origin }: { readonly target: ChannelTarget; readonly origin?: string },
  textsIn: (store: TestStore) => Scene["texts"],
): Promise<Scene> {
  const store = await openStore(embedded);
  store.clock.now = Date.parse(start);
  const made = channelAlert({ target, vault, schedule });
  await store.records.commit(made.steps);
  const outlets = outletsOn(vault, () => new Date(store.clock.now), origin);
  const limits = createLimits({
    now: () => store.clock.now,
    overrides: messages === undefined ? {} : { messages },
  });
  const { onRead = async () => {}, isUnpolled = false } = worked;
  const worker = startWorker(
    { ...store, records: toldOf(store.records, onRead) },
    { channels: outlets, limits, ...(isUnpolled && { schedule: unpolled }) },
  );
  const texts = textsIn(store);
  return {
    ...{ store, made, worker, texts },
    told: async () => (await texts()).map(symbolsIn),
    async released() {
      await releasesEnd(store);
      await worker.look();
    },
  };
}

/** Queues an event and lets the worker process it. */
async function happen({ store, made, worker }: Scene, symbol: string): Promise<void> {
  await store.records.commit(queuedShift(made.alert, symbol, store.clock.now));
  await worker.look();
}

/** Advances the clock to an instant, and lets the worker process what is due. */
async function lookAt({ store, worker }: Scene, at: number): Promise<void> {
  store.clock.now = at;
  await worker.look();
}

/** Advances the clock by a time, and lets the worker process what is due. */
const lookAfter = (scene: Scene, ms: number) => lookAt(scene, scene.store.clock.now + ms);

/** Advances the clock to an instant, and then until all parts of a digest have been sent. */
async function goTo({ store, worker }: Scene, at: number): Promise<void> {
  store.clock.now = at;
  await worker.look();
  for (;;) {
    const queued = await queuedIn(store);
    const parts = queued.filter(({ value }) => value.type === DIGEST_MESSAGE_TYPE);
    const due = Math.min(...parts.map(({ dueAt = Number.POSITIVE_INFINITY }) => dueAt));
    if (due > at + MINUTE || parts.some(({ value }) => value.attempts > 0)) return;
    store.clock.now = due;
    await worker.look();
  }
}

const left = ({ store }: Scene) => queuedIn(store);

describe("a daily digest", () => {
  it.each(CHANNEL_KINDS)(
    "to %s contains each event exactly once and is sent on time",
    async (kind) => {
      // The clocks in Berlin go forward two days later.
      const sending = { schedule: DAILY, start: "2026-03-27T12:00:00Z" };
      const scene = kind === "email" ? await mailScene(sending) : await chatScene(sending, kind);
      const [pauses = []] = fc.sample(
        fc.array(fc.integer({ min: 1, max: 150 }), { minLength: 25, maxLength: 40 }),
        { seed: 23, numRuns: 1 },
      );
      const expected = new Map<number, string[]>();
      const due = (now: number) => scheduledWaitEnd(DAILY, now) ?? 0;
      let next = due(scene.store.clock.now);
      for (const [number, pause] of pauses.entries()) {
        const now = scene.store.clock.now + pause * MINUTE;
        while (next <= now) {
          await goTo(scene, next);
          next = due(next);
        }
        await goTo(scene, now);
        await happen(scene, `E${number}`);
        expected.set(next, [...(expected.get(next) ?? []), `E${number}`]);
      }
      await goTo(scene, next);
      const told = await scene.told();
      const digests = [...expected.values()];
      expect(told.flat()).toEqual(digests.flat());
      if (kind !== "discord") expect(told).toEqual(digests);
      expect(await left(scene)).toEqual([]);
      const attempts = await attemptsAt(scene.store, scene.made);
      expect(attempts).toHaveLength(digests.flat().length);
      expect(attempts.every(({ error, number }) => error === "none" && number === 1)).toBe(true);
    },
  );

  it("is split into several parts when it is too long for one message, and contains each event once", async () => {
    const scene = await chatScene({ schedule: DAILY }, "discord");
    const { store, made } = scene;
    const all = Array.from({ length: 250 }, (_, number) => `E${number}`);
    for (const [number, symbol] of all.entries()) {
      await store.records.commit(queuedShift(made.alert, symbol, store.clock.now + number));
    }
    await scene.worker.look();
    expect(await scene.texts()).toEqual([]);
    await goTo(scene, scheduledWaitEnd(DAILY, store.clock.now) ?? 0);
    const texts = await scene.texts();
    expect(texts.flatMap(symbolsIn).toSorted()).toEqual(all.toSorted());
    expect(texts[0]).toMatch(/^250 events, part 1 of \d+$/m);
    expect(await left(scene)).toEqual([]);
  });

  it("is sent at once as one message when the person turns digests off", async () => {
    const scene = await chatScene({ schedule: DAILY });
    const all = Array.from({ length: 12 }, (_, number) => `E${number}`);
    for (const symbol of all) {
      scene.store.clock.now += MINUTE;
      await happen(scene, symbol);
    }
    await reschedule(scene, IMMEDIATE_SCHEDULE);
    await scene.released();
    expect(await scene.told()).toEqual([all]);
    expect(await left(scene)).toEqual([]);
    await happen(scene, "E12");
    expect(await scene.told()).toEqual([all, ["E12"]]);
  });

  it("contains every waiting event when the person turns digests off, even if a single read cannot return all events", async () => {
    const scene = await mailScene({ schedule: DAILY });
    const { store, made } = scene;
    const all = Array.from({ length: 1_100 }, (_, number) => `E${number}`);
    const queued = all.flatMap((symbol, at) =>
      queuedShift(made.alert, symbol, store.clock.now + at),
    );
    await store.records.commit(queued);
    await scene.worker.look();
    await reschedule(scene, IMMEDIATE_SCHEDULE);
    await scene.released();
    await goTo(scene, store.clock.now + MINUTE);
    expect((await scene.texts()).flatMap(symbolsIn).toSorted()).toEqual(all.toSorted());
    expect(await left(scene)).toEqual([]);
  });

  it("reads its events in batches, not one by one", async () => {
    const store = await openStore(embedded);
    let [gets, lists] = [0, 0];
    const get: typeof store.records.get = (from, key) => {
      gets += 1;
      return store.records.get(from, key);
    };
    const list: typeof store.records.list = (from, selection) => {
      lists += 1;
      return store.records.list(from, selection);
    };
    const target = { kind: "email", to: "ann@mail.example" } as const;
    const made = channelAlert({ target, vault, schedule: { digestAt: "13:00" } });
    await store.records.commit(made.steps);
    const worker = startWorker({ records: { ...store.records, get, list }, clock: store.clock });
    for (let number = 0; number < 100; number++) {
      await store.records.commit(queuedShift(made.alert, `E${number}`, store.clock.now + number));
    }
    await worker.look();
    [gets, lists] = [0, 0];
    store.clock.now += HOUR;
    await worker.look();
    expect(gets).toBeLessThan(80);
    // Each due event requests a digest, but only the first request reads the queue.
    expect(lists).toBeLessThan(5);
    expect(await queuedIn(store)).toEqual([]);
  });

  it("is retried as a whole when sending fails, and none of its events is sent separately", async () => {
    const scene = await chatScene({ schedule: DAILY });
    await happen(scene, "E0");
    scene.store.clock.now += MINUTE;
    await happen(scene, "E1");
    scene.chat.behavior = 503;
    await lookAt(scene, scheduledWaitEnd(DAILY, scene.store.clock.now) ?? 0);
    expect(scene.chat.requests).toBe(1);
    scene.chat.behavior = "takes";
    await lookAfter(scene, MINUTE);
    expect(await scene.told()).toEqual([["E0", "E1"]]);
    expect(await left(scene)).toEqual([]);
  });

  it("omits the event of a paused alert, which is sent in a digest after the alert is resumed", async () => {
    const scene = await chatScene({ schedule: DAILY });
    const { store } = scene;
    await happen(scene, "E0");
    scene.chat.behavior = 503;
    await lookAt(scene, scheduledWaitEnd(DAILY, store.clock.now) ?? 0);
    scene.chat.behavior = "takes";
    await changeAlert(store, scene.made, { isPaused: true });
    await lookAfter(scene, MINUTE);
    expect(await scene.texts()).toEqual([]);
    await changeAlert(store, scene.made, { isPaused: false });
    await scene.released();
    await goTo(scene, scheduledWaitEnd(DAILY, store.clock.now) ?? 0);
    expect(await scene.told()).toEqual([["E0"]]);
    expect(await left(scene)).toEqual([]);
  });

  it("leaves no event behind when the operator has disabled the person of the channel", async () => {
    const scene = await chatScene({ schedule: DAILY });
    const { store, made } = scene;
    await happen(scene, "E0");
    const channel = await channelNow(store, made);
    const at = store.clock.now;
    await store.records.commit(stepsOf(setAside<Channel>, channels, channel, { at }));
    await goTo(scene, scheduledWaitEnd(DAILY, at) ?? 0);
    expect(await scene.texts()).toEqual([]);
    expect(await left(scene)).toEqual([]);
  });

  it("keeps its waiting events when its time of day changes", async () => {
    const scene = await chatScene({ schedule: DAILY });
    await happen(scene, "E0");
    scene.store.clock.now += MINUTE;
    await happen(scene, "E1");
    const later = { ...DAILY, digestAt: "05:00" };
    await reschedule(scene, later);
    await scene.released();
    const { clock } = scene.store;
    await goTo(scene, scheduledWaitEnd(DAILY, clock.now) ?? 0);
    expect(await scene.texts()).toEqual([]);
    await goTo(scene, scheduledWaitEnd(later, clock.now) ?? 0);
    expect(await scene.told()).toEqual([["E0", "E1"]]);
  });
});

describe("a digest when several channels are due at the same time", () => {
  it("contains only the events of its own channel", async () => {
    const scene = await chatScene({ schedule: DAILY });
    const { store, made, worker, chat } = scene;
    const otherChat = await startChat("ntfy");
    onTestFinished(otherChat.close);
    const { target } = otherChat;
    const other = channelAlert({ target, vault, schedule: DAILY, accountId: "acc_of_another" });
    await store.records.commit(other.steps);
    for (const [at, { alert }] of [made, other, made, other].entries()) {
      await store.records.commit(queuedShift(alert, `E${at}`, store.clock.now + at));
    }
    await worker.look();
    // Both chats refuse the digests at first, so both digests are queued at the same time.
    for (const each of [chat, otherChat]) each.behavior = 503;
    store.clock.now = scheduledWaitEnd(DAILY, store.clock.now) ?? 0;
    await worker.look();
    for (const each of [chat, otherChat]) each.behavior = "takes";
    store.clock.now += MINUTE;
    await worker.look();
    expect(await scene.told()).toEqual([["E0", "E2"]]);
    expect(otherChat.taken.map(({ text }) => symbolsIn(text))).toEqual([["E1", "E3"]]);
    expect(await left(scene)).toEqual([]);
  });
});

describe("a worker that waits for announcements instead of polling", () => {
  const tell = ({ store }: Scene) => store.records.commit([announce(DELIVERIES_TOPIC)]);

  it("sends a digest when an announcement says that the digest is due", async () => {
    const scene = await chatScene({ schedule: DAILY, isUnpolled: true });
    await happen(scene, "E0");
    scene.store.clock.now = scheduledWaitEnd(DAILY, scene.store.clock.now) ?? 0;
    await tell(scene);
    const taken = await scene.chat.took(1);
    expect(taken.map(({ text }) => symbolsIn(text))).toEqual([["E0"]]);
  });

  it("sends an event at once when the digest for which it waits is turned off", async () => {
    const scene = await chatScene({ schedule: DAILY, isUnpolled: true });
    await happen(scene, "E0");
    await reschedule(scene, IMMEDIATE_SCHEDULE);
    const taken = await scene.chat.took(1);
    expect(taken.map(({ text }) => symbolsIn(text))).toEqual([["E0"]]);
  });

  it.each(["waits", "is in a digest"])(
    "sends an event to the new channel of its alert even if the event already %s for the old channel",
    async (where) => {
      const scene = await chatScene({ schedule: DAILY, isUnpolled: true });
      const { store, chat } = scene;
      const otherChat = await startChat("ntfy");
      onTestFinished(otherChat.close);
      const other = channelAlert({ target: otherChat.target, vault, name: "other" });
      await store.records.commit(other.steps);
      await happen(scene, "E0");
      store.clock.now = scheduledWaitEnd(DAILY, store.clock.now) ?? 0;
      if (where === "is in a digest") {
        chat.behavior = 503;
        await scene.worker.look();
        chat.behavior = "takes";
        store.clock.now += MINUTE;
      }
      await changeAlert(store, scene.made, {
        way: { by: "channel", channelId: other.channel.key },
      });
      await tell(scene);
      const taken = await otherChat.took(1);
      expect(taken.map(({ text }) => symbolsIn(text))).toEqual([["E0"]]);
      await scene.worker.look();
      expect(chat.taken).toEqual([]);
      expect(await left(scene)).toEqual([]);
    },
  );
});

describe("a person's change that is committed just after the worker has read the old state", () => {
  /**
   * A scene in which the next read of a collection can be followed by a change that the reader
   * does not see.
   */
  async function changedAfterRead(schedule: ChannelSchedule) {
    let next: { readonly of: string; readonly change: () => Promise<void> } | undefined;
    const onRead = async (collection: string) => {
      if (collection !== next?.of) return;
      const { change } = next;
      next = undefined;
      await change();
      await releasesEnd(scene.store);
    };
    const scene = await chatScene({ schedule, onRead });
    return {
      scene,
      afterRead: (of: string, change: () => Promise<void>) => {
        next = { of, change };
      },
    };
  }

  const paused = { is: "paused", since: 1 } as const;
  const active = { is: "active", since: 2 } as const;

  it.each([
    {
      what: "the schedule changes from a digest to immediate delivery",
      schedule: DAILY,
      of: channels.name,
      before: async () => {},
      change: (scene: Scene) => reschedule(scene, IMMEDIATE_SCHEDULE),
    },
    {
      what: "the channel is resumed",
      schedule: IMMEDIATE_SCHEDULE,
      of: channels.name,
      before: ({ store, made }: Scene) => changeChannel(store, made, { state: paused }),
      change: ({ store, made }: Scene) => changeChannel(store, made, { state: active }),
    },
    {
      what: "the alert is resumed",
      schedule: IMMEDIATE_SCHEDULE,
      of: alerts.name,
      before: ({ store, made }: Scene) => changeAlert(store, made, { isPaused: true }),
      change: ({ store, made }: Scene) => changeAlert(store, made, { isPaused: false }),
    },
  ])("holds back no event when $what", async ({ schedule, of, before, change }) => {
    const { scene, afterRead } = await changedAfterRead(schedule);
    await before(scene);
    afterRead(of, () => change(scene));
    await happen(scene, "E0");
    // The event is attempted again after its lease has expired.
    await lookAfter(scene, MINUTE);
    expect(await scene.told()).toEqual([["E0"]]);
    expect(await left(scene)).toEqual([]);
  });

  it("holds back no event of a digest when the alert is resumed", async () => {
    const { scene, afterRead } = await changedAfterRead(DAILY);
    const { store, chat } = scene;
    await happen(scene, "E0");
    chat.behavior = 503;
    await lookAt(scene, scheduledWaitEnd(DAILY, store.clock.now) ?? 0);
    chat.behavior = "takes";
    await changeAlert(store, scene.made, { isPaused: true });
    afterRead(alerts.name, () => changeAlert(store, scene.made, { isPaused: false }));
    await lookAfter(scene, MINUTE);
    await goTo(scene, scheduledWaitEnd(DAILY, store.clock.now) ?? 0);
    expect(await scene.told()).toEqual([["E0"]]);
    expect(await left(scene)).toEqual([]);
  });

  it("sends no event twice when another process has already sent the digest", async () => {
    let reached = () => {};
    let proceed = () => {};
    const isReached = new Promise<void>((resolve) => (reached = resolve));
    const mayProceed = new Promise<void>((resolve) => (proceed = resolve));
    const store = await openStore(embedded);
    const chat = await startChat("slack");
    onTestFinished(chat.close);
    const made = channelAlert({ target: chat.target, vault, schedule: DAILY });
    await store.records.commit(made.steps);
    let [isSlow, isStuck] = [false, false];
    const list: Records["list"] = async (from, selection) => {
      const found = await store.records.list(from, selection);
      if (isSlow && from.name === deliveries.name) {
        isSlow = false;
        isStuck = true;
        reached();
        await mayProceed;
        isStuck = false;
      }
      return found;
    };
    // While the slow process is stuck, it claims no further deliveries.
    const claimDue: Records["claimDue"] = async (from, selection) =>
      isStuck ? [] : store.records.claimDue(from, selection);
    const slow = startWorker({ ...store, records: { ...store.records, list, claimDue } });
    for (const [at, symbol] of ["E0", "E1"].entries()) {
      await store.records.commit(queuedShift(made.alert, symbol, store.clock.now + at));
    }
    await slow.look();
    store.clock.now = scheduledWaitEnd(DAILY, store.clock.now) ?? 0;
    isSlow = true;
    const looked = slow.look();
    await isReached;
    // The leases of the slow process expire.
    store.clock.now += MINUTE;
    await startWorker(store).look();
    proceed();
    await looked;
    expect(chat.taken.map(({ text }) => symbolsIn(text))).toEqual([["E0", "E1"]]);
    expect(await queuedIn(store)).toEqual([]);
  });
});

describe("what version 1.0 left in the queue of a channel", () => {
  /**
   * Version 1.0 gave each event that waited a due time of its own, and none while its channel was
   * paused.
   */
  async function waitingSince1_0(channel: Partial<Channel> = {}) {
    const scene = await chatScene({ schedule: DAILY });
    const { records, clock } = scene.store;
    await changeChannel(scene.store, scene.made, channel);
    await scene.released();
    const heldUntil = scheduledWaitEnd(DAILY, clock.now) ?? 0;
    const due = channel.state === undefined ? { dueInMs: heldUntil - clock.now } : {};
    for (const [at, symbol] of ["E0", "E1", "E2"].entries()) {
      const [event] = queuedShift(scene.made.alert, symbol, clock.now + at);
      if (event?.kind !== "insert") throw new Error("No event was queued.");
      const value = { ...(event.value as Delivery), heldUntil };
      const { dueInMs: _, ...placing } = event.placing;
      await records.commit([{ ...event, value, placing: { ...placing, ...due } }]);
    }
    return { scene, heldUntil };
  }

  const expectOneDigest = async (scene: Scene) => {
    expect(await scene.told()).toEqual([["E0", "E1", "E2"]]);
    expect(await left(scene)).toEqual([]);
  };

  it("comes in one digest at the time for which it waits", async () => {
    const { scene, heldUntil } = await waitingSince1_0();
    await scene.worker.look();
    await goTo(scene, heldUntil);
    await expectOneDigest(scene);
  });

  it("follows a new schedule", async () => {
    const { scene } = await waitingSince1_0();
    await reschedule(scene, IMMEDIATE_SCHEDULE);
    await scene.released();
    await expectOneDigest(scene);
  });

  it("follows the schedule again when its channel is resumed", async () => {
    const { scene, heldUntil } = await waitingSince1_0({ state: { is: "paused", since: 0 } });
    await changeChannel(scene.store, scene.made, { state: { is: "active", since: 1 } });
    await scene.released();
    expect(await scene.texts()).toEqual([]);
    await goTo(scene, heldUntil);
    await expectOneDigest(scene);
  });
});

/** Sentence in a digest that gathers the messages beyond the hourly limit. */
const GATHERED = "Gathered, because at most 3 messages in 60 minutes are sent here.";

describe("messages beyond the hourly limit", () => {
  const messages = { caller: 3, network: 100, total: 1_000 };

  it.each(["slack", "discord"] as const)(
    "to %s are sent later in one digest that mentions the limit, and none is lost",
    async (kind) => {
      const scene = await chatScene({ messages }, kind);
      const all = Array.from({ length: 40 }, (_, number) => `E${number}`);
      for (const symbol of all) {
        scene.store.clock.now += MINUTE / 2;
        await happen(scene, symbol);
      }
      const [one, two, three, ...waiting] = all;
      const atOnce = [one, two, three].map((symbol) => [symbol]);
      expect(await scene.told()).toEqual(atOnce);
      await goTo(scene, scene.store.clock.now + HOUR);
      const texts = await scene.texts();
      expect(texts.slice(3).flatMap(symbolsIn)).toEqual(waiting);
      expect(texts.slice(3).every((text) => text.includes(GATHERED))).toBe(true);
      expect(texts.slice(0, 3).some((text) => text.includes("Gathered"))).toBe(false);
      if (kind !== "discord") expect(texts).toHaveLength(4);
      expect(await left(scene)).toEqual([]);
      const attempts = await attemptsAt(scene.store, scene.made);
      expect(attempts.map(({ eventId }) => eventId).toSorted()).toEqual(
        [...new Set(attempts.map(({ eventId }) => eventId))].toSorted(),
      );
      expect(attempts).toHaveLength(all.length);
    },
  );

  it("wait for the next hour even if they are parts of one digest, and none is lost", async () => {
    const scene = await chatScene({ schedule: DAILY, messages }, "discord");
    const { store, made } = scene;
    const all = Array.from({ length: 150 }, (_, number) => `E${number}`);
    for (const [number, symbol] of all.entries()) {
      await store.records.commit(queuedShift(made.alert, symbol, store.clock.now + number));
    }
    await scene.worker.look();
    store.clock.now = scheduledWaitEnd(DAILY, store.clock.now) ?? 0;
    for (let hour = 1; (await left(scene)).length > 0; hour++) {
      for (let second = 0; second < 10; second++) {
        await scene.worker.look();
        store.clock.now += 1_000;
      }
      expect((await scene.texts()).length).toBeLessThanOrEqual(3 * hour);
      store.clock.now += HOUR;
    }
    const told = (await scene.texts()).flatMap(symbolsIn);
    expect(told.toSorted()).toEqual(all.toSorted());
  });

  it("are counted separately for each person, so messages of other people to the same chat do not count", async () => {
    const scene = await chatScene({ messages });
    const { store, chat } = scene;
    const other = channelAlert({ target: chat.target, vault, accountId: "acc_of_another" });
    await store.records.commit(other.steps);
    for (const symbol of ["E0", "E1", "E2", "E3"]) await happen(scene, symbol);
    await store.records.commit(queuedShift(other.alert, "E9", store.clock.now));
    await scene.worker.look();
    expect(await scene.told()).toEqual([["E0"], ["E1"], ["E2"], ["E9"]]);
  });

  it("are counted together for people whose accounts were created in one network", async () => {
    const scene = await chatScene({
      messages: { caller: 2, network: 3, total: 1_000 },
    });
    const { store, chat, made } = scene;
    const [near, far] = ["acc_near", "acc_far"].map((accountId) =>
      channelAlert({ target: chat.target, vault, accountId }),
    ) as [ChannelAlert, ChannelAlert];
    const accountIn = (network: string, { channel }: ChannelAlert) =>
      insert(accounts, {
        key: channel.value.accountId,
        value: { label: "", createdAt: 0, network },
      });
    await store.records.commit([...near.steps, ...far.steps]);
    await store.records.commit([accountIn("1", made), accountIn("1", near), accountIn("2", far)]);
    const told = [
      [made, "E0"],
      [made, "E1"],
      [near, "E2"],
      [near, "E3"],
      [far, "E4"],
    ] as const;
    for (const [{ alert }, symbol] of told) {
      await store.records.commit(queuedShift(alert, symbol, store.clock.now));
      await scene.worker.look();
    }
    expect(await scene.told()).toEqual([["E0"], ["E1"], ["E2"], ["E4"]]);
  });

  it("are counted for all of a person's channels to the same chat together, so a second channel does not raise the limit", async () => {
    const scene = await chatScene({ messages });
    const { store, chat } = scene;
    const second = channelAlert({ target: chat.target, vault, name: "second" });
    await store.records.commit(second.steps);
    for (const symbol of ["E0", "E1", "E2"]) await happen(scene, symbol);
    await store.records.commit(queuedShift(second.alert, "E9", store.clock.now));
    await scene.worker.look();
    expect(await scene.told()).toEqual([["E0"], ["E1"], ["E2"]]);
    await goTo(scene, store.clock.now + 2 * HOUR);
    expect(await scene.told()).toEqual([["E0"], ["E1"], ["E2"], ["E9"]]);
    expect((await scene.texts()).at(-1)).toContain(GATHERED);
  });

  it("wait for the quiet hours to end, with the events of these hours", async () => {
    const night = { from: "13:00", to: "16:00" };
    const schedule = { ...IMMEDIATE_SCHEDULE, quietHours: night };
    const scene = await chatScene({ schedule, messages });
    for (const symbol of ["E0", "E1", "E2", "E3", "E4"]) {
      scene.store.clock.now += MINUTE;
      await happen(scene, symbol);
    }
    await goTo(scene, Date.parse("2026-06-01T13:30:00Z"));
    expect(await scene.texts()).toHaveLength(3);
    await happen(scene, "E5");
    await goTo(scene, Date.parse("2026-06-01T16:00:00Z"));
    const told = await scene.told();
    expect(told).toEqual([["E0"], ["E1"], ["E2"], ["E3", "E4", "E5"]]);
  });

  it("do not include messages that a failing service refuses repeatedly", async () => {
    const scene = await chatScene({ messages });
    scene.chat.behavior = 503;
    await happen(scene, "E0");
    for (const minutes of [1, 6, 31]) {
      await lookAfter(scene, minutes * MINUTE);
    }
    expect(scene.chat.requests).toBe(4);
    scene.chat.behavior = "takes";
    await happen(scene, "E1");
    await happen(scene, "E2");
    expect(await scene.told()).toEqual([["E1"], ["E2"]]);
  });
});

describe("quiet hours", () => {
  const NIGHT: ChannelSchedule = {
    ...IMMEDIATE_SCHEDULE,
    timeZone: "Europe/Berlin",
    quietHours: { from: "22:00", to: "07:00" },
  };

  it("hold back every event until they end, keep the order, lose no event, and hold back nothing at other times", async () => {
    const scene = await chatScene({ schedule: NIGHT, start: "2026-03-28T20:30:00Z" });
    await happen(scene, "E0");
    expect(await scene.told()).toEqual([["E0"]]);
    const night = Date.parse("2026-03-28T21:00:00Z");
    for (let hour = 0; hour < 8; hour++) {
      await goTo(scene, night + hour * HOUR);
      await happen(scene, `E${hour + 1}`);
    }
    expect((await scene.texts()).flatMap(symbolsIn)).toEqual(["E0"]);
    // The clocks go forward during this night.
    await goTo(scene, Date.parse("2026-03-29T05:00:00Z"));
    const told = (await scene.texts()).flatMap(symbolsIn);
    expect(told).toEqual(Array.from({ length: 9 }, (_, number) => `E${number}`));
    await happen(scene, "E9");
    expect((await scene.texts()).at(-1)).toContain("E9: LONG");
    expect(await left(scene)).toEqual([]);
  });

  it("also delay retries", async () => {
    const scene = await chatScene({
      schedule: NIGHT,
      start: "2026-01-15T20:59:58Z",
    });
    scene.chat.behavior = 503;
    await happen(scene, "E1");
    scene.chat.behavior = "takes";
    await goTo(scene, Date.parse("2026-01-15T21:00:03Z"));
    expect(scene.chat.requests).toBe(1);
    await goTo(scene, Date.parse("2026-01-16T06:00:00Z"));
    expect(await scene.told()).toEqual([["E1"]]);
  });
});

describe("a digest of a channel with quiet hours", () => {
  const AFTERNOON = { ...IMMEDIATE_SCHEDULE, quietHours: { from: "13:00", to: "16:00" } };
  /** The digest is due a minute before the quiet hours. */
  const EVENING = { ...DAILY, quietHours: { from: "22:00", to: "07:00" }, digestAt: "21:59" };

  it("keeps its events together after a failure, even if the person turns the quiet hours off", async () => {
    const scene = await chatScene({ schedule: AFTERNOON, start: "2026-06-01T13:30:00Z" });
    const { store, chat } = scene;
    await happen(scene, "E0");
    store.clock.now += MINUTE;
    await happen(scene, "E1");
    chat.behavior = 503;
    await lookAt(scene, Date.parse("2026-06-01T16:00:00Z"));
    expect(chat.requests).toBe(1);
    chat.behavior = "takes";
    await reschedule(scene, IMMEDIATE_SCHEDULE);
    await scene.released();
    expect(chat.requests).toBe(1);
    await lookAfter(scene, MINUTE);
    expect(await scene.told()).toEqual([["E0", "E1"]]);
    expect(await left(scene)).toEqual([]);
  });

  it("sends its events once after a failure, even if the person requests redelivery of one of them", async () => {
    const scene = await chatScene({ schedule: AFTERNOON, start: "2026-06-01T13:30:00Z" });
    const { store, chat } = scene;
    await happen(scene, "E0");
    store.clock.now += MINUTE;
    await happen(scene, "E1");
    chat.behavior = 503;
    await lookAt(scene, Date.parse("2026-06-01T16:00:00Z"));
    chat.behavior = "takes";
    const all = await queuedIn(store);
    const member = all.find(({ value }) => value.digestId !== undefined);
    if (member === undefined) throw new Error("no event is in a digest");
    // A redelivery makes the same change to the record.
    const again = replace(deliveries, member, { value: member.value, dueInMs: 0 });
    await store.records.commit([again, announce(DELIVERIES_TOPIC)]);
    await scene.worker.look();
    expect(chat.requests).toBe(1);
    await lookAfter(scene, MINUTE);
    await lookAfter(scene, 48 * HOUR);
    expect(await scene.told()).toEqual([["E0", "E1"]]);
    expect(await left(scene)).toEqual([]);
  });

  it("is sent as soon as the person turns off the quiet hours that hold it back", async () => {
    const scene = await chatScene({ schedule: EVENING, start: "2026-01-15T12:00:00Z" });
    const { store, chat } = scene;
    await happen(scene, "E0");
    store.clock.now += MINUTE;
    await happen(scene, "E1");
    chat.behavior = 503;
    await lookAt(scene, Date.parse("2026-01-15T20:59:00Z"));
    chat.behavior = "takes";
    await lookAt(scene, Date.parse("2026-01-15T21:30:00Z"));
    expect(await scene.texts()).toEqual([]);
    await reschedule(scene, IMMEDIATE_SCHEDULE);
    await scene.released();
    expect(await scene.told()).toEqual([["E0", "E1"]]);
    expect(await left(scene)).toEqual([]);
  });

  it("stays separate from the next digest while it waits for the quiet hours to end", async () => {
    const scene = await chatScene({ schedule: AFTERNOON, start: "2026-06-01T15:00:00Z" });
    const { store, chat } = scene;
    await happen(scene, "E0");
    chat.behavior = 503;
    await goTo(scene, Date.parse("2026-06-01T16:00:00Z"));
    // The retry of the digest and the second event both fall within the new quiet hours.
    await reschedule(scene, { ...IMMEDIATE_SCHEDULE, quietHours: { from: "16:00", to: "18:00" } });
    store.clock.now += MINUTE;
    await happen(scene, "E1");
    chat.behavior = "takes";
    await goTo(scene, Date.parse("2026-06-01T18:00:00Z"));
    // The digest with E1 is created only when the quiet hours have ended.
    await goTo(scene, store.clock.now + MINUTE);
    expect((await scene.told()).toSorted()).toEqual([["E0"], ["E1"]]);
    expect(scene.worker.errors).toEqual([]);
    expect(await left(scene)).toEqual([]);
  });

  it("waits for its retry time after a failure, even if the person changes the schedule", async () => {
    const scene = await chatScene({ schedule: EVENING, start: "2026-01-15T12:00:00Z" });
    const { chat } = scene;
    await happen(scene, "E0");
    chat.behavior = "limited";
    for (const at of ["15T20:59:30", "15T21:30:00", "16T06:00:00"]) {
      await lookAt(scene, Date.parse(`2026-01-${at}Z`));
    }
    expect(chat.requests).toBe(2);
    await reschedule(scene, IMMEDIATE_SCHEDULE);
    await scene.released();
    expect(chat.requests).toBe(2);
  });

  it("is not retried before the quiet hours end", async () => {
    const scene = await chatScene({ schedule: EVENING, start: "2026-01-15T12:00:00Z" });
    await happen(scene, "E1");
    scene.chat.behavior = 503;
    for (const at of ["20:59:00", "20:59:06"]) {
      await lookAt(scene, Date.parse(`2026-01-15T${at}Z`));
    }
    expect(scene.chat.requests).toBe(2);
    scene.chat.behavior = "takes";
    await lookAt(scene, Date.parse("2026-01-15T21:30:00Z"));
    expect(scene.chat.requests).toBe(2);
    await lookAt(scene, Date.parse("2026-01-16T06:00:00Z"));
    expect(await scene.told()).toEqual([["E1"]]);
  });
});

/** Changes the schedule of the channel, as its person does. */
const reschedule = ({ store, made }: Pick<Scene, "store" | "made">, schedule: ChannelSchedule) =>
  changeChannel(store, made, { schedule });
