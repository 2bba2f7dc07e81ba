import { setTimeout as pause } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { Problem } from "../../../src/lib/problem.ts";
import { type LimitOverrides, type RateName, rateClasses } from "../../../src/limits/classes.ts";
import {
  type CountingLimits,
  createLimits,
  type SharedCounting,
} from "../../../src/limits/limits.ts";
import type { CountedWindow, CounterAddition, Counters } from "../../../src/store/port/counters.ts";
import { openStore, PATIENT, postgres, type TestStore } from "../../support/stores.ts";
import { manualTimers } from "../../support/timers.ts";

const FAR = 1_000_000;

/** Five actions of each caller in ten minutes, whatever its network. */
const five: LimitOverrides = { registrations: { caller: 5, network: FAR, total: FAR } };

const WINDOW_MS = 1000 * rateClasses.registrations.seconds;

const party = (caller: string) => ({ caller, network: "n" });

const admit = (limits: CountingLimits, key = "a") => limits.admit("registrations", party(key));

const call = (limits: CountingLimits) => limits.admit("calls", party("a"));

const look = (limits: CountingLimits, key = "a") => limits.check("registrations", party(key));

/** Returns the counters of a test's store. */
function countersOf({ store }: TestStore): Counters {
  if (store.counters === undefined) throw new Error("This store has no counters.");
  return store.counters;
}

/** Wraps counters so that their calls are recorded. */
function noted(counters: Counters) {
  const asked: (readonly CounterAddition[])[] = [];
  return {
    asked,
    add(additions: readonly CounterAddition[]) {
      asked.push(additions);
      return counters.add(additions);
    },
  };
}

const failed = (error: unknown) => {
  throw error;
};

/** Limits of one process, whose clock is the clock of the store. */
function process(
  { clock }: TestStore,
  { overrides = {}, ...counting }: Omit<SharedCounting, "onError"> & { overrides?: LimitOverrides },
): CountingLimits {
  const shared = { timeoutMs: 20_000, ...counting, onError: failed };
  return createLimits({ overrides, now: () => clock.now, shared });
}

async function countTimes(limits: CountingLimits, name: RateName, times: number) {
  return Promise.all(Array.from({ length: times }, () => limits.admit(name, party("a"))));
}

const allowed = (counted: readonly { readonly isExceeded: boolean }[]) =>
  counted.filter(({ isExceeded }) => !isExceeded).length;

