import { setImmediate } from "node:timers/promises";
import type { DumpRow, StoreIdentity } from "../store.ts";
import { storeUnavailable } from "../unavailable.ts";
import type { ArchiveSnapshot } from "./archive-table.ts";
import type { Entry } from "./entry.ts";
import { refusalOf } from "./failure.ts";
import { type Holder, openFiles } from "./files.ts";
import type { Gate } from "./gate.ts";
import { type Paths, settleNext } from "./paths.ts";
import { createStaging, REVISION_GAP, type Staging } from "./staging.ts";

/** Rows in a batch; the event loop turns between two. */
const BATCH_ROWS = 500;

/** What copies are made of. */
export interface CopyOptions {
  readonly holder: Holder;
  readonly gate: Gate;
  readonly paths: Paths;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Every row of the instant at which the first batch is asked for. Expired records are there until
 *  they are purged. */
export async function* dump({ holder, gate }: CopyOptions): AsyncGenerator<readonly DumpRow[]> {
  gate.checkReadable();
  const { base, archive } = holder.files;
  const entries = base.data.shelf.all();
  const snapshot = archive.snapshot();
  try {
    for (const rows of batchesOf(entries, snapshot)) {
      yield rows;
      await setImmediate();
      if (!snapshot.isOpen) throw storeUnavailable("The store was closed or replaced meanwhile.");
    }
  } catch (error) {
    throw gate.refusal(error);
  } finally {
    snapshot.close();
  }
}

function* batchesOf(
  entries: readonly Entry[],
  snapshot: ArchiveSnapshot,
): Generator<readonly DumpRow[]> {
  for (let at = 0; at < entries.length; at += BATCH_ROWS) {
    yield entries.slice(at, at + BATCH_ROWS).map(dumpRowOf);
  }
  for (let after = 0; ; ) {
    const { rows, last } = snapshot.batch(after, BATCH_ROWS);
    if (rows.length === 0) return;
    yield rows;
    after = last;
  }
}

function dumpRowOf({ collection, stored, text }: Entry): DumpRow {
  const { key, revision, groups, expiresAt = null, dueAt = null, consumedAt = null } = stored;
  return {
    ...{ table: "record", collection, key, text, revision, groups },
    ...{ expiresAt, dueAt, consumedAt },
  };
}

/** Replaces what a store holds. */
export interface Loader {
  /** As `Store.load`. */
  load(identity: StoreIdentity, batches: AsyncIterable<readonly DumpRow[]>): Promise<void>;
  /** Leaves nothing of a load that is under way. */
  abandon(): void;
}

/**
 * Loads into new files beside those in use, which answer reads meanwhile, and puts them in their
 * place at once when they are whole.
 */
export function createLoader({ holder, gate, paths, now }: CopyOptions): Loader {
  let staging: Staging | undefined;
  return {
    async load(identity, batches) {
      gate.checkWritable();
      const unfreeze = gate.freeze("The store is being replaced.");
      const revision = Math.max(holder.files.base.data.shelf.revision, REVISION_GAP);
      try {
        staging = createStaging(paths, { identity, now: now(), revision });
        await addAll(staging, batches, gate);
        staging.finish();
      } catch (error) {
        staging?.discard();
        unfreeze();
        throw refusalOf(error);
      } finally {
        staging = undefined;
      }
      changeOver({ holder, gate, paths });
      await letPass();
      unfreeze();
    },
    abandon: () => staging?.discard(),
  };
}

async function addAll(
  staging: Staging,
  batches: AsyncIterable<readonly DumpRow[]>,
  gate: Gate,
): Promise<void> {
  for await (const batch of batches) {
    gate.checkReadable();
    for (const row of batch) staging.add(row);
    await setImmediate();
  }
  gate.checkReadable();
}

/** What had read the old store and then asked to write is refused while this waits: its turn comes
 *  before the second one. */
async function letPass(): Promise<void> {
  await setImmediate();
  await setImmediate();
}

/** The new files count already: should this fail, the next start finishes it. */
function changeOver({ holder, gate, paths }: Omit<CopyOptions, "now">): void {
  try {
    holder.files.close();
    settleNext(paths);
    holder.files = openFiles(paths);
  } catch (error) {
    gate.close();
    throw storeUnavailable("The store waits for a restart.", error);
  }
}
