import { describe, expect, it } from "vitest";
import { scheduleTimer, startLoop } from "../../../src/lib/loop.ts";
import { manualTimers } from "../../support/timers.ts";

/** A step that processes queued work and that the test can suspend. */
function work(...found: number[]) {
  const errors: unknown[] = [];
  let ticks = 0;
  let gate = Promise.resolve();
  return {
    errors,
    ticks: () => ticks,
    found,
    holdUp(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
    async tick(): Promise<number> {
      ticks += 1;
      await gate;
      const next = found.shift() ?? 0;
      if (Number.isNaN(next)) throw new Error("failed");
      return next;
    },
    onError: (error: unknown) => void errors.push(error),
  };
}

describe("a loop", () => {
  it("ticks at once, then after every pause", async () => {
    const timers = manualTimers();
    const todo = work();
    startLoop({ ...todo, everyMs: 1_000, schedule: timers.schedule });
    expect(todo.ticks()).toBe(1);
    await timers.advance(999);
    expect(todo.ticks()).toBe(1);
    await timers.advance(1);
    expect(todo.ticks()).toBe(2);
    await timers.advance(10_000);
    expect(todo.ticks()).toBe(12);
  });

  it("continues without a pause while there is work", async () => {
    const timers = manualTimers();
    const todo = work(500, 500, 3);
    startLoop({ ...todo, everyMs: 1_000, schedule: timers.schedule });
    await timers.advance(0);
    expect(todo.ticks()).toBe(4);
  });

  it("ticks when woken, and then pauses again", async () => {
    const timers = manualTimers();
    const todo = work();
    const loop = startLoop({ ...todo, everyMs: 1_000, schedule: timers.schedule });
    await timers.advance(900);
    loop.wake();
    await timers.advance(999);
    expect(todo.ticks()).toBe(2);
    await timers.advance(1);
    expect(todo.ticks()).toBe(3);
  });

  it("never runs two ticks at once, and ticks again when it is woken during a tick", async () => {
    const timers = manualTimers();
    const todo = work();
    const letGo = todo.holdUp();
    const loop = startLoop({ ...todo, everyMs: 1_000, schedule: timers.schedule });
    loop.wake();
    loop.wake();
    await timers.advance(5_000);
    expect(todo.ticks()).toBe(1);
    letGo();
    await timers.advance(0);
    expect(todo.ticks()).toBe(2);
    await timers.advance(999);
    expect(todo.ticks()).toBe(2);
  });

  it("reports a failed tick, and retries after the pause", async () => {
    const timers = manualTimers();
    const todo = work(Number.NaN, 0);
    startLoop({ ...todo, everyMs: 1_000, schedule: timers.schedule });
    await timers.advance(0);
    expect(todo.errors).toEqual([new Error("failed")]);
    expect(todo.ticks()).toBe(1);
    await timers.advance(1_000);
    expect(todo.ticks()).toBe(2);
  });

  it("stops after the current tick, and stays stopped", async () => {
    const timers = manualTimers();
    const todo = work(500, 500);
    const letGo = todo.holdUp();
    const loop = startLoop({ ...todo, everyMs: 1_000, schedule: timers.schedule });
    let isStopped = false;
    const stopped = loop.stop().then(() => {
      isStopped = true;
    });
    await timers.advance(0);
    expect(isStopped).toBe(false);
    letGo();
    await stopped;
    loop.wake();
    await timers.advance(5_000);
    expect(todo.ticks()).toBe(1);
    await loop.stop();
  });

  it("runs on the timers of Node.js", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    scheduleTimer(resolve, 0);
    const stop = scheduleTimer(() => expect.unreachable("it was stopped"), 0);
    stop();
    const keepAlive = setInterval(() => {}, 1_000);
    await promise;
    clearInterval(keepAlive);
  });
});
