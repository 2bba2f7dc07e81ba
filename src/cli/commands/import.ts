import { z } from "zod";
import { type ImportedCollection, importDocument, readExport } from "../../store/backup/import.ts";
import { keyRecords } from "../../store/keys/key-records.ts";
import { ConfirmationNeeded, defineStoreCommand } from "../command.ts";
import { counted } from "../text.ts";
import { FileArgument, YesArgument, yesOption } from "./shared.ts";
import { keysNotes } from "./signing-keys.ts";

/** Replaces collections by those of an export. */
export const importRecords = defineStoreCommand({
  summary: "Replaces the collections that are in an export, and no others.",
  notes: [
    "The document is checked first; all of it is taken at once or nothing. It must be of a store",
    "of the same mode. Times of expiry stay; a use that was made counts as made at the import.",
    "A server does nothing else while it reads the document, which may have at most 64 MiB.",
  ],
  operand: "<file>",
  options: { yes: yesOption },
  args: z.strictObject({ file: FileArgument, yes: YesArgument }),

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
      text: Object.entries(collections).map(importedText).join("\n"),
      result: { file, collections },
      notes: names.includes(keyRecords.name) ? await keysNotes(context) : [],
    };
  },
});

function importedText([name, imported]: readonly [string, ImportedCollection]): string {
  const { written, removed, expired } = imported;
  const left = expired > 0 ? `, ${counted(expired)} left out since their time is over` : "";
  return `${name}: ${counted(written)} written, ${counted(removed)} removed${left}.`;
}
