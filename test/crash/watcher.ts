import { setTimeout } from "node:timers/promises";
import { openStore } from "./open-store.ts";
import { slots } from "./places.ts";
import { writeReport } from "./write-report.ts";

/** Interval of the checks, in milliseconds. */
const LOOK_MS = 1;

/** Maximum lifetime of the watcher, in milliseconds. */
const PATIENCE_MS = 20_000;

const [address = "", ...keys] = process.argv.slice(2);

const store = await openStore(address);
for (const key of keys) {
  if ((await store.records.get(slots, key)) === undefined)
    throw new Error(`record ${key} does not exist`);
}
writeReport({ is: "open", ms: performance.now(), records: keys.length });

for (const key of keys) {
  while ((await store.records.get(slots, key)) !== undefined) {
    if (performance.now() > PATIENCE_MS) throw new Error(`record ${key} still exists`);
    await setTimeout(LOOK_MS);
  }
  writeReport({ is: "gone", key });
}
await store.close();
