import { AsyncLocalStorage } from "node:async_hooks";

/** Starts a timer. @returns A function that cancels it. */
export type Schedule = (run: () => void, delayMs: number) => () => void;

/** A timer of Node.js that does not keep the process alive. */
export const schedule: Schedule = (run, delayMs) => {
  const timer = setTimeout(run, delayMs);
  timer.unref();
  return () => clearTimeout(timer);
};

/** The work of a loop and its timing. */
export interface LoopOptions {
  /** A bounded piece of work. @returns How many items it handled; 0 ends the round. */
  readonly tick: () => Promise<number>;
  /** Pause after a round, in milliseconds. */
  readonly everyMs: number;
  /** Called when a tick fails. That ends the round; the next one retries. */
  readonly onError: (error: unknown) => void;
  readonly schedule: Schedule;
}

/** Work that is repeated until it is stopped. */
export interface Loop {
  /** Starts a round now, or right after the one under way. */
  wake(): void;
  /** Starts no further tick; resolves when the current one has ended. */
  stop(): Promise<void>;
}

/** Repeats a tick, never two at a time: immediately while there is work, otherwise after a pause or
 *  when woken. The first round starts now. */
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
 * Starts a loop whose errors and timers are those of the service; see `startLoop`.
 *
 * @param tick A bounded piece of work. Resolves with how many items it handled; 0 ends the round.
 * @param everyMs Pause after a round, in milliseconds.
 */
export type StartLoop = (tick: () => Promise<number>, everyMs: number) => Loop;
