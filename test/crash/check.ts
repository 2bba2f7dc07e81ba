import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "./open-store.ts";
import { contentsOf } from "./places.ts";
import { writeReport } from "./write-report.ts";

/** File name of an embedded store. */
const FILE = "store.sqlite";

const address = process.argv[2] ?? "";

try {
  await tellContents();
  if (existsSync(address)) examine(FILE);
} catch (error) {
  writeReport({ is: "damaged", text: error instanceof Error ? error.message : String(error) });
}

/** Opens the store as a restart does, and reports its contents. */
async function tellContents(): Promise<void> {
  const startedAt = performance.now();
  const store = await openStore(address);
  const ms = performance.now() - startedAt;
  writeReport({ is: "open", ms, records: (await store.counts()).records });
  for await (const contents of contentsOf(store)) writeReport({ is: "contents", contents });
  await store.close();
  writeReport({ is: "complete" });
}

/**
 * Runs the integrity check of SQLite, which is more thorough than the check at the start of the
 * service.
 */
function examine(file: string): void {
  const database = new DatabaseSync(join(address, file), { readOnly: true });
  const [found] = database.prepare("PRAGMA integrity_check").all();
  database.close();
  const text = String(found?.integrity_check);
  if (text !== "ok") writeReport({ is: "damaged", text: `${file}: ${text}` });
}
