import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { folderLogSource } from "../../src/cli/log-folder.ts";
import type { WriterOptions } from "../../src/log/log-writer.ts";
import type { SettlementMarket } from "../../src/log/outcomes.ts";
import { verifyLog } from "../../src/log/verify/verify-log.ts";
import type { Instrument } from "../../src/market/instrument.ts";
import { createLazyList } from "../../src/market/lazy-list.ts";
import type { Bar, InstrumentRecords } from "../../src/market/records.ts";
import { openEmbedded } from "../../src/store/sqlite/open.ts";
import { entryBundlePath, tilePath } from "../../src/tree/tile-path.ts";
import { allTiles } from "../../src/tree/tiles.ts";
import { logSourceOf } from "../support/log-source.ts";
import { closeOf, DAY_MS, Sessions, signalLog, verifierTextOf } from "../support/signal-log.ts";
import { median, quantile } from "./harness/numbers.ts";

/**
 * Measures the signal log: `signal-log.ts <runs>` appends this many runs of 10,000 signals, prints
 * the costs as JSON, and leaves the log in the folder that the JSON specifies.
 * `signal-log.ts verify <folder> <key>` verifies such a log in a separate process.
 */

const SYMBOLS = Array.from({ length: 10_000 }, (_, at) => `S${String(at).padStart(5, "0")}`);

/** Number of sessions with prices before the first run; forecasts need them. */
const PAST_DAYS = 300;

/** Number of days with a price. */
const DAYS = PAST_DAYS + 150;

/**
 * Price bars of ten different histories, each shared by a thousand instruments. All prices are
 * available on time.
 */
const BARS = Array.from({ length: 10 }, (_, kind) => {
  let close = 100;
  return Array.from({ length: DAYS }, (_, index): Bar => {
    const day = index - PAST_DAYS;
    const move = (((day * 7 + kind * 3 + 9_999) % 17) - 8) / 400;
    const open = close;
    close = open * Math.exp(move);
    const session = new Date(closeOf(day)).toISOString().slice(0, 10);
    return {
      ...{ session, availableAt: closeOf(day), open, close, volume: 1_000, dividend: 0, split: 1 },
      ...{ high: Math.max(open, close) * 1.01, low: Math.min(open, close) * 0.99 },
      logReturn: index === 0 ? null : move,
    };
  });
});

const RECORDS = SYMBOLS.map((symbol, at): InstrumentRecords => {
  const bars = BARS[at % BARS.length] as readonly Bar[];
  const instrument = { symbol, name: symbol, assetClass: "stock" } as unknown as Instrument;
  return {
    instrument,
    bars: createLazyList(
      () => DAYS,
      (index) => bars[index] as Bar,
    ),
  };
});

/** Number of timed proofs, and of timed checkpoints. */
const TIMES = 1_000;

const MB = 1_024 * 1_024;

export interface LogCosts {
  /** Folder with the files of the log in the layout in which they are served. */
  readonly folder: string;
  readonly key: string;
  readonly entries: number;
  /** Median CPU time of a run of 10,000 signals, without the first run, in milliseconds. */
  readonly runCpuMs: number;
  /**
   * Longest turn of the event loop while a run is appended and due forecasts are settled, in
   * milliseconds of CPU time and of wall-clock time: medians over the runs.
   */
  readonly longestTurnCpuMs: number;
  readonly longestTurnMs: number;
  /** Median and 99th percentile of the time for a proof and for a checkpoint, in milliseconds. */
  readonly proofMs: readonly [number, number];
  readonly checkpointMs: readonly [number, number];
}

export interface VerifyCosts {
  readonly entries: number;
  readonly cpuSeconds: number;
  /** Peak resident memory of the process, in megabytes. */
  readonly residentMb: number;
  readonly failed: number;
}

const [first = "10", folder = "", key = ""] = process.argv.slice(2);
const costs = first === "verify" ? await verify() : await append(Number(first));
process.stdout.write(JSON.stringify(costs));

