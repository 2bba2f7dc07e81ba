import { isAbsolute } from "node:path";
import { z } from "zod";
import { verifyStore } from "../../maintenance/backup/verify-store.ts";
import { defineStoreCommand } from "../command.ts";
import { countLines, formatCount } from "../format.ts";
import { readKnownLogFile, writeKnownLogFile } from "../known-log-file.ts";

/** Checks the whole store for damage. */
export const verifyStoreCommand = defineStoreCommand({
  summary: "Reads everything and says whether anything is damaged or was tampered with.",
  notes: [
    "Checks the structure of the files, every row, and the tree of audit rows with its signature.",
    "Audit rows of the last moments may not be sealed yet. Whoever has the store and its keys can",
    "build the tree anew; a file of --state, kept elsewhere, reveals that. The exit code is 1 when",
    "there is a problem.",
  ],
  options: {
    state: {
      value: "<file>",
      about: "the audit log as seen before; made at the first look, renewed at each",
      schema: z.string().refine(isAbsolute, "must be absolute").optional(),
    },
  },

  async run({ state }, { store, now }, onProgress) {
    const known = state === undefined ? undefined : await readKnownLogFile(state);
    const verified = await verifyStore(store, { known, now }, onProgress);
    const { records, archive, problems } = verified;
    const { problems: _, known: seen, ...audit } = verified.audit;
    if (state !== undefined && seen !== undefined) await writeKnownLogFile(state, seen);
    const isGood = problems.length === 0;
    const lines = [
      ...["Records:", ...countLines(records), "Archive rows:", ...countLines(archive)],
      `Sealed audit rows: ${formatCount(audit.rows)}; not sealed yet: ${formatCount(audit.unsealed)}`,
      ...(audit.beforeTree === 0
        ? []
        : [
            `Of these, sealed before version 1.0.0, which alone verifies them: ${formatCount(audit.beforeTree)}`,
          ]),
      ...(audit.checkpoint === undefined ? [] : [`Signed checkpoint: ${headOf(audit.checkpoint)}`]),
      ...(isGood ? ["ok"] : problems),
    ];
    return {
      isGood,
      lines,
      result: { isGood, records, archive, audit, problems },
      notes: isGood ? [] : ["To put the last backup back: market-signal store restore <file>."],
    };
  },
});

/** The first three lines of a checkpoint: origin, size and root hash (C2SP tlog-checkpoint). */
const headOf = (checkpoint: string): string => checkpoint.split("\n", 3).join(" ");
