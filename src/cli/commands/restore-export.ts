import { keyRecords } from "../../keys/key-records.ts";
import { logStates } from "../../log/log-state.ts";
import type { ExportDocument } from "../../maintenance/backup/export-format.ts";
import {
  type ImportedCollection,
  importDocument,
  readExport,
} from "../../maintenance/backup/import.ts";
import type { OnCommandProgress } from "../../maintenance/backup/progress.ts";
import { type CommandContext, type CommandOutcome, ConfirmationNeeded } from "../command.ts";
import { formatCount } from "../format.ts";
import { reloadKeysWithNotes } from "./service-keys.ts";
import { logNotesAfterRestore } from "./shared.ts";

/** The arguments of a restore. */
export interface RestoreArguments {
  readonly file: string;
  /** Whether the operator has confirmed in advance. */
  readonly yes: boolean;
}

/** Restores what `store export` of version 1.0.0 wrote: the collections in it, and no others. */
export async function restoreExport(
  { file, yes }: RestoreArguments,
  context: CommandContext,
  onProgress: OnCommandProgress,
): Promise<CommandOutcome> {
  const { store, now } = context;
  const read = await readExport(file, store);
  const document = store.engine === "postgres" ? withMark(read) : read;
  const names = [...document.collections.keys()];
  if (!yes && (await store.counts()).records > 0) {
    throw new ConfirmationNeeded(
      `The restore replaces what is in these collections: ${names.join(", ")}.`,
    );
  }
  const rows = [...document.collections.values()].reduce((sum, { size }) => sum + size, 0);
  onProgress({ doing: "restoring", rows, fraction: 0 });
  const collections = await importDocument({ store, document, now });
  return {
    isGood: true,
    lines: Object.entries(collections).map(importedText),
    result: { file, collections },
    notes: [
      ...(names.includes(keyRecords.name) ? await reloadKeysWithNotes(context) : []),
      ...(await logNotesAfterRestore(context)),
    ],
  };
}

/**
 * Marks the log of signals as restored: machines that nobody here knows may have signed what came
 * after the export, and the checkpoint in the export does not tell.
 */
function withMark(document: ExportDocument): ExportDocument {
  const { name } = logStates;
  const marked = [...(document.collections.get(name) ?? [])].map(([key, record]) => {
    const value = { ...(record.value as object), isRestored: true };
    return [key, { ...record, value }] as const;
  });
  if (marked.length === 0) return document;
  return { ...document, collections: new Map([...document.collections, [name, new Map(marked)]]) };
}

function importedText([name, imported]: readonly [string, ImportedCollection]): string {
  const { written, removed, expired } = imported;
  const left = expired > 0 ? `, ${formatCount(expired)} left out since their time is over` : "";
  return `${name}: ${formatCount(written)} written, ${formatCount(removed)} removed${left}.`;
}
