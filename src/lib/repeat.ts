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
