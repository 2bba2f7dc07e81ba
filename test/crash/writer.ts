import { parseArgs } from "node:util";
import { insert } from "../../src/store/port/operations.ts";
import type { Store } from "../../src/store/port/store.ts";
import { openStore } from "./open-store.ts";
import { contentsOf, documentOf, filler } from "./places.ts";
import type { Standing } from "./reports.ts";
import { storm } from "./storm.ts";
import { writeReport } from "./write-report.ts";

/** Number of records per commit while the store is filled. */
const FILL_BATCH = 500;

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "" },
    process: { type: "string", default: "0" },
    life: { type: "string", default: "0" },
    lanes: { type: "string", default: "10" },
    "pause-ms": { type: "string", default: "0" },
    fill: { type: "string", default: "0" },
    silent: { type: "boolean", default: false },
  },
});

let isOver = false;
process.once("SIGTERM", () => {
  isOver = true;
});

await main();

/** Writes until SIGTERM, then reports the contents of the store and closes it. */
async function main(): Promise<void> {
  writeReport({ is: "start" });
  const startedAt = performance.now();
  const store = await openStore(values.store);
  const ms = performance.now() - startedAt;
  writeReport({ is: "open", ms, records: (await store.counts()).records });

  await fill(store, Number(values.fill));
  await storm({
    store,
    process: values.process,
    life: Number(values.life),
    lanes: Number(values.lanes),
    pauseMs: Number(values["pause-ms"]),
    onRefusal: values.silent ? "fall silent" : "go on",
    report: writeReport,
    isOver: () => isOver,
  });
  isOver = true;
  for await (const contents of contentsOf(store)) writeReport({ is: "contents", contents });
  writeReport({ is: "complete" });
  await store.close();
}

/** Writes records that stay unchanged during the write load. */
async function fill(store: Store, records: number): Promise<void> {
  for (let first = 0; first < records; first += FILL_BATCH) {
    const keys = Array.from({ length: Math.min(FILL_BATCH, records - first) }, (_, i) =>
      String(first + i),
    );
    const effects: readonly Standing[] = keys.map((key) => [`filler/${key}`, key]);
    const lane = "fill";
    writeReport({ is: "try", lane, at: Date.now(), found: [], effects, expects: "held" });
    const held = await store.records.commit(
      keys.map((key) => insert(filler, { key, value: documentOf(key) })),
    );
    writeReport({ is: held ? "held" : "not held", lane });
  }
}
