import { setImmediate as settled } from "node:timers/promises";
import type { ScheduleTimer } from "../../src/lib/loop.ts";

/** A clock and timers that the test advances. */
export interface ManualTimers {
  /** Milliseconds since the creation of the timers. */
  readonly now: () => number;
  readonly schedule: ScheduleTimer;
  /**
   * Advances the clock. Due timers run in order, and pending promises settle after each of them.
   */
  advance(ms: number): Promise<void>;
}

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** Creates timers whose clock starts at 0. */
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
