import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import type { DumpRow } from "../port/store.ts";
import { storeUnavailableProblem } from "../port/unavailable.ts";
import { ArchiveTable } from "./archive.ts";
import { RecordTable } from "./record-table.ts";
import { StoreFile } from "./store-file.ts";

/** Number of rows per batch of a dump: what its reader works on in one turn of the event loop. */
const BATCH_ROWS = 200;

/**
 * Number of rows read in one turn of the event loop, a divisor of `BATCH_ROWS`. Each commit
 * waits for such a turn, so a larger number makes a backup shorter and writes beside it slower.
 */
const TURN_ROWS = 20;

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
    let batch: DumpRow[] = [];
    for (const row of rows) {
      batch.push(row);
      if (batch.length % TURN_ROWS > 0) continue;
      if (batch.length === BATCH_ROWS) {
        yield batch;
        batch = [];
      }
      await nextTurn(file);
    }
    if (batch.length > 0) yield batch;
    await nextTurn(file);
  }
}

/** Lets the event loop do other work. @throws {Problem} If the file was closed by it. */
async function nextTurn({ database }: StoreFile): Promise<void> {
  await setImmediate();
  if (database.isOpen) return;
  throw storeUnavailableProblem("The store was closed or replaced meanwhile.");
}
