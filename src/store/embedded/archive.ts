import type { Archive, ArchiveRow } from "../archive.ts";
import { type ArchiveDumpRow, pruneAll } from "./archive-table.ts";
import { checkInstant, checkName, documentOf } from "./entry.ts";
import type { Holder } from "./files.ts";
import type { Gate } from "./gate.ts";

/** The port over the table. */
export function createArchive(holder: Holder, gate: Gate): Archive {
  return {
    async append(rows) {
      gate.checkWritable();
      const columns = rows.map(columnsOf);
      return gate.answer(() => holder.files.archive.append(columns));
    },
    read: async (kind, selection) => gate.answer(() => holder.files.archive.read(kind, selection)),
    prune: async (kind, before) =>
      pruneAll(() => {
        gate.checkWritable();
        return gate.answer(() => holder.files.archive.pruneSome(kind, before));
      }),
  };
}

function columnsOf({ kind, at, id, subject = null, body }: Row): ArchiveDumpRow {
  for (const name of [kind, id, subject ?? ""]) checkName(name);
  const { text } = documentOf(body);
  return { table: "archive", kind, at: checkInstant(at), id, subject, text };
}

/** A row, or one of which the subject was left out. */
type Row = Omit<ArchiveRow, "subject"> & { readonly subject?: string | null };
