import { keyRecords } from "../../keys/key-records.ts";
import { writeExport } from "../../maintenance/backup/export.ts";
import { COLLECTIONS_NOT_EXPORTED } from "../../maintenance/backup/export-format.ts";
import {
  type ImportedCollection,
  importDocument,
  MAX_DOCUMENT_MIB,
  readExport,
} from "../../maintenance/backup/import.ts";
import { ConfirmationNeeded, defineStoreCommand } from "../command.ts";
import { countLines, formatCount, sizeText } from "../format.ts";
import { reloadKeysWithNotes } from "./service-keys.ts";
import { FileArgument, yesOption } from "./shared.ts";

/** Exports the records as readable text. */
export const exportRecordsCommand = defineStoreCommand({
  summary: "Writes the records into a new file, as one JSON document that people can read.",
  notes: [
    "Sorted by collection and key; instants are ISO 8601. The archive, which holds the audit rows,",
    "is not in it, nor is what means nothing in another store:",
    `${COLLECTIONS_NOT_EXPORTED.join(", ")}.`,
    "All of the store is in a backup. master.key is not in it: keys in an export stay sealed.",
  ],
  operands: { file: FileArgument },

  async run({ file }, { store, now }, onProgress) {
    const facts = await writeExport({ store, file, now }, onProgress);
    const { identity, exportedAt, collections, bytes } = facts;
    return {
      isGood: true,
      lines: [`Wrote ${file} (${sizeText(bytes)}):`, ...countLines(collections)],
      result: { file, storeId: identity.id, mode: identity.mode, exportedAt, collections, bytes },
      notes: [],
    };
  },
});

/** Imports the collections in an export. */
export const importRecordsCommand = defineStoreCommand({
  summary: "Replaces the collections that are in an export, and no others.",
  notes: [
    "The document is checked first; all of it is taken at once or nothing. It must be of a store",
    "of the same mode. Times of expiry stay; a use that was made counts as made at the import.",
    `While it reads the document, of at most ${MAX_DOCUMENT_MIB} MiB, a server does nothing else.`,
  ],
  operands: { file: FileArgument },
  options: { yes: yesOption },

  async run({ file, yes }, context, onProgress) {
    const { store, now } = context;
    const document = await readExport(file, store);
    const names = [...document.collections.keys()];
    if (!yes && (await store.counts()).records > 0) {
      throw new ConfirmationNeeded(
        `The import replaces what is in these collections: ${names.join(", ")}.`,
      );
    }
    const rows = [...document.collections.values()].reduce((sum, { size }) => sum + size, 0);
    onProgress({ doing: "importing", rows, fraction: 0 });
    const collections = await importDocument({ store, document, now });
    return {
      isGood: true,
      lines: Object.entries(collections).map(importedText),
      result: { file, collections },
      notes: names.includes(keyRecords.name) ? await reloadKeysWithNotes(context) : [],
    };
  },
});

function importedText([name, imported]: readonly [string, ImportedCollection]): string {
  const { written, removed, expired } = imported;
  const left = expired > 0 ? `, ${formatCount(expired)} left out since their time is over` : "";
  return `${name}: ${formatCount(written)} written, ${formatCount(removed)} removed${left}.`;
}