const onPostgres = describe.skipIf(postgres.isMissing);
onPostgres("limits of several processes", { ...PATIENT, tags: ["full"] }, () => {
  beforeAll(() => postgres.start(), 3 * PATIENT.timeout);

  it("three processes with 2,000 concurrent calls each allow exactly the shared quota in total", async () => {
    const first = await openStore(postgres);
    const stores = [first, await first.openBeside(), await first.openBeside()];
    const overrides = { registrations: { caller: 100, network: FAR, total: FAR } };
    const processes = stores.map((store) => noted(countersOf(store)));
    const counted = await Promise.all(
      processes.map((counters) =>
        countTimes(process(first, { counters, overrides }), "registrations", 2000),
      ),
    );
    expect(allowed(counted.flat())).toBe(100);
    // Together, the processes report to the database at most as many points as three single
    // processes would be allowed.
    const told = processes.flatMap(({ asked }) =>
      asked
        .flat()
        .filter(({ name }) => name.startsWith("registrations caller"))
        .map(({ points }) => points),
    );
    expect(told.reduce((sum, points) => sum + points, 0)).toBeLessThanOrEqual(300);
  });

  it("exactly the shared quota is allowed out of sequential calls in alternating processes", async () => {
    const first = await openStore(postgres);
    const beside = await first.openBeside();
    const processes = [first, beside].map((store) =>
      process(first, { counters: countersOf(store), overrides: five }),
    );
    const left = [];
    for (let at = 0; at < 8; at += 1) {
      const { left: rest, isExceeded } = await admit(processes[at % 2] as CountingLimits);
      left.push([rest, isExceeded]);
    }
    expect(left).toEqual([
      ...[4, 3, 2, 1, 0].map((rest) => [rest, false]),
      ...[0, 0, 0].map((rest) => [rest, true]),
    ]);
    const [first_] = processes as [CountingLimits];
    expect(await look(first_)).toMatchObject({ isExceeded: true });
    expect(await look(first_, "b")).toMatchObject({ left: 5, resetMs: WINDOW_MS });
  });

  it("a call that one process counts also counts in the other processes", async () => {
    const first = await openStore(postgres);
    const beside = await first.openBeside();
    const [one, other] = [first, beside].map((store) =>
      process(first, { counters: countersOf(store), overrides: five }),
    ) as [CountingLimits, CountingLimits];
    await countTimes(one, "registrations", 5);
    first.clock.now += WINDOW_MS - 1000;
    expect(await look(other)).toMatchObject({ isExceeded: true, resetMs: 1000 });
    first.clock.now += 1000;
    expect(await admit(other)).toMatchObject({ left: 4, resetMs: WINDOW_MS });
    expect(await look(one)).toMatchObject({ left: 4 });
  });

  it("no query is sent for a key that is known to be exhausted", async () => {
    const store = await openStore(postgres);
    const counters = noted(countersOf(store));
    const limits = process(store, { counters, overrides: five });
    await countTimes(limits, "registrations", 5);
    const before = counters.asked.length;
    await countTimes(limits, "registrations", 500);
    expect(counters.asked.length).toBe(before);
  });

  it("three processes leave the reserve to networks that have used nothing, whoever counts at once", async () => {
    const first = await openStore(postgres);
    const stores = [first, await first.openBeside(), await first.openBeside()];
    const overrides = { registrations: { caller: 100, network: 100, total: 100 } };
    const processes = stores.map((store) =>
      process(first, { counters: countersOf(store), overrides }),
    );
    const from = (network: string, times: number) =>
      processes.flatMap((limits) =>
        Array.from({ length: times }, () =>
          limits.admit("registrations", { caller: network, network }),
        ),
      );
    const known = ["a", "b", "c"].flatMap((network) => from(network, 1));
    await Promise.all(known);
    const counted = await Promise.all(["a", "b", "c"].flatMap((network) => from(network, 50)));
    expect(allowed(counted) + known.length).toBe(80);
    const fresh = Array.from({ length: 10 }, (_, at) => from(`new ${at}`, 1)).flat();
    expect(allowed(await Promise.all(fresh))).toBe(10);
  });

  it("the reserve ends with its total, however late it was begun", async () => {
    const store = await openStore(postgres);
    const counters = countersOf(store);
    const numbers = { caller: 100, network: 100, total: 100 };
    const limits = process(store, { counters, overrides: { registrations: numbers } });
    const from = (network: string) => limits.admit("registrations", { caller: network, network });
    const useUp = async (round: string, pauseMs: number) => {
      const known = await Promise.all(Array.from({ length: 90 }, () => from("flood")));
      store.clock.now += pauseMs;
      const fresh = Array.from({ length: 30 }, (_, at) => from(`${round} ${at}`));
      return [allowed(known), allowed(await Promise.all(fresh))];
    };
    expect(await useUp("first", WINDOW_MS / 2)).toEqual([80, 20]);
    store.clock.now += WINDOW_MS / 2;
    expect(await useUp("second", 0)).toEqual([80, 20]);
  });

  it("concurrent calls are counted with a single query", async () => {
    const store = await openStore(postgres);
    const counters = noted(countersOf(store));
    const limits = process(store, { counters });
    await Promise.all(Array.from({ length: 200 }, (_, at) => admit(limits, `k${at % 100}`)));
    expect(counters.asked).toHaveLength(1);
    // A window for each caller, one for their network and one for the total.
    expect(counters.asked[0]).toHaveLength(102);
    expect(await look(limits, "k7")).toMatchObject({ left: 298 });
  });

  it("every key is accepted, even a key that a database cannot store", async () => {
    const store = await openStore(postgres);
    const counters = countersOf(store);
    const keys = ["nul \0", "half \ud800", "x".repeat(9000), "ünïcode", "", "' ; drop --", "$1"];
    for (const limits of [0, 1].map(() => process(store, { counters, overrides: five }))) {
      for (const key of keys) await admit(limits, key);
    }
    const limits = process(store, { counters, overrides: five });
    for (const key of keys) {
      expect(await look(limits, key)).toMatchObject({ left: 3 });
    }
  });

  it("call counts are deleted after their windows have ended, and not before", async () => {
    const store = await openStore(postgres);
    const counters = countersOf(store);
    const limits = process(store, { counters, overrides: five });
    await admit(limits, "old");
    store.clock.now += WINDOW_MS - 1;
    await admit(limits, "young");
    const points = async (name: string) => {
      const [window] = await counters.add([{ name, points: 0, windowMs: 1 }]);
      return window?.points;
    };
    await counters.sweep();
    expect([
      await points("registrations caller old"),
      await points("registrations caller young"),
    ]).toEqual([1, 1]);
    store.clock.now += 1;
    expect(await counters.sweep()).toBe(0);
    store.clock.now -= 1;
    expect([
      await points("registrations caller old"),
      await points("registrations caller young"),
    ]).toEqual([0, 1]);
  });
});

