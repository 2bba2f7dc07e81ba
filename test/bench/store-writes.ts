import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { put } from "../../src/store/port/operations.ts";
import { collection, type Operation, type Records } from "../../src/store/port/records.ts";
import { openEmbedded } from "../../src/store/sqlite/open.ts";
import { median } from "./harness/numbers.ts";

/**
 * Measures durable writes of the embedded store:
 * `store-writes.ts [<ms of each case>] [<rounds>] [<records>]`. A commit counts once it is on disk
 * (fsync of the write-ahead log). Each round has a new store. Prints a line per case with the
 * median, lowest and highest value of the rounds.
 */

const [caseMs = 2_000, rounds = 5, filled = 20_000] = process.argv.slice(2).map(Number);

const tokens = collection<object>("tokens");

/** A value that takes 450 bytes as JSON. */
const VALUE = {
  clientId: "client-0123456789abcdef",
  scope: "signals:read factor:read darkpool:read",
  accountId: "account-0123456789abcdef",
  issuedAt: 1_790_000_000_000,
  note: "x".repeat(296),
};

/** Returns keys in a scattered order, like those of random tokens. */
const keyOf = (at: number) => `${((at * 2_654_435_761) % 2 ** 32).toString(36)}-${at}`;

const changed = () => keyOf(Math.floor(Math.random() * filled));

let inserted = filled;
const added = () => keyOf(inserted++);

interface Case {
  readonly name: string;
  readonly writers: number;
  /** Number of records per commit. */
  readonly perCommit: number;
  /** Returns the key of the next record. */
  readonly nextKey: () => string;
}

const CASES: readonly Case[] = [
  { name: "change, 1 writer", writers: 1, perCommit: 1, nextKey: changed },
  { name: "change, 50 writers", writers: 50, perCommit: 1, nextKey: changed },
  { name: "change, 500 writers", writers: 500, perCommit: 1, nextKey: changed },
  { name: "change, 100 a commit, 1 writer", writers: 1, perCommit: 100, nextKey: changed },
  { name: "insert, 1 writer", writers: 1, perCommit: 1, nextKey: added },
  { name: "insert, 50 writers", writers: 50, perCommit: 1, nextKey: added },
  { name: "insert, 500 writers", writers: 500, perCommit: 1, nextKey: added },
  { name: "insert, 100 a commit, 1 writer", writers: 1, perCommit: 100, nextKey: added },
];

interface Rate {
  /** Records written and synced per second. */
  readonly perSecond: number;
  /**
   * CPU time of all threads per record, in microseconds; other processes affect it less than
   * wall-clock time.
   */
  readonly cpuMicros: number;
  /** 99th percentile of the commit latency, in milliseconds. */
  readonly p99: number;
}

function write(nextKey: () => string): Operation {
  const key = nextKey();
  return put(tokens, { key, value: VALUE, groups: [`client:${key.length % 10}${key.at(-1)}`] });
}

async function measure(records: Records, { writers, perCommit, nextKey }: Case): Promise<Rate> {
  const latencies: number[] = [];
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  const run = async () => {
    for (let at = start; at - start < caseMs; ) {
      await records.commit(Array.from({ length: perCommit }, () => write(nextKey)));
      const now = performance.now();
      latencies.push(now - at);
      at = now;
    }
  };
  await Promise.all(Array.from({ length: writers }, run));
  const seconds = (performance.now() - start) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const written = latencies.length * perCommit;
  latencies.sort((a, b) => a - b);
  return {
    perSecond: written / seconds,
    cpuMicros: (user + system) / written,
    p99: latencies[Math.floor(0.99 * latencies.length)] ?? Number.NaN,
  };
}

async function round(results: Map<string, Rate[]>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "bench-store-writes-"));
  const store = await openEmbedded({ folder, mode: "sandbox", now: Date.now });
  for (let at = 0; at < filled; at += 1_000) {
    const keys = Array.from({ length: 1_000 }, (_, n) => keyOf(at + n));
    await store.records.commit(keys.map((key) => write(() => key)));
  }
  for (const each of CASES) {
    results.get(each.name)?.push(await measure(store.records, each));
  }
  await store.close();
  rmSync(folder, { recursive: true });
}

const spread = (values: readonly number[]) =>
  [median(values), Math.min(...values), Math.max(...values)]
    .map((value) => (value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(1)))
    .join(" / ");

const results = new Map(CASES.map(({ name }) => [name, [] as Rate[]]));
for (let n = 0; n < rounds; n += 1) await round(results);
for (const [name, rates] of results) {
  const perSecond = spread(rates.map((rate) => rate.perSecond));
  const cpuMicros = spread(rates.map((rate) => rate.cpuMicros));
  const p99 = spread(rates.map((rate) => rate.p99));
  process.stdout.write(
    `${name.padEnd(32)} ${perSecond.padEnd(26)} a second  ${cpuMicros.padEnd(20)} us CPU  ${p99} ms p99\n`,
  );
}
