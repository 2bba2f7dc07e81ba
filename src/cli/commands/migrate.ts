import { z } from "zod";
import { moveToPostgres } from "../../maintenance/backup/move-store.ts";
import type { Store } from "../../store/port/store.ts";
import type { EmbeddedStore } from "../../store/sqlite/open.ts";
import { defineStoreCommand } from "../command.ts";
import { formatCount, rowCountsText } from "../format.ts";

const isDatabase = (url: string) => /^postgres(ql)?:\/\//.test(url) && URL.canParse(url);

/** Copies the embedded store into PostgreSQL. */
export const migrateStoreCommand = defineStoreCommand({
  summary: "Copies the embedded store into PostgreSQL, which holds it from then on.",
  notes: [
    "Stopped half-way, it leaves the database empty and the embedded store in use. When all is copied",
    "and compared, the embedded store takes no more writes; it stays as it was. The way back is a",
    "backup of the database, restored without DATABASE_URL. Other users of the machine can read a",
    "password in a command line: better is --to env:NAME, with the address in the environment",
    "variable NAME.",
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
    const { records, archive, digests } = await moveToPostgres(
      { source: store, url: to },
      onProgress,
    );
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
