import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EmbeddedStore, openEmbedded } from "../../src/store/embedded/open.ts";
import { put } from "../../src/store/operations.ts";
import { collection, type Records } from "../../src/store/records.ts";

/** Callers that each wait for their write before they make the next. */
const WRITERS = 50;

const [size, writing] = process.argv.slice(2).map(Number);

/** Time that each kind of write is measured, in milliseconds. */
const WRITING_MS = writing ?? 3_000;

const READS = 500_000;

/**
 * What an embedded store of so many records costs: `store-embedded.ts <records> <ms of writing>`
 * prints it as JSON.
 */

const tokens = collection<object>("tokens");
const jobs = collection<object>("jobs");

/** A value of 450 bytes as JSON. */
const VALUE = {
  clientId: "client-0123456789abcdef",
  scope: "signals:read factor:read darkpool:read",
  accountId: "account-0123456789abcdef",
  issuedAt: 1_790_000_000_000,
  note: "x".repeat(296),
};

/** Keys in no order, as random tokens are. */
function keyOf(at: number): string {
  return `${((at * 2_654_435_761) % 2 ** 32).toString(36)}-${at}`;
}

export interface Rate {
  /** Durable writes in a second. */
  readonly perSecond: number;
  /** Latencies in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Time of the processor that a write took, in microseconds; other processes disturb it less. */
  readonly cpuMicros: number;
}

/** Writes with all writers until the time is over. @param keyFor Key of the next write. */
async function measureWrites(records: Records, keyFor: (n: number) => string): Promise<Rate> {
  const latencies: number[] = [];
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  let next = 0;
  const write = async () => {
    for (let at = start; at - start < WRITING_MS; ) {
      await records.commit([
        put(tokens, { key: keyFor(next++), value: VALUE, groups: [`client:${next % 100}`] }),
      ]);
      const now = performance.now();
      latencies.push(now - at);
      at = now;
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  const seconds = (performance.now() - start) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  latencies.sort((a, b) => a - b);
  const quantile = (part: number) => latencies[Math.floor(part * latencies.length)] ?? Number.NaN;
  return {
    ...{ perSecond: latencies.length / seconds, p50: quantile(0.5), p99: quantile(0.99) },
    cpuMicros: (user + system) / latencies.length,
  };
}

async function measureReads(records: Records, size: number): Promise<number> {
  const keys = Array.from({ length: 10_000 }, () => keyOf(Math.floor(Math.random() * size)));
  const start = performance.now();
  for (let read = 0; read < READS; read++) await records.get(tokens, keys[read % 10_000] ?? "");
  return READS / ((performance.now() - start) / 1_000);
}

/** Mean time of handing out 100 of the jobs that are due, in milliseconds. */
async function measureClaims(records: Records, size: number): Promise<number> {
  await fill(records, size, (at) =>
    put(jobs, { key: keyOf(at), value: VALUE, dueInMs: at - size }),
  );
  const start = performance.now();
  for (let claim = 0; claim < 50; claim++) {
    await records.claimDue(jobs, { limit: 100, leaseMs: 60_000 });
  }
  return (performance.now() - start) / 50;
}

async function fill(records: Records, size: number, step: (at: number) => ReturnType<typeof put>) {
  for (let at = 0; at < size; at += 1_000) {
    await records.commit(
      Array.from({ length: Math.min(1_000, size - at) }, (_, n) => step(at + n)),
    );
  }
}

/** What was measured of one size. */
export interface MeasuredStore {
  /** From the start of reading what is on disk, in milliseconds. */
  readonly openMs: number;
  /** Resident memory after that, and what of it the heap uses, in megabytes. */
  readonly residentMb: number;
  readonly heapMb: number;
  readonly changes: Rate;
  readonly additions: Rate;
  /** Microseconds that a read takes. */
  readonly readUs: number;
  readonly claimMs: number;
}

async function measure(size: number, folder: string): Promise<MeasuredStore> {
  const open = (): Promise<EmbeddedStore> =>
    openEmbedded({ folder, mode: "sandbox", now: Date.now });
  const first = await open();
  await fill(first.records, size, (at) => put(tokens, { key: keyOf(at), value: VALUE }));
  await first.close();
  const start = performance.now();
  const store = await open();
  const openMs = performance.now() - start;
  const { rss, heapUsed } = process.memoryUsage();
  const { records } = store;
  const changes = await measureWrites(records, () => keyOf(Math.floor(Math.random() * size)));
  const readUs = 1e6 / (await measureReads(records, size));
  const additions = await measureWrites(records, (n) => keyOf(size + n));
  const claimMs = await measureClaims(records, size);
  await store.close();
  const memory = { residentMb: rss / 1e6, heapMb: heapUsed / 1e6 };
  return { openMs, ...memory, changes, additions, readUs, claimMs };
}

const folder = mkdtempSync(join(tmpdir(), "bench-store-"));
process.stdout.write(JSON.stringify(await measure(size ?? 20_000, folder)));
rmSync(folder, { recursive: true });
