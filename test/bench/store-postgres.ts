import { insert, put } from "../../src/store/port/operations.ts";
import { collection, type Records } from "../../src/store/port/records.ts";
import { openPostgres } from "../../src/store/postgres/open.ts";
import { startPostgres } from "../support/postgres.ts";

/** Duration of each measurement, in milliseconds. */
const SPAN_MS = 3_000;

/** Number of records in the store before the measurement begins. */
const FILLED = 10_000;

/** A document about as large as a client or a token. */
const document = { text: "x".repeat(400) };
const documents = collection<typeof document>("documents");
const jobs = collection<typeof document>("jobs");

interface Figure {
  readonly what: string;
  readonly perSecond: number;
  /** Median and 99th percentile of the latency, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

const random = (below: number) => Math.floor(Math.random() * below);

/**
 * Runs concurrent callers in a loop for `SPAN_MS`.
 *
 * @param call Makes one call and resolves to the number of records that it handled.
 */
async function measure(
  what: string,
  callers: number,
  call: (caller: number) => Promise<number>,
): Promise<Figure> {
  const took: number[] = [];
  let done = 0;
  const start = performance.now();
  const run = async (_: unknown, caller: number) => {
    for (;;) {
      const began = performance.now();
      if (began - start > SPAN_MS) return;
      const more = await call(caller);
      done += more;
      took.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: callers }, run));
  const seconds = (performance.now() - start) / 1_000;
  took.sort((a, b) => a - b);
  const at = (share: number) => Number(took[Math.floor(took.length * share)]?.toFixed(2));
  return { what, perSecond: Math.round(done / seconds), p50: at(0.5), p99: at(0.99) };
}

async function fill(records: Records): Promise<void> {
  for (let from = 0; from < FILLED; from += 500) {
    const keys = Array.from({ length: 500 }, (_, at) => `key ${from + at}`);
    await records.commit([
      ...keys.map((key) => put(documents, { key, value: document, groups: [`g ${key}`] })),
      ...keys.map((key) => put(jobs, { key, value: document, dueInMs: 0 })),
    ]);
  }
}

const cluster = await startPostgres({ durable: true });
const store = await openPostgres({ url: await cluster.createDatabase(), mode: "sandbox" });
const { records } = store;
await fill(records);
let inserted = 0;
const figures: Figure[] = [];
for (const callers of [1, 50]) {
  const who = `${callers} ${callers === 1 ? "caller" : "callers"}`;
  figures.push(
    await measure(`commit of one put, ${who}`, callers, async () => {
      const key = `key ${random(FILLED)}`;
      await records.commit([put(documents, { key, value: document, groups: [`g ${key}`] })]);
      return 1;
    }),
    await measure(`commit of one insert with a life, ${who}`, callers, async () => {
      const key = `new ${++inserted}`;
      await records.commit([insert(documents, { key, value: document, ttlMs: 60_000 })]);
      return 1;
    }),
    await measure(`get, ${who}`, callers, async () => {
      await records.get(documents, `key ${random(FILLED)}`);
      return 1;
    }),
    await measure(`list of a group, ${who}`, callers, async () => {
      await records.list(documents, { group: `g key ${random(FILLED)}`, limit: 10 });
      return 1;
    }),
    await measure(`records by claimDue(10), ${who}`, callers, async () => {
      const { length } = await records.claimDue(jobs, { limit: 10, leaseMs: 0 });
      return length;
    }),
  );
}
process.stdout.write(`PostgreSQL store, ${FILLED} records, fsync on\n`);
for (const { what, perSecond, p50, p99 } of figures) {
  const columns = [String(perSecond).padStart(8), String(p50).padStart(9), String(p99).padStart(9)];
  process.stdout.write(`${what.padEnd(50)}${columns.join("")}\n`);
}
await store.close();
await cluster.stop();
