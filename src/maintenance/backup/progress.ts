/** Progress of a long-running command. */
export interface CommandProgress {
  /** Current activity, for example `writing the backup`. */
  readonly doing: string;
  /** Number of rows processed so far. */
  readonly rows: number;
  /** Completed fraction, from 0 to 1; an estimate if the store is being written to. */
  readonly fraction: number;
}

/**
 * Called with the progress of a long-running command, at least after every batch of rows. If the
 * callback throws, the command fails.
 */
export type OnCommandProgress = (progress: CommandProgress) => void;

/** Completed fraction, from 0 to 1, of a total that may be unknown, zero or outdated. */
export function completedFraction(done: number, total: number): number {
  return total > 0 ? Math.min(1, done / total) : 1;
}

/** Passes batches through, and reports the progress after each. */
export async function* withProgress<Row>(
  batches: AsyncIterable<readonly Row[]>,
  { doing, total }: { readonly doing: string; readonly total: number },
  onProgress: OnCommandProgress,
): AsyncGenerator<readonly Row[]> {
  let rows = 0;
  for await (const batch of batches) {
    yield batch;
    rows += batch.length;
    onProgress({ doing, rows, fraction: completedFraction(rows, total) });
  }
}
