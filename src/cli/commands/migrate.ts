import { z } from "zod";
import { completedFraction } from "../../maintenance/backup/progress.ts";
import type { Store } from "../../store/port/store.ts";
import { migrateToPostgres } from "../../store/postgres/move-to-postgres.ts";
import type { EmbeddedStore } from "../../store/sqlite/open.ts";
import { defineStoreCommand } from "../command.ts";
import { formatCount, rowCountsText } from "../format.ts";

const isDatabase = (url: string) => /^postgres(ql)?:\/\//.test(url) && URL.canParse(url);

/** Copies the embedded store into PostgreSQL. */
export const migrateStoreCommand = defineStoreCommand({
  summary: "Copies the embedded store into PostgreSQL, which holds it from then on.",
  notes: [
    "Stopped half-way, it goes on where it was when it is called again. When all is copied and",
    "compared, the embedded store takes no more writes; it stays as it was. Other users of the",
    "machine can read a password in a command line: better is --to env:NAME, with the address in the",
    "environment variable NAME.",
  ],
  options: {
    to: {
      value: "<DATABASE_URL>",
      isSecret: true,
      about: "the database, which has to be empty; or env:NAME",
      schema: z.string("say where to").refine(isDatabase, "must be a PostgreSQL address"),
    },
  },

  async run({ to }, { store }, onProgress) {
    if (!isEmbedded(store)) throw new Error("The store is in PostgreSQL already.");
    const report = await migrateToPostgres({
      source: store,
      url: to,
      onProgress: (done, total) =>
        onProgress({ doing: "copying", rows: done, fraction: completedFraction(done, total) }),
    });
    const { records, archive, digests } = report;
    const same = Object.entries(digests).map(
      ([name, { rows, sha256 }]) => `  ${name}: ${formatCount(rows)} rows, sha256 ${sha256}`,
    );
    return {
      isGood: true,
      lines: [`Moved ${rowCountsText({ records, archive })}. Both sides hold the same:`, ...same],
      result: { records, archive, digests },
      notes: [
        "Set DATABASE_URL and start the server again, with the same MASTER_KEY or master.key.",
        "The files that were moved stay as they are; nothing is written to them any more.",
      ],
    };
  },
});

const isEmbedded = (store: Store): store is EmbeddedStore => store.engine === "embedded";
