/** Progress of a long command. */
export interface Progress {
  /** Current activity, for example `writing the backup`. */
  readonly doing: string;
  /** Rows done so far. */
  readonly rows: number;
  /** Fraction done, from 0 to 1; an estimate while the store is being written to. */
  readonly fraction: number;
}

/**
 * Called with the progress of a long command, at least after every batch of rows. If it throws, the
 * command fails.
 */
export type OnProgress = (progress: Progress) => void;

/** Fraction of a total that may be unknown, zero, or outdated. */
export function fractionOf(done: number, total: number): number {
  return total > 0 ? Math.min(1, done / total) : 1;
}