async function append(runs: number): Promise<LogCosts> {
  const place = mkdtempSync(join(tmpdir(), "bench-signal-log-"));
  const store = await openEmbedded({ folder: join(place, "store"), mode: "live", now: Date.now });
  const cpu: number[] = [];
  const turns: number[] = [];
  const longest: number[] = [];
  let sessions = new Sessions();
  const market: SettlementMarket & WriterOptions["market"] = {
    ...{ mode: "live", dayMs: DAY_MS },
    recordsUntil: () => RECORDS,
  };
  const current = {
    market,
    knownUntil: () => sessions.knownUntil(),
    snapshots: {
      allNewest: () => sessions.snapshots.allNewest(),
      history: (...range: [string, number, number]) => sessions.snapshots.history(...range),
      lastAt: (...at: [string, number]) => sessions.snapshots.lastAt(...at),
    },
  } as unknown as Sessions;
  const monotonic = () => performance.now();
  const log = signalLog(store, current, { folder: place, monotonic });
  for (let day = 0; day < runs; day++) {
    // Only the last session is kept in memory.
    sessions = new Sessions();
    sessions.close(day, "stock", SYMBOLS);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const longestSpent = watchTurns();
    const stepsOfRun: number[] = [];
    const signed = (await log.store.checkpoint())?.size ?? 0;
    for (let isRun = true, worked = 1; worked > 0; ) {
      const before = process.cpuUsage();
      worked = await log.writer.tick();
      const { user, system } = process.cpuUsage(before);
      if (isRun) stepsOfRun.push((user + system) / 1_000);
      // The run ends when all its signals are signed; only then are due forecasts settled.
      isRun &&= ((await log.store.checkpoint())?.size ?? 0) < signed + SYMBOLS.length;
    }
    delay.disable();
    cpu.push(stepsOfRun.reduce((sum, step) => sum + step, 0));
    longest.push(longestSpent());
    turns.push(delay.max / 1e6);
  }
  const { size = 0, origin = "" } = (await log.reader.checkpoint()) ?? {};
  const proofMs = await timed(async (n) => void (await log.reader.prove((n * 7_919) % size)));
  const checkpointMs = await timed(async () => {
    const state = await log.store.state();
    if (state === undefined) throw new Error("the log was not created");
    await log.signer.sign(state);
  });
  await write(logSourceOf(log), size, place);
  await store.close();
  rmSync(join(place, "store"), { recursive: true });
  return {
    folder: place,
    key: verifierTextOf(origin),
    entries: size,
    runCpuMs: median(cpu.slice(1)),
    longestTurnCpuMs: median(longest.slice(1)),
    longestTurnMs: median(turns.slice(1)),
    proofMs,
    checkpointMs,
  };
}

/**
 * Measures turns of the event loop.
 *
 * @returns A function that ends the measurement and returns the CPU time of the longest turn in
 * milliseconds.
 */
function watchTurns(): () => number {
  let longest = 0;
  let before = process.cpuUsage();
  const next = () => {
    const { user, system } = process.cpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
    before = process.cpuUsage();
    pending = setImmediate(next);
  };
  let pending = setImmediate(next);
  return () => {
    clearImmediate(pending);
    return longest;
  };
}

async function timed(run: (n: number) => Promise<void>): Promise<readonly [number, number]> {
  const times: number[] = [];
  for (let n = 0; n < TIMES; n++) {
    const start = performance.now();
    await run(n);
    times.push(performance.now() - start);
  }
  return [median(times), quantile(times, 0.99)];
}

/** Writes the files of a log into a folder, in the layout in which they are served. */
async function write({ read }: ReturnType<typeof logSourceOf>, size: number, to: string) {
  const put = async (path: string) => {
    const file = join(to, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, (await read(path)) ?? "");
  };
  await put("checkpoint");
  for (const tile of allTiles(size)) {
    await put(`tile/${tilePath(tile)}`);
    if (tile.level === 0) await put(`tile/${entryBundlePath(tile)}`);
  }
}

async function verify(): Promise<VerifyCosts> {
  const source = folderLogSource(folder);
  const before = process.cpuUsage();
  const { size = 0, checks } = await verifyLog({
    ...{ source, keys: [key], known: undefined, now: Date.now },
  });
  const { user, system } = process.cpuUsage(before);
  return {
    entries: size,
    cpuSeconds: (user + system) / 1e6,
    residentMb: (process.resourceUsage().maxRSS * 1_024) / MB,
    failed: checks.filter(({ outcome }) => outcome === "failed").length,
  };
}
