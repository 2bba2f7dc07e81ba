import { setTimeout } from "node:timers/promises";
import type { Report } from "./reports.ts";

/** Timing of the writers since `restart`, in milliseconds by this process's clock. */
export interface Pace {
  note(report: Report): void;
  /** Resets the counters and times. */
  restart(): void;
  /** Number of acknowledged writes of all lanes. */
  acknowledged(): number;
  /** Longest time without an acknowledged write of any lane. */
  longestGap(): number;
  /** Longest time that any lane waited for an answer. */
  longestWait(): number;
  /**
   * Instant of the last refusal, by `performance.now`, even before `restart`; minus infinity when
   * there was none.
   */
  lastRefusal(): number;
  /** Resolves with the instant of the next acknowledgment, by `performance.now`. */
  nextAcknowledgement(): Promise<number>;
}

/** Maximum wait for the recovery of the writers, in milliseconds. */
const PATIENCE_MS = 10_000;

/** Time without a refusal after which writers count as recovered, in milliseconds. */
const CALM_MS = 500;

/**
 * Waits until the store accepts writes again.
 *
 * @returns Time from the call to the first acknowledgment or to the last refusal, whichever is
 * later, in milliseconds.
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

/** Creates the measurement of the writers' timing. */
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
