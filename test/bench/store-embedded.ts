import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeBackup } from "../../src/maintenance/backup/backup.ts";
import { put } from "../../src/store/port/operations.ts";
import { collection, type Records } from "../../src/store/port/records.ts";
import { type EmbeddedStore, openEmbedded } from "../../src/store/sqlite/open.ts";

/** Number of concurrent writers; each waits for its commit before the next one. */
const WRITERS = 50;

const [size, writing, archiveMb = 0] = process.argv.slice(2).map(Number);

/** Duration of each write measurement, in milliseconds. */
const WRITING_MS = writing ?? 3_000;

const READS = 500_000;

/** Size of the body of an archive row in bytes, about that of a snapshot. */
const ARCHIVE_BODY_BYTES = 2_400;

/**
 * Measures the embedded store: `store-embedded.ts <records> <ms of writing> [<MB of archive>]`
 * prints the costs as JSON. `store-embedded.ts open <folder>` only opens a store and prints the
 * cost of that.
 */

const tokens = collection<object>("tokens");
const jobs = collection<object>("jobs");

/** A value that takes 450 bytes as JSON. */
const VALUE = {
  clientId: "client-0123456789abcdef",
  scope: "signals:read factor:read darkpool:read",
  accountId: "account-0123456789abcdef",
  issuedAt: 1_790_000_000_000,
  note: "x".repeat(296),
};

/** Returns keys in a scattered order, like those of random tokens. */
function keyOf(at: number): string {
  return `${((at * 2_654_435_761) % 2 ** 32).toString(36)}-${at}`;
}

export interface Rate {
  /** Durable writes per second. */
  readonly perSecond: number;
  /** Median and 99th percentile of the latency, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** CPU time per write, in microseconds; other processes affect it less than wall-clock time. */
  readonly cpuMicros: number;
}

/**
 * Writes one record per commit until the time is over. @param keyFor Returns the key of write `n`.
 */
async function measureWrites(
  records: Records,
  keyFor: (n: number) => string,
  writers = WRITERS,
): Promise<Rate> {
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
  await Promise.all(Array.from({ length: writers }, write));
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

/** Mean time of a claim of 100 due jobs, in milliseconds. */
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

/** Cost of opening a store. */
interface MeasuredOpening {
  /** Time until the store is open and read from disk, in milliseconds. */
  readonly openMs: number;
  /** CPU time of opening, in milliseconds; other processes affect it less than wall-clock time. */
  readonly openCpuMs: number;
  /** Resident memory and used heap after opening, in megabytes. */
  readonly residentMb: number;
  readonly heapMb: number;
}

/** Measurements of a store of one size. */
export interface MeasuredStore extends MeasuredOpening {
  readonly changes: Rate;
  readonly additions: Rate;
  /** Mean time of a read, in microseconds. */
  readonly readUs: number;
  readonly claimMs: number;
  /**
   * Rate of changes with a tenth of the writers: without a backup, and while dumps are written one
   * after the other. A dump that takes all of the processor is over sooner, so the rate says little
   * without `lostPerDump`, the number of changes that were not made because of one dump.
   */
  readonly besideBackup: {
    readonly alone: Rate;
    readonly during: Rate;
    readonly lostPerDump: number;
  };
  /** Cost of opening a store with an archive; absent when no archive was requested. */
  readonly withArchive?: MeasuredOpening & { readonly fileMb: number };
}

async function measureOpening(folder: string): Promise<MeasuredOpening> {
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  const store = await openIn(folder);
  const openMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  const { rss, heapUsed } = process.memoryUsage();
  await store.close();
  const memory = { residentMb: rss / 1e6, heapMb: heapUsed / 1e6 };
  return { openMs, openCpuMs: (user + system) / 1e3, ...memory };
}

const openIn = (folder: string): Promise<EmbeddedStore> =>
  openEmbedded({ folder, mode: "sandbox", now: Date.now });

/** Measures opening in a separate process, so that the memory is that of the store alone. */
function opening(folder: string): MeasuredOpening {
  const self = fileURLToPath(import.meta.url);
  return JSON.parse(execFileSync(process.execPath, [self, "open", folder], { encoding: "utf8" }));
}

/** Measures writers first alone, then while backups are written one after the other. */
async function measureBesideBackup(store: EmbeddedStore, folder: string, size: number) {
  const keyFor = () => keyOf(Math.floor(Math.random() * size));
  const alone = await measureWrites(store.records, keyFor, WRITERS / 10);
  let isOver = false;
  const dumping = (async () => {
    const start = performance.now();
    let dumps = 0;
    for (; !isOver; dumps++) {
      const file = join(folder, `${dumps}.gz`);
      await writeBackup({ store, file, now: Date.now }, () => {});
      rmSync(file);
    }
    return (performance.now() - start) / 1_000 / dumps;
  })();
  const during = await measureWrites(store.records, keyFor, WRITERS / 10);
  isOver = true;
  const secondsPerDump = await dumping;
  return { alone, during, lostPerDump: (alone.perSecond - during.perSecond) * secondsPerDump };
}

async function fillArchive({ archive }: EmbeddedStore, mb: number): Promise<void> {
  const rows = Math.ceil((mb * 1e6) / ARCHIVE_BODY_BYTES);
  const body = { text: "x".repeat(ARCHIVE_BODY_BYTES) };
  for (let at = 0; at < rows; at += 1_000) {
    await archive.append(
      Array.from({ length: 1_000 }, (_, n) => ({
        ...{ kind: "snapshot", at: at + n, id: `${at + n}`, subject: `S${n % 100}`, body },
      })),
    );
  }
}

async function measure(size: number, folder: string): Promise<MeasuredStore> {
  const data = join(folder, "data");
  const first = await openIn(data);
  await fill(first.records, size, (at) => put(tokens, { key: keyOf(at), value: VALUE }));
  await first.close();
  const opened = opening(data);
  const store = await openIn(data);
  const { records } = store;
  const changes = await measureWrites(records, () => keyOf(Math.floor(Math.random() * size)));
  const readUs = 1e6 / (await measureReads(records, size));
  const besideBackup = await measureBesideBackup(store, folder, size);
  const additions = await measureWrites(records, (n) => keyOf(size + n));
  const claimMs = await measureClaims(records, size);
  if (archiveMb > 0) await fillArchive(store, archiveMb);
  await store.close();
  const rates = { changes, additions, readUs, claimMs, besideBackup };
  if (archiveMb === 0) return { ...opened, ...rates };
  const fileMb = statSync(join(data, "store.sqlite")).size / 1e6;
  return { ...opened, ...rates, withArchive: { ...opening(data), fileMb } };
}

if (process.argv[2] === "open") {
  process.stdout.write(JSON.stringify(await measureOpening(process.argv[3] ?? "")));
} else {
  const folder = mkdtempSync(join(tmpdir(), "bench-store-"));
  process.stdout.write(JSON.stringify(await measure(size ?? 20_000, folder)));
  rmSync(folder, { recursive: true });
}
