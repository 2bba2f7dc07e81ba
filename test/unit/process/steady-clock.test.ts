import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSteadyClock } from "../../../src/process/steady-clock.ts";
import { openPersistentState } from "../../../src/state.ts";
import { put } from "../../../src/store/port/operations.ts";
import { collection } from "../../../src/store/port/records.ts";

const HOUR_MS = 3_600_000;
const START = Date.UTC(2026, 10, 21, 12);

const jobs = collection<number>("jobs");
const tokens = collection<number>("tokens");

/** A simulated machine whose time passes and whose wall clock can be set. */
function machine() {
  const at = { wall: START, monotonic: 12_345.678 };
  const clock = { wall: () => at.wall, monotonic: () => at.monotonic };
  return {
    ...clock,
    newClock: () => createSteadyClock(clock),
    pass(ms: number) {
      at.wall += ms;
      at.monotonic += ms;
    },
    setClock(byMs: number) {
      at.wall += byMs;
    },
  };
}

describe("a steady clock", () => {
  it("starts at the machine's time and advances with elapsed time, in whole milliseconds", () => {
    const { newClock, pass } = machine();
    const clock = newClock();
    expect(clock()).toBe(START);
    pass(0.9);
    expect(clock()).toBe(START);
    pass(0.2);
    expect(clock()).toBe(START + 1);
    pass(HOUR_MS);
    expect(clock()).toBe(START + HOUR_MS + 1);
  });

  it.each([HOUR_MS, -HOUR_MS])(
    "does not jump when the machine's clock is changed by %d ms",
    (byMs) => {
      const { newClock, pass, setClock } = machine();
      const clock = newClock();
      pass(1_000);
      setClock(byMs);
      expect(clock()).toBe(START + 1_000);
      pass(1_000);
      expect(clock()).toBe(START + 2_000);
      expect(newClock()()).toBe(START + 2_000 + byMs);
    },
  );
});

describe.each([HOUR_MS, -HOUR_MS])("when the machine's clock is changed by %d ms", (byMs) => {
  /** The embedded store as the service opens it. */
  async function open() {
    const { wall, newClock, pass, setClock } = machine();
    const folder = await mkdtemp(join(tmpdir(), "steady-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const state = await openPersistentState({
      choice: { folder, databaseUrl: undefined, masterKey: undefined },
      mode: "sandbox",
      now: wall,
      storeNow: newClock(),
      log: pino({ level: "silent" }),
    });
    onTestFinished(() => state.close());
    const { records } = state.store;
    const claim = async () => {
      const claimed = await records.claimDue(jobs, { limit: 9, leaseMs: 60_000 });
      return claimed.map(({ key }) => key);
    };
    return { records, claim, pass, setClock };
  }

  it("records still become due on time", async () => {
    const { records, claim, pass, setClock } = await open();
    await records.commit([
      put(jobs, { key: "soon", value: 1, dueInMs: 5_000 }),
      put(jobs, { key: "later", value: 1, dueInMs: 300_000 }),
    ]);
    setClock(byMs);
    expect(await claim()).toEqual([]);
    pass(4_999);
    expect(await claim()).toEqual([]);
    pass(1);
    expect(await claim()).toEqual(["soon"]);
    pass(59_999);
    expect(await claim()).toEqual([]);
    pass(1);
    expect(await claim()).toEqual(["soon"]);
    await records.commit([put(jobs, { key: "new", value: 1, dueInMs: 0 })]);
    expect(await claim()).toEqual(["new"]);
  });

  it("a lease acquired before the change still ends on time", async () => {
    const { records, claim, pass, setClock } = await open();
    await records.commit([put(jobs, { key: "a", value: 1, dueInMs: 0 })]);
    expect(await claim()).toEqual(["a"]);
    setClock(byMs);
    pass(59_999);
    expect(await claim()).toEqual([]);
    pass(1);
    expect(await claim()).toEqual(["a"]);
  });

  it("a record still expires on time", async () => {
    const { records, pass, setClock } = await open();
    await records.commit([put(tokens, { key: "a", value: 1, ttlMs: 1_000 })]);
    setClock(byMs);
    pass(999);
    expect(await records.get(tokens, "a")).toBeDefined();
    pass(1);
    expect(await records.get(tokens, "a")).toBeUndefined();
  });
});
