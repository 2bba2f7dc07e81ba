/** How far a long command is. */
export interface Progress {
  /** What is being done, for example `writing the backup`. */
  readonly doing: string;
  /** Rows done so far. */
  readonly rows: number;
  /** Share that is done, from 0 to 1; an estimate while the store is being written to. */
  readonly fraction: number;
}

/** Called with the progress of a long command, at least after every batch of rows. It may throw, which ends the
 *  command like every other failure. */
export type OnProgress = (progress: Progress) => void;

/** Share of a whole that may be unknown, empty, or have grown since it was counted. */
export function fractionOf(done: number, total: number): number {
  return total > 0 ? Math.min(1, done / total) : 1;
}