/** In-memory counters that a test can suspend or make fail. */
function fakeCounters() {
  const windows = new Map<string, number>();
  let held: (() => void)[] | undefined;
  let failure: Error | undefined;
  const asked: (readonly CounterAddition[])[] = [];
  return {
    asked,
    windows,
    async add(additions: readonly CounterAddition[]): Promise<readonly CountedWindow[]> {
      asked.push(additions);
      if (held !== undefined) await new Promise<void>((resolve) => held?.push(resolve));
      if (failure !== undefined) throw failure;
      return additions.map(({ name, points, windowMs }) => {
        const total = (windows.get(name) ?? 0) + points;
        windows.set(name, total);
        return { points: total, leftMs: windowMs };
      });
    },
    /** Suspends all responses from now on. */
    hold() {
      held = [];
    },
    /** Sends all suspended responses. */
    release() {
      for (const go of held ?? []) go();
      held = undefined;
    },
    fail(error: Error | undefined) {
      failure = error;
    },
  };
}

/** Limits on in-memory counters, with timers that the test advances. */
function onFake(overrides: LimitOverrides) {
  const counters = fakeCounters();
  const timers = manualTimers();
  const errors: unknown[] = [];
  const { now, schedule } = timers;
  const onError = (error: unknown) => void errors.push(error);
  const limits = createLimits({ overrides, now, shared: { counters, schedule, onError } });
  return { counters, timers, errors, limits };
}

describe("limits whose database does not respond", () => {
  it("continue in memory after 250 ms, from the last known counts", async () => {
    const { counters, timers, limits } = onFake(five);
    await countTimes(limits, "registrations", 2);
    counters.windows.set("registrations caller a", 3);
    await look(limits);
    counters.hold();
    const waiting = admit(limits);
    let isAnswered = false;
    void waiting.then(() => (isAnswered = true));
    await timers.advance(249);
    expect(isAnswered).toBe(false);
    await timers.advance(1);
    expect(await waiting).toMatchObject({ left: 1, isExceeded: false });
    expect(await countTimes(limits, "registrations", 3)).toMatchObject([
      { left: 0, isExceeded: false },
      { isExceeded: true },
      { isExceeded: true },
    ]);
    // No second request is sent while one request is pending.
    expect(counters.asked).toHaveLength(3);
  });

  it("respond at once during an outage, even for new keys", async () => {
    const { counters, timers, limits } = onFake(five);
    counters.hold();
    const first = admit(limits);
    await timers.advance(250);
    await first;
    for (let at = 0; at < 1000; at += 1) await admit(limits, `k${at}`);
    expect(counters.asked).toHaveLength(1);
    expect(await look(limits, "k999")).toMatchObject({ left: 4 });
  });

  it("never allow more than the quota in one process, whenever the outage starts", async () => {
    const { counters, timers, limits } = onFake(five);
    const counted = [];
    for (let at = 0; at < 12; at += 1) {
      if (at === 2 || at === 7) counters.hold();
      if (at === 4) counters.release();
      const counting = admit(limits);
      await timers.advance(300);
      counted.push(await counting);
    }
    expect(allowed(counted)).toBe(5);
  });

  it("recover automatically, and then share their counts between processes again", async () => {
    const { counters, timers, limits } = onFake(five);
    counters.hold();
    const first = admit(limits);
    await timers.advance(250);
    await first;
    counters.release();
    await timers.advance(0);
    counters.windows.set("registrations caller a", 4);
    expect(await admit(limits)).toMatchObject({ left: 0, isExceeded: false });
    expect(counters.windows.get("registrations caller a")).toBe(5);
  });

  it("count a call only once when the database responds late", async () => {
    const { counters, timers, limits } = onFake(five);
    counters.hold();
    const late = admit(limits);
    await timers.advance(250);
    expect(await late).toMatchObject({ left: 4 });
    counters.release();
    await timers.advance(0);
    expect(await look(limits)).toMatchObject({ left: 4 });
  });

  it("query a failing database at most once a second, and report the failure", async () => {
    const { counters, timers, errors, limits } = onFake(five);
    counters.fail(
      new Problem("store_unavailable", {
        detail: "The database does not answer.",
        next: "Try again in a moment.",
      }),
    );
    for (let at = 0; at < 5; at += 1) await admit(limits, `k${at}`);
    expect([counters.asked.length, errors.length]).toEqual([1, 1]);
    await timers.advance(1000);
    counters.fail(undefined);
    await admit(limits, "probe");
    await timers.advance(0);
    await admit(limits);
    expect(counters.windows.get("registrations caller a")).toBe(1);
    expect(errors).toHaveLength(1);
  });

  it("let later callers wait no longer than the first caller while a query is pending", async () => {
    const { counters, timers, limits } = onFake(five);
    counters.hold();
    const first = admit(limits);
    await timers.advance(200);
    const second = admit(limits, "b");
    await timers.advance(50);
    expect(await Promise.all([first, second])).toMatchObject([{ left: 4 }, { left: 4 }]);
  });
});

