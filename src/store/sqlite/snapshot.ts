import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import type { DumpRow } from "../port/store.ts";
import { storeUnavailableProblem } from "../port/unavailable.ts";
import { ArchiveTable } from "./archive.ts";
import { RecordTable } from "./record-table.ts";
import { StoreFile } from "./store-file.ts";

/** Number of rows per batch of a dump. The event loop can run other work between batches. */
const BATCH_ROWS = 200;

/** A consistent snapshot of a database file. */
export class StoreSnapshot {
  readonly #file: StoreFile;

  /** Opens a second connection with a read transaction, which SQLite isolates from later writes. */
  constructor(path: string) {
    this.#file = new StoreFile(path, new DatabaseSync(path, { readOnly: true }));
    this.#file.database.exec("BEGIN; SELECT name FROM meta LIMIT 1");
  }

  batches(): AsyncGenerator<readonly DumpRow[]> {
    return rowBatches(this.#file);
  }

  /** Ends the read transaction. Until then, the write-ahead log keeps growing. */
  close(): void {
    this.#file.close();
  }
}

/** Yields records by revision, then archive rows in insertion order. */
export async function* rowBatches(file: StoreFile): AsyncGenerator<readonly DumpRow[]> {
  const records = new RecordTable(file);
  for (const rows of [records.byRevision(), new ArchiveTable(file, records).inOrder()]) {
    for (let batch = taken(rows); batch.length > 0; batch = taken(rows)) {
      yield batch;
      await setImmediate();
      if (!file.database.isOpen) {
        throw storeUnavailableProblem("The store was closed or replaced meanwhile.");
      }
    }
  }
}

/**
 * Takes the next batch of rows. A `for...of` loop is not used, because it would close the
 * generator.
 */
function taken(rows: Generator<DumpRow>): readonly DumpRow[] {
  const batch: DumpRow[] = [];
  while (batch.length < BATCH_ROWS) {
    const { value, done } = rows.next();
    if (done) break;
    batch.push(value);
  }
  return batch;
}
