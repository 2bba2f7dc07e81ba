import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type RateName, rateClasses } from "../../../src/limits/classes.ts";
import { createLimits, type Limits } from "../../../src/limits/limits.ts";

const FAR = 1_000_000;

/** Five actions of each caller in ten minutes, whatever its network. */
const five = { overrides: { registrations: { caller: 5, network: FAR, total: FAR } } };

const WINDOW_MS = 1000 * rateClasses.registrations.seconds;

const party = (caller: string, network = "n") => ({ caller, network });

const admit = (limits: Limits, key = "a", network = "n") =>
  limits.admit("registrations", party(key, network));

const look = (limits: Limits, key = "a") => limits.check("registrations", party(key));

async function countTimes(limits: Limits, times: number, key = "a") {
  return Promise.all(Array.from({ length: times }, () => admit(limits, key)));
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Used heap in bytes after a garbage collection. */
function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

describe("limits in one process", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
  });

  it("admit exactly as many actions as the caller's number", async () => {
    const counted = await countTimes(createLimits(five), 7);
    expect(counted.map(({ left, isExceeded }) => [left, isExceeded])).toEqual([
      ...[4, 3, 2, 1, 0].map((left) => [left, false]),
      [0, true],
      [0, true],
    ]);
  });

  it("admit exactly the number out of 2,000 concurrent actions, whatever other callers do", async () => {
    const limits = createLimits({
      overrides: { calls: { caller: 100, network: FAR, total: FAR } },
    });
    const counted = await Promise.all(
      Array.from({ length: 4000 }, (_, at) =>
        limits.admit("calls", party(at % 2 === 0 ? "a" : `b${at}`)),
      ),
    );
    const ofOne = counted.filter((_, at) => at % 2 === 0);
    expect(ofOne.filter(({ isExceeded }) => !isExceeded)).toHaveLength(100);
    expect(counted.filter(({ isExceeded }) => isExceeded)).toHaveLength(1900);
  });

  it("count callers and classes separately", async () => {
    const limits = createLimits(five);
    await countTimes(limits, 9, "a");
    expect(await admit(limits, "b")).toMatchObject({ left: 4, isExceeded: false });
    expect(await limits.admit("claims", party("a"))).toMatchObject({ left: 19 });
  });

  it("refuse all callers of a network that has used its number, and no other network", async () => {
    const overrides = { registrations: { caller: 2, network: 5, total: FAR } };
    const limits = createLimits({ overrides });
    const levels = [];
    for (let at = 0; at < 7; at += 1) {
      const { isExceeded, level, most } = await admit(limits, `caller ${at}`);
      levels.push(isExceeded ? [level, most] : "admitted");
    }
    expect(levels).toEqual([...Array(5).fill("admitted"), ["network", 5], ["network", 5]]);
    expect(await admit(limits, "another", "m")).toMatchObject({ isExceeded: false });
  });

  it("reserve a fifth of the total for networks that have used nothing", async () => {
    const overrides = { registrations: { caller: 5, network: 5, total: 10 } };
    const limits = createLimits({ overrides });
    const admitted = async (network: string, times: number) => {
      const states = [];
      for (let at = 0; at < times; at += 1) states.push(await admit(limits, network, network));
      return states.filter(({ isExceeded }) => !isExceeded).length;
    };
    expect([await admitted("a", 9), await admitted("b", 9)]).toEqual([5, 3]);
    expect([await admitted("c", 9), await admitted("d", 9), await admitted("e", 9)]).toEqual([
      1, 1, 0,
    ]);
    vi.advanceTimersByTime(WINDOW_MS);
    expect(await admitted("a", 1)).toBe(1);
  });

  it("count nothing that they refuse", async () => {
    const overrides = { registrations: { caller: 5, network: 2, total: 100 } };
    const limits = createLimits({ overrides });
    for (let at = 0; at < 9; at += 1) await admit(limits, `caller ${at}`);
    expect(await limits.check("registrations", party("caller 8", "other"))).toMatchObject({
      left: 5,
    });
  });

  it("count the targets of a class apart", async () => {
    const limits = createLimits();
    const code = (target: string) => limits.admit("mailbox-codes", { ...party("a"), target });
    for (let at = 0; at < 3; at += 1) await code("one@example.com");
    expect(await code("one@example.com")).toMatchObject({ isExceeded: true });
    expect(await code("other@example.com")).toMatchObject({ isExceeded: false });
  });

  it("report the end of the window, which further actions do not move", async () => {
    const limits = createLimits(five);
    expect(await admit(limits)).toMatchObject({ resetMs: WINDOW_MS });
    vi.advanceTimersByTime(WINDOW_MS - 1000);
    const [last] = (await countTimes(limits, 9)).slice(-1);
    expect(last).toMatchObject({ resetMs: 1000, isExceeded: true });
    vi.advanceTimersByTime(999);
    expect(await admit(limits)).toMatchObject({ resetMs: 1, isExceeded: true });
    vi.advanceTimersByTime(1);
    expect(await admit(limits)).toMatchObject({ left: 4, isExceeded: false });
  });

  it("can be read without counting", async () => {
    const limits = createLimits(five);
    const untouched = { left: 5, resetMs: WINDOW_MS, isExceeded: false };
    expect(await look(limits)).toMatchObject(untouched);
    expect(await look(limits)).toMatchObject(untouched);
    await countTimes(limits, 4);
    expect(await look(limits)).toMatchObject({ left: 1, isExceeded: false });
    await admit(limits);
    expect(await look(limits)).toMatchObject({ left: 0, isExceeded: true });
    vi.advanceTimersByTime(WINDOW_MS);
    expect(await look(limits)).toMatchObject(untouched);
  });

  it("admit nothing when a number is zero", async () => {
    const overrides = { registrations: { caller: 0, network: 0, total: 0 } };
    const limits = createLimits({ overrides });
    expect(await look(limits)).toMatchObject({ isExceeded: true });
    expect(await admit(limits)).toMatchObject({ left: 0, isExceeded: true });
  });

  it("have the numbers of the classes", async () => {
    const limits = createLimits();
    for (const [name, { caller }] of Object.entries(rateClasses)) {
      expect(await limits.check(name as RateName, party("a"))).toMatchObject({ left: caller });
    }
  });

  it("drop callers when their window ends, and the oldest when the capacity is exceeded", async () => {
    const limits = createLimits(five);
    await countTimes(limits, 4, "old");
    vi.advanceTimersByTime(1);
    await countTimes(limits, 4, "young");
    for (let at = 0; at < 19_999; at += 1) await admit(limits, `k${at}`);
    expect(await look(limits, "old")).toMatchObject({ left: 5 });
    expect(await look(limits, "young")).toMatchObject({ left: 1 });
  });

  it("do not evict a caller that has used its number, however many others arrive", async () => {
    const limits = createLimits(five);
    await countTimes(limits, 5, "spent");
    for (let at = 0; at < 40_000; at += 1) await admit(limits, `k${at}`);
    expect(await look(limits, "spent")).toMatchObject({ isExceeded: true });
    vi.advanceTimersByTime(WINDOW_MS);
    expect(await look(limits, "spent")).toMatchObject({ left: 5 });
  });

  it("still count for a new caller when every other has used its number", async () => {
    const overrides = { registrations: { caller: 2, network: FAR, total: FAR } };
    const limits = createLimits({ overrides });
    for (let at = 0; at < 20_000; at += 1) await countTimes(limits, 2, `k${at}`);
    await admit(limits, "new");
    expect(await look(limits, "new")).toMatchObject({ left: 1 });
    expect(await look(limits, "k0")).toMatchObject({ left: 2 });
    expect(await look(limits, "k1")).toMatchObject({ isExceeded: true });
  });

  it("count a whole class on when actions in 20,000 pools follow", async () => {
    const most = { caller: FAR, network: FAR, total: 5 };
    const limits = createLimits({ overrides: { registrations: most } });
    await countTimes(limits, 4);
    await admit(limits, "b", "another");
    for (let at = 0; at < 20_000; at += 1) {
      await limits.admit("registrations", { ...party("a"), pool: `${at}` });
    }
    expect((await admit(limits, "c", "a third")).isExceeded).toBe(true);
  });

  it("make room by dropping callers whose window has ended", async () => {
    const limits = createLimits(five);
    for (let at = 0; at < 20_000; at += 1) await countTimes(limits, 5, `k${at}`);
    vi.advanceTimersByTime(WINDOW_MS);
    await admit(limits);
    for (let at = 0; at < 19_999; at += 1) await admit(limits, `n${at}`);
    expect(await look(limits)).toMatchObject({ left: 4 });
  });

  it("hash long keys to a fixed size without confusing different keys", async () => {
    const limits = createLimits(five);
    const long = (end: string) => Buffer.from("x".repeat(8000) + end).toString();
    await countTimes(limits, 3, long("a"));
    expect(await look(limits, long("a"))).toMatchObject({ left: 2 });
    expect(await look(limits, long("b"))).toMatchObject({ left: 5 });
    const before = heapUsed();
    for (let at = 0; at < 10_000; at += 1) await admit(limits, long(String(at)), long(`n${at}`));
    expect(heapUsed() - before).toBeLessThan(20_000_000);
  });

  it("store a bounded number of callers and networks", { tags: ["full"] }, async () => {
    const limits = createLimits({
      overrides: { registrations: { caller: 5, network: 5, total: FAR } },
    });
    const before = heapUsed();
    for (let at = 0; at < 100_000; at += 1) await admit(limits, `203.0.113.${at}`, `net ${at}`);
    expect(heapUsed() - before).toBeLessThan(16_000_000);
  });

  it("treat a caller whose window has restarted as recently added", async () => {
    const limits = createLimits(five);
    await admit(limits, "back");
    vi.advanceTimersByTime(WINDOW_MS);
    await admit(limits, "first");
    await countTimes(limits, 4, "back");
    for (let at = 0; at < 19_999; at += 1) await admit(limits, `k${at}`);
    expect(await look(limits, "first")).toMatchObject({ left: 5 });
    expect(await look(limits, "back")).toMatchObject({ left: 1 });
  });
});