describe("calls counted across processes", () => {
  const calls = { calls: { caller: 10, network: FAR, total: FAR } };

  it("are reported to the database at the first call and then once a second, without delaying a call", async () => {
    const { counters, timers, limits } = onFake(calls);
    counters.hold();
    expect(await countTimes(limits, "calls", 4)).toMatchObject(
      [9, 8, 7, 6].map((left) => ({ left })),
    );
    counters.release();
    await timers.advance(999);
    const told = () =>
      counters.asked
        .flat()
        .filter(({ name }) => name === "calls caller a")
        .map(({ points }) => points);
    expect(told()).toEqual([1]);
    await timers.advance(1);
    expect(told()).toEqual([1, 3]);
    const before = counters.asked.length;
    expect(counters.windows.get("calls caller a")).toBe(4);
    await timers.advance(10_000);
    expect(counters.asked).toHaveLength(before);
  });

  it("are rejected when all processes together exceed the limit", async () => {
    const { counters, timers, limits } = onFake(calls);
    await call(limits);
    counters.windows.set("calls caller a", 9);
    await call(limits);
    await timers.advance(1000);
    expect(await limits.check("calls", party("a"))).toMatchObject({ left: 0, isExceeded: true });
    expect(await call(limits)).toMatchObject({ isExceeded: true });
  });

  it("are counted together with the calls of other processes as soon as the first call has been reported", async () => {
    const { counters, timers, limits } = onFake(calls);
    counters.windows.set("calls caller a", 10);
    expect(await call(limits)).toMatchObject({ isExceeded: false });
    await timers.advance(0);
    expect(await call(limits)).toMatchObject({ isExceeded: true });
  });

  it("require one query per second, however many calls are counted", async () => {
    const { counters, timers, limits } = onFake({});
    const everybody = async () => {
      for (let at = 0; at < 300; at += 1) await limits.admit("calls", party(`agent:${at}`));
    };
    await everybody();
    await timers.advance(0);
    const before = counters.asked.length;
    for (let second = 0; second < 5; second += 1) {
      for (let at = 0; at < 3; at += 1) await everybody();
      await timers.advance(1000);
    }
    expect(counters.asked.length - before).toBe(5);
    expect(counters.windows.get("calls caller agent:7")).toBe(16);
  });

  it("are reported to the database when the process ends", async () => {
    const { counters, limits } = onFake(calls);
    await countTimes(limits, "calls", 4);
    await limits.sync();
    expect(counters.windows.get("calls caller a")).toBe(4);
  });

  it("are limited per process while the database does not respond, and are dropped when their window ends", async () => {
    const { counters, timers, limits } = onFake(calls);
    counters.hold();
    expect(allowed(await countTimes(limits, "calls", 30))).toBe(10);
    await timers.advance(59_000);
    expect(await call(limits)).toMatchObject({ isExceeded: true, resetMs: 1000 });
    await timers.advance(1000);
    expect(await call(limits)).toMatchObject({ left: 9 });
    counters.release();
    await pause(0);
  });
});
