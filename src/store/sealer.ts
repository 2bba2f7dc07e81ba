import type { Archive, ArchiveRow } from "./archive.ts";
import { AUDIT_KIND } from "./audit.ts";
import { CHAIN_START, chainPoints, HEAD, pointOf, sealed, sealedEntry } from "./audit-chain.ts";
import { announce, insert, removeAt, replace } from "./operations.ts";
import { ARCHIVED_TOPIC, outbox } from "./outbox.ts";
import type { Operation, Records, Stored } from "./records.ts";

/** Rows that are dealt with in one step. */
const BATCH = 500;

/** What the sealer works on. */
export interface SealerOptions {
  readonly records: Records;
  readonly archive: Archive;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Moves rows from the outbox into the archive, audit rows by way of the chain. */
export interface Sealer {
  /** Does one batch. @returns How many rows were waiting; 0 when the outbox is empty. */
  run(): Promise<number>;
}

/**
 * Creates the sealer. An audit row is first replaced by its chained form, together with the head of
 * the chain and only if that has not moved; a later step puts it into the archive and then takes it
 * out of the outbox. So a crash anywhere, or a second sealer, neither loses nor doubles a row nor
 * forks the chain: what was begun is found in the outbox as it was left, and what was done by
 * another makes the commit not hold.
 *
 * A row reaches the archive with or after every row of its kind that was committed before it: only
 * the oldest of the outbox are moved, and none is taken out that is not in the archive. So a reader
 * who goes on from the last row that it saw misses none, as long as instants rise with commits.
 */
export function createSealer({ records, archive, now }: SealerOptions): Sealer {
  const sealing = async (waiting: readonly Stored<ArchiveRow>[]): Promise<readonly Operation[]> => {
    const head = await records.get(chainPoints, HEAD);
    let end = head?.value ?? CHAIN_START;
    const replaced = waiting.map((stored) => {
      const value = sealed(stored.value, end, now());
      end = pointOf(value);
      return replace(outbox, stored, { value });
    });
    const moved = head
      ? replace(chainPoints, head, { value: end })
      : insert(chainPoints, { key: HEAD, value: end });
    return [moved, ...replaced];
  };
  return {
    async run() {
      const waiting = await records.list(outbox, { limit: BATCH });
      const unsealed = waiting.filter(({ value }) => isUnsealed(value));
      const ready = waiting.filter(({ value }) => !isUnsealed(value));
      if (ready.length > 0) await archive.append(ready.map(({ value }) => value));
      const steps = unsealed.length > 0 ? await sealing(unsealed) : [];
      const removed = ready.map((stored) => removeAt(outbox, stored));
      const told = kindsOf(ready).map((kind) => announce(ARCHIVED_TOPIC, kind));
      if (waiting.length > 0) await records.commit([...removed, ...steps, ...told]);
      return waiting.length;
    },
  };
}

function kindsOf(rows: readonly Stored<ArchiveRow>[]): readonly string[] {
  return [...new Set(rows.map(({ value }) => value.kind))];
}

/** Whether the row still has to be chained. */
export function isUnsealed(row: ArchiveRow): boolean {
  return row.kind === AUDIT_KIND && sealedEntry(row) === undefined;
}
