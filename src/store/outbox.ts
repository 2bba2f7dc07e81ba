import type { ArchiveRow } from "./archive.ts";
import { announce, insert } from "./operations.ts";
import { collection, type Operation } from "./records.ts";

/** Archive rows that were committed with records and wait to be moved into the archive. */
export const outbox = collection<ArchiveRow>("outbox");

/** Topic that is announced when the outbox has got something. */
export const OUTBOX_TOPIC = "outbox";

/** Topic that is announced when rows can be read in the archive that were in the outbox; the text is
 *  their kind. */
export const ARCHIVED_TOPIC = "archived";

/** The steps that put a row into the archive together with the rest of a commit. While a process
 *  leads, it can be read there within a second; after a leader was killed, once another leads. */
export function archived(row: ArchiveRow): readonly Operation[] {
  const key = `${row.kind}:${row.at}:${row.id}`;
  return [insert(outbox, { key, value: row }), announce(OUTBOX_TOPIC)];
}
