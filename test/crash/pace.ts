import { setTimeout } from "node:timers/promises";
import type { Report } from "./reports.ts";

/** How writers get on, by this process's clock, in milliseconds, and since `restart`. */
export interface Pace {
  note(report: Report): void;
  /** Starts again. */
  restart(): void;
  /** Writes that were acknowledged, by all lanes together. */
  acknowledged(): number;
  /** Longest time without one. */
  longestGap(): number;
  /** Longest time that a lane waited for one answer. */
  longestWait(): number;
  /** Instant of the last refusal of all times; minus infinity when there was none. */
  lastRefusal(): number;
  /** Resolves with the instant of the next acknowledgement. */
  nextAcknowledgement(): Promise<number>;
}

/** When waiting for writers to be served again is given up, in milliseconds. */
const PATIENCE_MS = 10_000;

/** Time without a refusal after which writers count as recovered, in milliseconds. */
const CALM_MS = 500;

/**
 * Waits until writers that were refused are served again.
 *
 * @returns Milliseconds from now to the first acknowledgement or the last refusal, whichever is
 *   later.
 */
export async function untilHealed(pace: Pace): Promise<number> {
  const since = performance.now();
  const givenUp = setTimeout(PATIENCE_MS, since + PATIENCE_MS);
  const wroteAt = await Promise.race([pace.nextAcknowledgement(), givenUp]);
  const now = () => performance.now();
  while (now() - Math.max(wroteAt, pace.lastRefusal()) < CALM_MS && now() - since < PATIENCE_MS) {
    await setTimeout(CALM_MS / 10);
  }
  return Math.max(wroteAt, pace.lastRefusal()) - since;
}

/** Measures how writers get on. */
export function createPace(): Pace {
  const heardAt = new Map<string, number>();
  const listeners: ((at: number) => void)[] = [];
  let lastRefusal = Number.NEGATIVE_INFINITY;
  let since = { acknowledged: 0, acknowledgedAt: performance.now(), gap: 0, wait: 0 };

  const acknowledge = (now: number) => {
    since.gap = Math.max(since.gap, now - since.acknowledgedAt);
    since.acknowledgedAt = now;
    since.acknowledged++;
    for (const listener of listeners.splice(0)) listener(now);
  };
  return {
    note(report) {
      if (!("lane" in report)) return;
      const now = performance.now();
      since.wait = Math.max(since.wait, now - (heardAt.get(report.lane) ?? now));
      heardAt.set(report.lane, now);
      if (report.is === "held") acknowledge(now);
      if (report.is === "refused" || report.is === "unread") lastRefusal = now;
    },
    restart() {
      const now = performance.now();
      since = { acknowledged: 0, acknowledgedAt: now, gap: 0, wait: 0 };
      for (const lane of heardAt.keys()) heardAt.set(lane, now);
    },
    acknowledged: () => since.acknowledged,
    longestGap: () => Math.max(since.gap, performance.now() - since.acknowledgedAt),
    longestWait: () => Math.max(since.wait, performance.now() - Math.min(...heardAt.values())),
    lastRefusal: () => lastRefusal,
    nextAcknowledgement: () => new Promise((resolve) => listeners.push(resolve)),
  };
}
