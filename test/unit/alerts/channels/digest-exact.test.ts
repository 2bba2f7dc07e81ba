import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { createAuditor } from "../../../../src/access/auditor.ts";
import { allScopes } from "../../../../src/access/scopes.ts";
import { AlertCapacity } from "../../../../src/alerts/capacity.ts";
import { channels } from "../../../../src/alerts/channels/channel.ts";
import { ChannelService } from "../../../../src/alerts/channels/channels.ts";
import type { ChannelSchedule } from "../../../../src/alerts/channels/schedule.ts";
import {
  UnsubscribeService,
  UnsubscribeTokens,
} from "../../../../src/alerts/channels/unsubscribing.ts";
import { deliveries } from "../../../../src/alerts/delivery/delivery.ts";
import { startReleaseLoop } from "../../../../src/alerts/delivery/held-deliveries.ts";
import {
  attemptDelivery,
  type DeliveryAttemptOptions,
} from "../../../../src/alerts/delivery/worker.ts";
import { scheduleTimer as loopSchedule } from "../../../../src/lib/loop.ts";
import { createLimits } from "../../../../src/limits/limits.ts";
import type { Records } from "../../../../src/store/port/records.ts";
import {
  attemptsAt,
  type ChannelAlert,
  changeAlert,
  channelAlert,
  outletsOn,
  queuedShift,
  symbolsIn,
} from "../../../support/channels.ts";
import { type ChatServer, startChat } from "../../../support/chat-server.ts";
import { queuedIn, releasesEnd } from "../../../support/delivery-worker.ts";
import {
  type Engine,
  model,
  openStore,
  postgres,
  type TestStore,
} from "../../../support/stores.ts";
import { loopbackSender, vault } from "../../../support/webhook-alerts.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

const TOKENS = new UnsubscribeTokens(new Uint8Array(32));

/**
 * Lease of a delivery in milliseconds, after which another process can claim the deliveries of a
 * killed process.
 */
const LEASE_MS = MINUTE;

/**
 * Start dates: on the days before clock changes in Berlin and in New York, and on one ordinary day.
 */
const STARTS = [
  "2026-03-28T12:00:00Z",
  "2026-10-24T12:00:00Z",
  "2026-03-07T12:00:00Z",
  "2026-10-31T12:00:00Z",
  "2026-06-01T12:00:00Z",
];

/** A time of day in a channel schedule: start or end of the quiet hours, or time of the digest. */
type Edge = "from" | "to" | "digest";

/** One step of a story, which is a random sequence of events, failures and changes. */
type Step =
  | { readonly is: "event" }
  | { readonly is: "wait"; readonly minutes: number }
  /**
   * An event near the next occurrence of a scheduled time. `seconds` is -1, 0 or 1, relative to
   * that time.
   */
  | { readonly is: "edge"; readonly of: Edge; readonly seconds: number }
  /** Time passes while no process runs. */
  | { readonly is: "stop"; readonly minutes: number }
  /**
   * One of the two processes is killed after `calls` more store calls, and replaced by a new
   * process.
   */
  | { readonly is: "kill"; readonly process: 0 | 1; readonly calls: number }
  | { readonly is: "schedule"; readonly schedule: ChannelSchedule }
  | { readonly is: "pause channel" | "resume channel" | "pause alert" | "resume alert" }
  /** The chat service responds with 503 for `minutes`. */
  | { readonly is: "outage"; readonly minutes: number }
  /** The channel is unsubscribed, and verified again after `minutes`. */
  | { readonly is: "verify again"; readonly minutes: number };

