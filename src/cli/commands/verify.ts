import { z } from "zod";
import { verifyStore } from "../../store/backup/verify-store.ts";
import { defineStoreCommand } from "../command.ts";
import { counted, countsText } from "../format.ts";

/** Checks the whole store for damage. */
export const verify = defineStoreCommand({
  summary: "Reads everything and says whether anything is damaged or was tampered with.",
  notes: [
    "Checks the structure of the files, every row, and the chain of audit rows. The exit code is 1",
    "when there is a problem. Audit rows of the last moments may not be chained yet.",
  ],
  options: {},
  args: z.strictObject({}),

  async run(_args, { store }, onProgress) {
    const { records, archive, audit, problems } = await verifyStore(store, onProgress);
    const { problems: _, ...chain } = audit;
    const isGood = problems.length === 0;
    const text = [
      ...["Records:", countsText(records), "Archive rows:", countsText(archive)],
      `Chained audit rows: ${counted(chain.rows)}; not chained yet: ${counted(chain.unsealed)}`,
      ...(chain.lastHash === undefined ? [] : [`Hash of the last one: ${chain.lastHash}`]),
      ...(isGood ? ["ok"] : problems),
    ];
    return {
      isGood,
      text: text.filter((line) => line !== "").join("\n"),
      result: { isGood, records, archive, audit: chain, problems },
      notes: isGood ? [] : ["To put the last backup back: market-signal store restore <file>."],
    };
  },
});
