import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Starts a timer.
 * @returns A function that cancels the timer.
 */
export type ScheduleTimer = (run: () => void, delayMs: number) => () => void;

/** Starts a Node.js timer that does not keep the process alive. */
export const scheduleTimer: ScheduleTimer = (run, delayMs) => {
  const timer = setTimeout(run, delayMs);
  timer.unref();
  return () => clearTimeout(timer);
};

/** The work of a loop and its timing. */
interface LoopOptions {
  /**
   * Does a bounded amount of work.
   * @returns The number of items handled; 0 ends the round.
   */
  readonly tick: () => Promise<number>;
  /** Pause after a round, in milliseconds. */
  readonly everyMs: number;
  /** Called when a tick fails. The failure ends the round; the next round tries again. */
  readonly onError: (error: unknown) => void;
  readonly schedule: ScheduleTimer;
}

/** Work that is repeated until it is stopped. */
export interface Loop {
  /** Starts a round now, or as soon as the current round has ended. */
  wake(): void;
  /** Prevents further ticks; resolves when the current tick has ended. */
  stop(): Promise<void>;
}

/**
 * Runs a tick repeatedly, never two at a time: immediately while there is work, otherwise after a
 * pause or when woken. The first round starts at once.
 */
export function startLoop({ tick, everyMs, onError, schedule }: LoopOptions): Loop {
  // Ticks must not inherit the async context of the request that wakes the loop.
  const outside = AsyncLocalStorage.snapshot();
  let running: Promise<void> | undefined;
  let isWoken = false;
  let isStopped = false;
  let cancel = () => {};

  const round = async (): Promise<void> => {
    try {
      while (!isStopped && (await tick()) > 0);
    } catch (error) {
      onError(error);
    }
    running = undefined;
    if (!isStopped) cancel = schedule(wake, isWoken ? 0 : everyMs);
  };
  const wake = (): void => {
    if (isStopped) return;
    isWoken = running !== undefined;
    if (isWoken) return;
    cancel();
    running = outside(round);
  };

  wake();
  return {
    wake,
    async stop() {
      isStopped = true;
      cancel();
      await running;
    },
  };
}

/**
 * Starts a loop with the service's error handler and timers; see `startLoop`.
 *
 * @param tick Does a bounded amount of work, and resolves with the number of items handled; 0 ends
 * the round.
 * @param everyMs Pause after a round, in milliseconds.
 */
export type StartLoop = (tick: () => Promise<number>, everyMs: number) => Loop;