const time = fc.integer({ min: 0, max: 95 }).map((quarter) => {
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(Math.floor(quarter / 4))}:${two((quarter % 4) * 15)}`;
});

const schedules: fc.Arbitrary<ChannelSchedule> = fc
  .record({
    timeZone: fc.constantFrom("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"),
    quietHours: fc.option(fc.record({ from: time, to: time })),
    digestAt: fc.option(time, { freq: 4 }),
  })
  .filter(({ quietHours }) => quietHours === null || quietHours.from !== quietHours.to);

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({ is: "event" } as const) },
  {
    weight: 6,
    arbitrary: fc.record({
      is: fc.constantFrom("wait" as const, "wait" as const, "stop" as const),
      minutes: fc.integer({ min: 1, max: 900 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      is: fc.constant("edge" as const),
      of: fc.constantFrom("from" as const, "to" as const, "digest" as const),
      seconds: fc.integer({ min: -1, max: 1 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      is: fc.constant("kill" as const),
      process: fc.constantFrom(0 as const, 1 as const),
      calls: fc.integer({ min: 0, max: 12 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ is: fc.constant("schedule" as const), schedule: schedules }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      is: fc.constantFrom("pause channel", "resume channel", "pause alert", "resume alert"),
    }) as fc.Arbitrary<Step>,
  },
  {
    weight: 1,
    arbitrary: fc.record({
      is: fc.constantFrom("outage" as const, "verify again" as const),
      minutes: fc.integer({ min: 1, max: 180 }),
    }),
  },
);

/** Hourly limit on messages to the chat, low enough that stories exceed it. */
const MESSAGES = { caller: 6, network: 100, total: 1_000 } as const;

/**
 * A delivery process that can be killed after a number of store calls. All later calls fail without
 * effect.
 */
class MortalProcess {
  #callsLeft = Number.POSITIVE_INFINITY;
  readonly records: Records;

  constructor(records: Records) {
    const alive = async <T>(call: () => Promise<T>): Promise<T> => {
      this.#callsLeft -= 1;
      if (this.isDead) throw new Error("killed");
      return call();
    };
    this.records = {
      ...records,
      get: (from, key) => alive(() => records.get(from, key)),
      list: (from, selection) => alive(() => records.list(from, selection)),
      commit: (operations) => alive(() => records.commit(operations)),
      claimDue: (from, selection) => alive(() => records.claimDue(from, selection)),
    };
  }

  get isDead(): boolean {
    return this.#callsLeft < 0;
  }

  killAfter(calls: number): void {
    this.#callsLeft = calls;
  }
}

/**
 * Two delivery processes, a person who changes their channel, and the messages that the chat has
 * received.
 */
class World {
  readonly #store: TestStore;
  readonly #chat: ChatServer;
  readonly #made: ChannelAlert;
  readonly #channels: ChannelService;
  readonly #unsubscribing: UnsubscribeService;
  readonly #options: Omit<DeliveryAttemptOptions, "records">;
  readonly #processes: MortalProcess[];
  /** Symbols of the events that must be delivered, and of the events that may be dropped. */
  readonly #due = new Set<string>();
  readonly #dropped = new Set<string>();
  #schedule: ChannelSchedule;
  #events = 0;
  /**
   * Number of messages that processes sent before they were killed, and therefore could not record.
   */
  #unrecorded = 0;
  #outages = 0;
  /** Messages that arrived during quiet hours. */
  readonly #disturbing: string[] = [];

  constructor(store: TestStore, beside: TestStore, chat: ChatServer, schedule: ChannelSchedule) {
    const now = () => new Date(store.clock.now);
    const audit = createAuditor({ hashAddress: () => "", now });
    const limits = createLimits({
      now: () => store.clock.now,
      overrides: { messages: MESSAGES },
    });
    const outlets = outletsOn(vault, now);
    const { records, archive } = store;
    const sender = loopbackSender({ now: () => store.clock.now });
    onTestFinished(sender.close);
    this.#store = store;
    this.#chat = chat;
    this.#schedule = schedule;
    this.#made = channelAlert({ target: chat.target, vault, schedule });
    const urlPolicy = { schemes: ["http:" as const], isAllowed: () => true };
    const capacity = new AlertCapacity({ records, hashAddress: () => "", now });
    const common = { audit, vault, limits, capacity, now };
    this.#channels = new ChannelService({ ...common, ...outlets, records, archive, urlPolicy });
    this.#unsubscribing = new UnsubscribeService({ ...common, records, tokens: TOKENS });
    this.#options = {
      ...common,
      sender,
      channels: outlets,
      random: () => 0.5,
      keys: () => [],
      scopesOf: async () => new Set(allScopes),
    };
    this.#processes = [new MortalProcess(records), new MortalProcess(beside.records)];
    const errors: unknown[] = [];
    const onError = (error: unknown) => void errors.push(error);
    const loop = startReleaseLoop({ records, schedule: loopSchedule, onError });
    onTestFinished(() => loop.stop());
  }

  async begin(): Promise<void> {
    await this.#store.records.commit(this.#made.steps);
  }

  /** Records a message that arrives during quiet hours. */
  onTaken(text: string): void {
    const { now } = this.#store.clock;
    const isEvent = /E\d+: LONG/.test(text);
    if (isEvent && isQuiet(this.#schedule, now)) {
      this.#disturbing.push(`${new Date(now).toISOString()} ${text}`);
    }
  }

  async take(step: Step): Promise<void> {
    const { clock } = this.#store;
    switch (step.is) {
      case "event":
        return this.#meanwhile(this.#happen());
      case "wait":
        return this.#passTo(clock.now + step.minutes * MINUTE);
      case "edge": {
        const at = nextEdge(this.#schedule, step.of, clock.now + 2 * SECOND);
        if (at === undefined) return;
        await this.#passTo(at + step.seconds * SECOND);
        return this.#meanwhile(this.#happen());
      }
      case "stop":
        clock.now += step.minutes * MINUTE;
        return this.#deliver();
      case "kill":
        return this.#processes[step.process]?.killAfter(step.calls);
      case "schedule":
        this.#schedule = step.schedule;
        return this.#meanwhile(this.#channels.setSchedule(this.#account, this.#id, step.schedule));
      case "pause channel":
      case "resume channel":
        return this.#meanwhile(
          this.#channels.setPaused(this.#account, this.#id, step.is === "pause channel"),
        );
      case "pause alert":
      case "resume alert":
        return this.#meanwhile(
          changeAlert(this.#store, this.#made, { isPaused: step.is === "pause alert" }),
        );
      case "outage":
        // Ten consecutive failures would end a delivery, so a story has at most two outages.
        if (++this.#outages > 2) return;
        this.#chat.behavior = 503;
        await this.#passTo(clock.now + step.minutes * MINUTE);
        this.#chat.behavior = "takes";
        return;
      case "verify again":
        return this.#verifyAgain(step.minutes);
    }
  }

  /** Delivers every waiting event. @returns A description of each violated expectation. */
  async end(): Promise<readonly string[]> {
    await this.#channels.setPaused(this.#account, this.#id, false);
    await changeAlert(this.#store, this.#made, { isPaused: false });
    await this.#passTo(this.#store.clock.now + 5 * DAY);
    const messages = this.#chat.taken.map(({ text }) => symbolsIn(text));
    const told = messages.filter((symbols) => symbols.length > 0);
    const times = Map.groupBy(told.flat(), (symbol) => symbol);
    const lost = [...this.#due].filter((symbol) => !times.has(symbol));
    const invented = [...times.keys()].filter(
      (symbol) => !this.#due.has(symbol) && !this.#dropped.has(symbol),
    );
    const repeats = told.length - new Set(told.map(String)).size;
    const attempts = await attemptsAt(this.#store, this.#made);
    const accepted = attempts.filter(({ error }) => error === "none");
    const recordedTwice = accepted.length - new Set(accepted.map(({ eventId }) => eventId)).size;
    const inTwoDigests = [...Map.groupBy(accepted, ({ eventId }) => eventId).values()].filter(
      (one) => new Set(one.map(({ digestId }) => digestId)).size > 1,
    );
    const left = await queuedIn(this.#store);
    return [
      ...lost.map((symbol) => `${symbol} was lost`),
      ...invented.map((symbol) => `${symbol} was told after it was dropped`),
      ...(repeats > this.#unrecorded ? [`${repeats - this.#unrecorded} messages came twice`] : []),
      ...(recordedTwice > 0 ? [`${recordedTwice} events were accepted twice`] : []),
      ...inTwoDigests.map(() => "an event was in two digests"),
      ...this.#disturbing.map((text) => `in quiet hours: ${text}`),
      ...left.map(({ value }) => `${value.type} is left`),
    ];
  }

  get #account(): string {
    return this.#made.channel.value.accountId;
  }

  get #id(): string {
    return this.#made.channel.key;
  }

  /** Runs both delivery processes during a person's change, and again after it. */
  async #meanwhile(change: Promise<void>): Promise<void> {
    await Promise.all([change, this.#deliver()]);
    await this.#deliver();
  }

  async #happen(): Promise<void> {
    const symbol = `E${this.#events++}`;
    const channel = await this.#store.records.get(channels, this.#id);
    const isDropped = channel?.value.state.is === "disabled";
    (isDropped ? this.#dropped : this.#due).add(symbol);
    await this.#store.records.commit(
      queuedShift(this.#made.alert, symbol, this.#store.clock.now + (this.#events % 1_000)),
    );
  }

  async #verifyAgain(minutes: number): Promise<void> {
    const { clock, records } = this.#store;
    const told = new Set(this.#chat.taken.flatMap(({ text }) => symbolsIn(text)));
    // Waiting events are deleted with the subscription, unless a killed process has just sent them.
    for (const symbol of this.#due) if (!told.has(symbol)) this.#dropped.add(symbol);
    for (const symbol of this.#dropped) this.#due.delete(symbol);
    await this.#unsubscribing.unsubscribe(TOKENS.tokenOf(this.#id));
    await this.#happen();
    await this.#passTo(clock.now + minutes * MINUTE);
    await this.#channels.sendCode(this.#account, this.#id);
    await this.#passTo(clock.now + 2 * LEASE_MS);
    await this.#happen();
    const code = /Your code: (\d{8})/.exec(this.#chat.taken.at(-1)?.text ?? "")?.[1] ?? "";
    expect(await this.#channels.verify(this.#account, this.#id, code)).toBe(true);
    expect((await records.get(channels, this.#id))?.value.state.is).toBe("active");
    await this.#deliver();
  }

  /** Advances the clock to each instant at which a delivery is due, and finally to `until`. */
  async #passTo(until: number): Promise<void> {
    const { clock } = this.#store;
    for (;;) {
      await this.#deliver();
      const queued = await queuedIn(this.#store);
      const next = Math.min(...queued.flatMap(({ dueAt }) => dueAt ?? []));
      if (next > until) break;
      clock.now = Math.max(next, clock.now + 1);
    }
    clock.now = until;
    await this.#deliver();
  }

  /** Runs both processes concurrently until nothing is due, and replaces killed processes. */
  async #deliver(): Promise<void> {
    const { records } = this.#store;
    for (;;) {
      await releasesEnd(this.#store);
      const counts = await Promise.all(this.#processes.map((one) => this.#turn(one)));
      for (const [at, { isDead }] of this.#processes.entries()) {
        if (isDead) this.#processes[at] = new MortalProcess(records);
      }
      if (counts.every((count) => count === 0)) return;
    }
  }

  async #turn(process: MortalProcess): Promise<number> {
    const { records } = process;
    const { sender } = this.#options;
    let sent = 0;
    const send = async (outgoing: Parameters<typeof sender.send>[0]) => {
      const answer = await sender.send(outgoing);
      if (answer.status === 200) sent += 1;
      return answer;
    };
    try {
      const due = await records.claimDue(deliveries, { limit: 5, leaseMs: LEASE_MS });
      const options = {
        ...this.#options,
        records,
        sender: { send },
      };
      const running = new AbortController();
      const ended = due.map((one) => attemptDelivery(one, options, running.signal));
      await Promise.allSettled(ended);
      if (process.isDead) this.#unrecorded += sent;
      return due.length;
    } catch (error) {
      if (!String(error).includes("killed")) throw error;
      return 1;
    }
  }
}

/** Formatters of the local time `HH:MM`, by time zone. */
const wallClocks = new Map<string, Intl.DateTimeFormat>();

/** Returns the local time in a time zone, `HH:MM`. */
function shownIn(timeZone: string, at: number): string {
  let format = wallClocks.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit" });
    wallClocks.set(timeZone, format);
  }
  return format.format(at);
}

/**
 * Whether an instant lies in the quiet hours by local time. Returns false within three hours of a
 * clock change, which `schedule.test.ts` covers.
 */
function isQuiet({ timeZone, quietHours }: ChannelSchedule, at: number): boolean {
  const shown = shownIn(timeZone, at);
  const isChanged = [-3, 3].some((hours) => {
    const [hour, minute] = shownIn(timeZone, at + hours * 60 * MINUTE)
      .split(":")
      .map(Number);
    const [hourNow, minuteNow] = shown.split(":").map(Number);
    const passed = ((hour ?? 0) - (hourNow ?? 0)) * 60 + (minute ?? 0) - (minuteNow ?? 0);
    return (passed - hours * 60) % (24 * 60) !== 0;
  });
  if (quietHours === null || isChanged) return false;
  const { from, to } = quietHours;
  return from < to ? from <= shown && shown < to : from <= shown || shown < to;
}

/**
 * Returns the next instant at which the local time equals a scheduled time, or `undefined` if the
 * schedule has no such time or the clocks skip it.
 */
function nextEdge(
  { timeZone, quietHours, digestAt }: ChannelSchedule,
  of: Edge,
  after: number,
): number | undefined {
  const time = of === "digest" ? digestAt : quietHours?.[of];
  if (time === null || time === undefined) return undefined;
  const first = Math.ceil(after / MINUTE) * MINUTE;
  for (let at = first; at < first + DAY; at += MINUTE) {
    if (shownIn(timeZone, at) === time) return at;
  }
  return undefined;
}

/** Plays one story. @returns A description of each violated expectation. */
async function play(
  engine: Engine,
  start: string,
  first: ChannelSchedule,
  story: readonly Step[],
): Promise<readonly string[]> {
  const store = await openStore(engine);
  const beside = engine.isShared ? await store.openBeside() : store;
  store.clock.now = Date.parse(start);
  let world: World | undefined;
  const chat = await startChat("slack", { onTaken: ({ text }) => world?.onTaken(text) });
  try {
    world = new World(store, beside, chat, first);
    await world.begin();
    for (const step of story) await world.take(step);
    return await world.end();
  } finally {
    await chat.close();
  }
}

const stories = (engine: Engine, numRuns: number) =>
  fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...STARTS),
      schedules,
      fc.array(steps, { minLength: 10, maxLength: 40 }),
      async (start, first, story) => {
        expect(await play(engine, start, first, story)).toEqual([]);
      },
    ),
    { seed: 23, numRuns },
  );

describe("every event of a channel is sent in exactly one digest or single message", () => {
  it(
    "whatever the person changes, while two processes are killed and clocks change (in-memory store)",
    () => stories(model, 40),
    60_000,
  );

  it.skipIf(postgres.isMissing)(
    "whatever the person changes, while two processes are killed and clocks change (PostgreSQL)",
    { tags: [...postgres.tags], timeout: 600_000 },
    async () => {
      await postgres.start();
      await stories(postgres, 5);
    },
  );
});
