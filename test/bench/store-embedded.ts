import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeBackup } from "../../src/store/backup/backup.ts";
import { put } from "../../src/store/port/operations.ts";
import { collection, type Records } from "../../src/store/port/records.ts";
import { type EmbeddedStore, openEmbedded } from "../../src/store/sqlite/open.ts";

/** Callers that each wait for their write before they make the next. */
const WRITERS = 50;

const [size, writing, archiveMb = 0] = process.argv.slice(2).map(Number);

/** Time that each kind of write is measured, in milliseconds. */
const WRITING_MS = writing ?? 3_000;

const READS = 500_000;

/** Bytes of the body of an archive row: about that of a snapshot. */
const ARCHIVE_BODY_BYTES = 2_400;

/**
 * What an embedded store costs: `store-embedded.ts <records> <ms of writing> [<MB of archive>]`
 * prints it as JSON. `store-embedded.ts open <folder>` opens one in a process that does nothing else.
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

/** Writes until the time is over. @param keyFor Key of the next write. */
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

/** What opening costs. */
interface MeasuredOpening {
  /** From the start of reading what is on disk, in milliseconds. */
  readonly openMs: number;
  /** Time of the processor, in milliseconds; other processes disturb it less. */
  readonly openCpuMs: number;
  /** Resident memory after that, and what of it the heap uses, in megabytes. */
  readonly residentMb: number;
  readonly heapMb: number;
}

/** Measurements of a store of one size. */
export interface MeasuredStore extends MeasuredOpening {
  readonly changes: Rate;
  readonly additions: Rate;
  /** Microseconds that a read takes. */
  readonly readUs: number;
  readonly claimMs: number;
  /** Changes of a tenth of the writers, alone and while backups are written. */
  readonly besideBackup: { readonly alone: Rate; readonly during: Rate };
  /** Opening with an archive; absent when none was asked for. */
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

/** Opens the store in a separate process, so that its memory can be measured. */
function opening(folder: string): MeasuredOpening {
  const self = fileURLToPath(import.meta.url);
  return JSON.parse(execFileSync(process.execPath, [self, "open", folder], { encoding: "utf8" }));
}

/** Backups are written one after the other while writers write. */
async function measureBesideBackup(store: EmbeddedStore, folder: string, size: number) {
  const keyFor = () => keyOf(Math.floor(Math.random() * size));
  const alone = await measureWrites(store.records, keyFor, WRITERS / 10);
  let isOver = false;
  const backups = (async () => {
    for (let n = 0; !isOver; n++) {
      const file = join(folder, `${n}.gz`);
      await writeBackup({ store, file, now: Date.now }, () => {});
      rmSync(file);
    }
  })();
  const during = await measureWrites(store.records, keyFor, WRITERS / 10);
  isOver = true;
  await backups;
  return { alone, during };
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
