import { AsyncLocalStorage } from "node:async_hooks";
/** Starts a timer. @returns Stops it. */
export type Schedule = (run: () => void, delayMs: number) => () => void;

/** A timer of the process; it does not keep the process alive. */
export const schedule: Schedule = (run, delayMs) => {
  const timer = setTimeout(run, delayMs);
  timer.unref();
  return () => clearTimeout(timer);
};

/** What is repeated, and how. */
export interface LoopOptions {
  /** A bounded piece of work. @returns How much it found; 0 ends the round. */
  readonly tick: () => Promise<number>;
  /** Pause after a round, in milliseconds. */
  readonly everyMs: number;
  /** Told when a tick failed. The round ends, and the next one tries again. */
  readonly onError: (error: unknown) => void;
  readonly schedule: Schedule;
}

/** Work that is repeated until it is stopped. */
export interface Loop {
  /** Starts a round now, or right after the one under way. */
  wake(): void;
  /** No tick starts after this; resolves when the one under way has ended. */
  stop(): Promise<void>;
}

/** Repeats a tick, never two at once: at once while it finds something, otherwise after a pause or
 *  when woken. The first round starts now. */
export function startLoop({ tick, everyMs, onError, schedule }: LoopOptions): Loop {
  // Whoever wakes a loop is not the caller of what it does.
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

/** Work that goes on until it is stopped. */
interface Repetition {
  /** Does it now, or right after the time under way. */
  wake(): void;
  /** Resolves when the time under way has ended. */
  stop(): Promise<void>;
}

/**
 * Does something again and again, never twice at once: at once while it finds something, otherwise
 * after a pause or when woken. The first time is now; after a failure it goes on.
 *
 * @param tick A bounded piece of work. Resolves with how much it found; 0 ends the round.
 * @param everyMs Pause after a round, in milliseconds.
 */
export type Repeat = (tick: () => Promise<number>, everyMs: number) => Repetition;
