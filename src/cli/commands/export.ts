import { z } from "zod";
import { writeExport } from "../../store/backup/export.ts";
import { NOT_EXPORTED } from "../../store/backup/export-format.ts";
import { defineStoreCommand } from "../command.ts";
import { countsText, sizeText } from "../text.ts";
import { FileArgument } from "./shared.ts";

/** Writes the records into a new file that people can read. */
export const exportRecords = defineStoreCommand({
  summary: "Writes the records into a new file, as one JSON document that people can read.",
  notes: [
    "Sorted by collection and key; instants are ISO 8601. The archive, which holds the audit rows,",
    `is not in it, nor is work under way (${NOT_EXPORTED.join(", ")}).`,
    "All of the store is in a backup. master.key is not in it: keys in an export stay sealed.",
  ],
  operand: "<file>",
  options: {},
  args: z.strictObject({ file: FileArgument }),

  async run({ file }, { store, now }, onProgress) {
    const facts = await writeExport({ store, file, now }, onProgress);
    const { identity, exportedAt, collections, bytes } = facts;
    return {
      isGood: true,
      text: [`Wrote ${file} (${sizeText(bytes)}):`, countsText(collections)].join("\n").trimEnd(),
      result: { file, storeId: identity.id, mode: identity.mode, exportedAt, collections, bytes },
      notes: [],
    };
  },
});
