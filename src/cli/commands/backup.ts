import { z } from "zod";
import { writeBackup } from "../../store/backup/backup.ts";
import { defineStoreCommand } from "../command.ts";
import { rowsText, sizeText } from "../text.ts";
import { FileArgument } from "./shared.ts";

/** Writes everything into a new file. */
export const backup = defineStoreCommand({
  summary: "Writes everything in the store into a new file, as it is at one instant.",
  notes: [
    "The file is compressed, for its owner only, and has a hash of all it holds. Writes go on",
    "meanwhile. master.key is not in it: keep a copy apart, since without it nobody can read the",
    "keys and secrets in a backup.",
  ],
  operand: "<file>",
  options: {},
  args: z.strictObject({ file: FileArgument }),

  async run({ file }, { store, now }, onProgress) {
    const { identity, createdAt, rows, bytes } = await writeBackup(
      { store, file, now },
      onProgress,
    );
    const counts = { records: rows.record, archive: rows.archive };
    return {
      isGood: true,
      text: `Wrote ${rowsText(counts)} as of ${createdAt} to ${file} (${sizeText(bytes)}).`,
      result: { file, storeId: identity.id, mode: identity.mode, createdAt, ...counts, bytes },
      notes: ["master.key is not in it; keep a copy apart."],
    };
  },
});
