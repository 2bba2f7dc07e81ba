import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createLimits } from "../../../src/limits/memory-limits.ts";
import { type Limits, type QuotaName, quotas } from "../../../src/limits/quotas.ts";

const five = { overrides: { apply: { points: 5, windowSeconds: 60 } } };

async function countTimes(limits: Limits, times: number, key = "a") {
  const counts = Array.from({ length: times }, () => limits.count("apply", key));
  return Promise.all(counts);
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Used heap in bytes after a garbage collection. */
function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

describe("in-memory limits", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
  });

  it("allow exactly as many calls as the quota has points", async () => {
    const counted = await countTimes(createLimits(five), 7);
    expect(counted.map(({ points, isExceeded }) => [points, isExceeded])).toEqual([
      ...[4, 3, 2, 1, 0].map((points) => [points, false]),
      [0, true],
      [0, true],
    ]);
  });

  it("allow exactly the quota out of 2,000 concurrent calls, whatever other keys are counted", async () => {
    const limits = createLimits({ overrides: { calls: { points: 100, windowSeconds: 60 } } });
    const counted = await Promise.all(
      Array.from({ length: 4000 }, (_, at) => limits.count("calls", at % 2 === 0 ? "a" : `b${at}`)),
    );
    const ofOne = counted.filter((_, at) => at % 2 === 0);
    expect(ofOne.filter(({ isExceeded }) => !isExceeded)).toHaveLength(100);
    expect(counted.filter(({ isExceeded }) => isExceeded)).toHaveLength(1900);
  });

  it("count keys and quotas separately", async () => {
    const limits = createLimits(five);
    await countTimes(limits, 9, "a");
    expect(await limits.count("apply", "b")).toMatchObject({ points: 4, isExceeded: false });
    expect(await limits.count("apply-day", "a")).toMatchObject({ points: 19, isExceeded: false });
  });

  it("report the end of the window, which further calls do not move", async () => {
    const limits = createLimits(five);
    expect(await limits.count("apply", "a")).toMatchObject({ resetMs: 60_000 });
    vi.advanceTimersByTime(59_000);
    const [last] = (await countTimes(limits, 9)).slice(-1);
    expect(last).toMatchObject({ resetMs: 1000, isExceeded: true });
    vi.advanceTimersByTime(999);
    expect(await limits.count("apply", "a")).toMatchObject({ resetMs: 1, isExceeded: true });
    vi.advanceTimersByTime(1);
    expect(await limits.count("apply", "a")).toMatchObject({ points: 4, isExceeded: false });
  });

  it("report the quota and its policy", async () => {
    const limits = createLimits(five);
    expect(await limits.count("apply", "a")).toMatchObject({
      quota: "apply",
      policy: { points: 5, windowSeconds: 60 },
    });
    expect(await limits.peek("token", "a")).toMatchObject({
      quota: "token",
      policy: quotas.token,
    });
  });

  it("can be read without counting a call", async () => {
    const limits = createLimits(five);
    const untouched = { points: 5, resetMs: 60_000, isExceeded: false };
    expect(await limits.peek("apply", "a")).toMatchObject(untouched);
    expect(await limits.peek("apply", "a")).toMatchObject(untouched);
    await countTimes(limits, 4);
    expect(await limits.peek("apply", "a")).toMatchObject({ points: 1, isExceeded: false });
    await limits.count("apply", "a");
    expect(await limits.peek("apply", "a")).toMatchObject({ points: 0, isExceeded: true });
    vi.advanceTimersByTime(60_000);
    expect(await limits.peek("apply", "a")).toMatchObject(untouched);
  });

  it("allow no call when the quota is zero", async () => {
    const limits = createLimits({ overrides: { contact: { points: 0, windowSeconds: 60 } } });
    expect(await limits.peek("contact", "a")).toMatchObject({ isExceeded: true });
    expect(await limits.count("contact", "a")).toMatchObject({ points: 0, isExceeded: true });
  });

  it("have default quotas", async () => {
    const limits = createLimits();
    for (const name of Object.keys(quotas) as QuotaName[]) {
      expect(await limits.peek(name, "a")).toMatchObject({ points: quotas[name].points });
    }
  });

  it("drop keys when their window ends, and the oldest keys when the capacity is exceeded", async () => {
    const limits = createLimits(five);
    await countTimes(limits, 4, "old");
    vi.advanceTimersByTime(1);
    await countTimes(limits, 4, "young");
    for (let at = 0; at < 19_999; at += 1) await limits.count("apply", `k${at}`);
    expect(await limits.peek("apply", "old")).toMatchObject({ points: 5 });
    expect(await limits.peek("apply", "young")).toMatchObject({ points: 1 });
    vi.advanceTimersByTime(60_000);
  });

  it("do not evict an exhausted key, however many new keys arrive", async () => {
    const limits = createLimits(five);
    await countTimes(limits, 5, "spent");
    for (let at = 0; at < 40_000; at += 1) await limits.count("apply", `k${at}`);
    expect(await limits.peek("apply", "spent")).toMatchObject({ isExceeded: true });
    vi.advanceTimersByTime(60_000);
    expect(await limits.peek("apply", "spent")).toMatchObject({ points: 5 });
  });

  it("still count for a new key when every other key has no points left", async () => {
    const limits = createLimits({ overrides: { apply: { points: 2, windowSeconds: 60 } } });
    for (let at = 0; at < 20_000; at += 1) await countTimes(limits, 2, `k${at}`);
    await limits.count("apply", "new");
    expect(await limits.peek("apply", "new")).toMatchObject({ points: 1 });
    expect(await limits.peek("apply", "k0")).toMatchObject({ points: 2 });
    expect(await limits.peek("apply", "k1")).toMatchObject({ isExceeded: true });
  });

  it("make room by dropping keys whose window has ended", async () => {
    const limits = createLimits(five);
    for (let at = 0; at < 20_000; at += 1) await countTimes(limits, 5, `k${at}`);
    vi.advanceTimersByTime(60_000);
    await limits.count("apply", "a");
    for (let at = 0; at < 19_999; at += 1) await limits.count("apply", `n${at}`);
    expect(await limits.peek("apply", "a")).toMatchObject({ points: 4 });
  });

  it("hash long keys to a fixed size without confusing different keys", async () => {
    const limits = createLimits(five);
    const long = (end: string) => Buffer.from("x".repeat(8000) + end).toString();
    await countTimes(limits, 3, long("a"));
    expect(await limits.peek("apply", long("a"))).toMatchObject({ points: 2 });
    expect(await limits.peek("apply", long("b"))).toMatchObject({ points: 5 });
    const before = heapUsed();
    for (let at = 0; at < 10_000; at += 1) await limits.count("apply", long(String(at)));
    expect(heapUsed() - before).toBeLessThan(20_000_000);
  });

  it("store a bounded number of keys", { tags: ["full"] }, async () => {
    const limits = createLimits(five);
    const before = heapUsed();
    for (let at = 0; at < 100_000; at += 1) await limits.count("apply", `203.0.113.${at}`);
    expect(heapUsed() - before).toBeLessThan(8_000_000);
  });

  it("treat a key whose window has restarted as recently added", async () => {
    const limits = createLimits(five);
    await limits.count("apply", "back");
    vi.advanceTimersByTime(60_000);
    await limits.count("apply", "first");
    await countTimes(limits, 4, "back");
    for (let at = 0; at < 19_999; at += 1) await limits.count("apply", `k${at}`);
    expect(await limits.peek("apply", "first")).toMatchObject({ points: 5 });
    expect(await limits.peek("apply", "back")).toMatchObject({ points: 1 });
  });
});
