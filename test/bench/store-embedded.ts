import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EmbeddedStore, openEmbedded } from "../../src/store/embedded/open.ts";
import { put } from "../../src/store/operations.ts";
import { collection, type Records } from "../../src/store/records.ts";

/** Callers that each wait for their write before they make the next. */
const WRITERS = 50;

/** Time that each kind of write is measured, in milliseconds. */
const WRITING_MS = 3_000;

const READS = 500_000;

/** 1,000 is small; 20,000 are 10 MB; 100,000 are what an embedded store should hold at most. */
const SIZES = [1_000, 20_000, 100_000];

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

interface Rate {
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

async function measure(size: number, folder: string) {
  const open = (): Promise<EmbeddedStore> =>
    openEmbedded({ folder, mode: "sandbox", now: Date.now });
  const first = await open();
  await fill(first.records, size, (at) => put(tokens, { key: keyOf(at), value: VALUE }));
  await first.close();
  const start = performance.now();
  const store = await open();
  const openMs = performance.now() - start;
  const { records } = store;
  const changes = await measureWrites(records, () => keyOf(Math.floor(Math.random() * size)));
  const reads = await measureReads(records, size);
  const additions = await measureWrites(records, (n) => keyOf(size + n));
  const claimMs = await measureClaims(records, size);
  await store.close();
  return { size, openMs, changes, additions, reads, claimMs };
}

type Measured = Awaited<ReturnType<typeof measure>>;

function lineOf({ size, openMs, changes, additions, reads, claimMs }: Measured): string {
  const rate = ({ perSecond, p50, p99, cpuMicros }: Rate) =>
    `${Math.round(perSecond)}/s p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ms, CPU ${cpuMicros.toFixed(0)} us`;
  return [
    String(size).padStart(7),
    `${Math.round(openMs)} ms`.padStart(8),
    rate(changes).padEnd(46),
    rate(additions).padEnd(46),
    `${Math.round(reads)}/s`.padStart(11),
    `${claimMs.toFixed(1)} ms`,
  ].join(" | ");
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

say(`${WRITERS} writers, records of ${JSON.stringify(VALUE).length} bytes, one write in a commit`);
say("records | start | changed records | new records | reads | handing out 100 due");
const all: Measured[] = [];
for (const size of SIZES) {
  const folder = mkdtempSync(join(tmpdir(), "bench-store-"));
  const measured = await measure(size, folder);
  rmSync(folder, { recursive: true });
  all.push(measured);
  say(lineOf(measured));
}
const [small, , large] = all;
if (small && large) {
  const ratio = (kind: "changes" | "additions") =>
    (large[kind].cpuMicros / small[kind].cpuMicros).toFixed(2);
  say("cost of a write, in time of the processor, at 100,000 records to that at 1,000:");
  say(
    `${ratio("additions")} when records are new, ${ratio("changes")} when they are changed at random`,
  );
}
