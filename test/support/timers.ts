import { setImmediate as settled } from "node:timers/promises";
import type { ScheduleTimer } from "../../src/lib/loop.ts";

/** Timers that a test moves. */
export interface ManualTimers {
  /** Milliseconds since the timers were made. */
  readonly now: () => number;
  readonly schedule: ScheduleTimer;
  /** Lets time pass; what is due runs in order, and everything that it started goes as far as it
   *  can without more time. */
  advance(ms: number): Promise<void>;
}

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** Makes timers at the instant 0. */
export function manualTimers(): ManualTimers {
  const timers = new Set<Timer>();
  let now = 0;
  return {
    now: () => now,
    schedule(run, delayMs) {
      const timer = { at: now + delayMs, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async advance(ms) {
      const end = now + ms;
      await settled();
      for (;;) {
        const [next] = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
        if (next === undefined) break;
        now = Math.max(now, next.at);
        timers.delete(next);
        next.run();
        await settled();
      }
      now = end;
    },
  };
}
