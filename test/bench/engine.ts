import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Instrument } from "../../src/market/instrument.ts";
import type { Market } from "../../src/market/market.ts";
import type {
  Bar,
  Fundamental,
  InstrumentRecords,
  Mention,
  Print,
} from "../../src/market/records.ts";
import { createEngine, type SnapshotArchive } from "../../src/score/engine.ts";
import type { Snapshot } from "../../src/score/snapshot.ts";

/**
 * What the engine costs: a full refresh at the close of a session (every history recomputed, tables
 * frozen, factors, composite, signal and snapshot of every instrument), and a single event. Each
 * run is a process of its own, whose garbage collector may not use a second core.
 */

const DAY_MS = 86_400_000;
const CLOSE_MS = 20 * 3_600_000;
const closeOf = (day: number) => day * DAY_MS + CLOSE_MS;

/** Sessions before the first that is measured, and sessions that are measured. */
const WARM_SESSIONS = 300;
const MEASURED_SESSIONS = 15;
const SESSIONS = WARM_SESSIONS + MEASURED_SESSIONS;
/** Sessions in which there were messages and prints, where there are any. */
const FEED_SESSIONS = 70;
/** Price histories; instruments share them, so that the market itself takes little memory. */
const HISTORIES = 100;
/** Sessions after which the compiler has seen everything. */
const COMPILED_AFTER = 5;
/** Runs of each size. */
const REPEATS = 3;
/** Instruments that are told something after each close: a late bar, a print and a message. */
const LIVE = 300;

/** Instruments, and whether they have filings, messages, prints and short volumes besides bars. */
const RUNS = [
  [1_000, "bars"],
  [10_000, "bars"],
  [100_000, "bars"],
  [1_000, "all feeds"],
  [10_000, "all feeds"],
] as const;
type Feeds = (typeof RUNS)[number][1];

/** The same numbers in [0, 1) on every run: a linear congruential generator. */
function createChance(): () => number {
  let state = 1;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
const chance = createChance();

const label = (day: number) => String(day).padStart(6, "0");

function barsOf(): Bar[] {
  let close = 20 + 200 * chance();
  return Array.from({ length: SESSIONS }, (_, day) => {
    const open = close;
    close *= Math.exp(0.03 * (chance() + chance() - 1));
    return {
      ...{ session: label(day), availableAt: closeOf(day) },
      ...{ open, high: Math.max(open, close) * 1.005, low: Math.min(open, close) * 0.995, close },
      ...{ volume: 1e6 * chance(), dividend: 0, split: 1 },
      logReturn: day === 0 ? null : Math.log(close / open),
    };
  });
}

const messageAt = (at: number): Mention => ({
  ...{ id: `m${at}`, availableAt: at, author: `a${Math.floor(1e6 * chance())}` },
  text: chance() < 0.6 ? `strong rally, higher target ${at}` : `weak results, downgrade ${at}`,
  ...{ followers: Math.floor(1e4 * chance()), symbolCount: 1, stance: null },
});

const printAt = (at: number, session: string): Print => ({
  ...{ id: `p${at}`, session, tradedAt: at, availableAt: at, price: 100 + chance() },
  ...{ sizeShares: 20_000, venue: "TRF", conditions: "", bid: 100, ask: 101 },
  ...{ canceled: false, signable: true },
});

/** Feeds of the last sessions, once for many instruments. */
function feedsOf(): Omit<InstrumentRecords, "instrument" | "bars"> {
  const days = Array.from(
    { length: FEED_SESSIONS },
    (_, index) => SESSIONS - FEED_SESSIONS + index,
  );
  const metrics: readonly Fundamental["metric"][] = ["netIncome", "equity", "shares"];
  return {
    mentions: days.flatMap((day) =>
      [9, 12, 15].map((h) => messageAt(day * DAY_MS + h * 3_600_000)),
    ),
    prints: days.flatMap((day) =>
      [14, 17].map((h) => printAt(day * DAY_MS + h * 3_600_000, label(day))),
    ),
    shortVolumes: days.map((day) => ({
      ...{ session: label(day), availableAt: closeOf(day) + 7_200_000 },
      ...{ shortShares: 4e5 + 2e5 * chance(), totalShares: 1e6 },
    })),
    fundamentals: [-300, -209, -118, -27, 64, 155, 246].flatMap((end) =>
      metrics.map((metric) => ({
        ...{ metric, periodEnd: closeOf(end), availableAt: closeOf(end + 30) },
        value: metric === "shares" ? 1e8 : 1e8 * (1 + chance()),
      })),
    ),
  };
}

function createMarket(size: number, feeds: Feeds) {
  const histories = Array.from({ length: HISTORIES }, barsOf);
  const shared = Array.from({ length: 50 }, feedsOf);
  const records = Array.from({ length: size }, (_, index): InstrumentRecords => {
    const symbol = `S${index}`;
    const instrument: Instrument = {
      symbol,
      name: symbol,
      assetClass: "stock",
      exchange: null,
      currency: "USD",
      sector: `X${index % 11}`,
    };
    const bars = histories[index % HISTORIES] as Bar[];
    const own = feeds === "bars" ? {} : shared[index % shared.length];
    if (index >= LIVE) return { instrument, bars, ...own };
    // Lists of their own, which grow.
    const { mentions = [], prints = [] } = own ?? {};
    const lists = { mentions: [...mentions], prints: [...prints] };
    return { instrument, bars: bars.slice(0, WARM_SESSIONS), ...own, ...lists };
  });
  const market: Market = {
    mode: "files",
    source: { id: "bench", name: "Bench", terms: "", simulated: true },
    dayMs: DAY_MS,
    recordsUntil: () => records,
    barsDue: (after, until) => {
      const first = Math.floor((after - CLOSE_MS) / DAY_MS) + 1;
      const days = Math.max(0, Math.floor((until - CLOSE_MS) / DAY_MS) - first + 1);
      return Array.from({ length: days }, (_, index) => closeOf(first + index));
    },
    sessionAt: (at) => label(Math.floor(at / DAY_MS)),
    walkStart: () => closeOf(WARM_SESSIONS - COMPILED_AFTER),
  };
  return { market, records, histories };
}

/** What one run measured: each session and event in its order, the same in every run. */
interface Measured {
  /** Full refreshes at the closes, in milliseconds by the wall and of the processor's time. */
  readonly refreshMs: readonly number[];
  readonly processorMs: readonly number[];
  /** Single events after the closes, in microseconds. */
  readonly eventUs: Readonly<Record<EventKind, readonly number[]>>;
  /** Largest resident memory, in megabytes. */
  readonly peakMb: number;
  readonly drift: number;
}
const EVENT_KINDS = ["bar", "print", "message"] as const;
type EventKind = (typeof EVENT_KINDS)[number];

/** Runs one size. */
function measure(size: number, feeds: Feeds): Measured {
  const { market, records, histories } = createMarket(size, feeds);
  const newest = new Map<string, Snapshot>();
  const keep = (snapshot: Snapshot) => void newest.set(snapshot.instrument.symbol, snapshot);
  const archive: SnapshotArchive = { clear: () => {}, addClosed: keep, setNewest: keep };
  const engine = createEngine(market, archive);
  engine.refresh(closeOf(WARM_SESSIONS - 1));

  const refreshMs: number[] = [];
  const processorMs: number[] = [];
  const eventUs: Record<EventKind, number[]> = { bar: [], print: [], message: [] };
  for (let day = WARM_SESSIONS; day < SESSIONS; day++) {
    // What was said and traded off exchange in the session is known before it closes.
    if (feeds === "all feeds") engine.refresh(closeOf(day) - 1);
    const processor = process.cpuUsage();
    refreshMs.push(timed(() => engine.refresh(closeOf(day))));
    const { user, system } = process.cpuUsage(processor);
    processorMs.push((user + system) / 1_000);

    let at = closeOf(day);
    const tell = (kind: EventKind, add: (live: InstrumentRecords, n: number) => void) => {
      for (const [index, live] of records.slice(0, LIVE).entries()) {
        at += 1_000;
        add(live, index);
        const ms = timed(() => engine.update([live.instrument.symbol], at));
        if (day >= WARM_SESSIONS + COMPILED_AFTER) eventUs[kind].push(1_000 * ms);
      }
    };
    tell("bar", ({ bars }, index) => {
      const late = histories[index % HISTORIES]?.[day] as Bar;
      (bars as Bar[]).push({ ...late, availableAt: at });
    });
    tell("print", ({ prints }) => (prints as Print[]).push(printAt(at, label(day))));
    tell("message", ({ mentions }) => (mentions as Mention[]).push(messageAt(at)));
  }
  const peakMb = (process.resourceUsage().maxRSS * 1_024) / 1e6;
  return { refreshMs, processorMs, eventUs, peakMb, drift: engine.drift() };
}

function timed(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

/** One core: the collector gets no helpers. The nursery is that of `npm start`. */
const FLAGS = ["--single-threaded-gc", "--min-semi-space-size=32", "--max-semi-space-size=32"];
/** A heap that may not grow shows how much memory is needed, in megabytes. */
const HEAP_MB = 280;

/** Runs one size in a process of its own. */
function run(size: number, feeds: Feeds): Measured {
  const heap = feeds === "bars" ? [`--max-old-space-size=${HEAP_MB}`] : [];
  const script = fileURLToPath(import.meta.url);
  const args = [...FLAGS, ...heap, script, String(size), feeds];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as Measured;
}

/**
 * The best time of each session and event over some runs: they do the same work, so what one takes
 * longer than another is the work of other processes.
 */
function bestOf(runs: readonly Measured[]): Measured {
  const best = (pick: (one: Measured) => readonly number[]) => {
    const [first = [], ...others] = runs.map(pick);
    return first.map((value, index) =>
      Math.min(value, ...others.map((other) => other[index] ?? value)),
    );
  };
  return {
    refreshMs: best(({ refreshMs }) => refreshMs),
    processorMs: best(({ processorMs }) => processorMs),
    eventUs: {
      bar: best(({ eventUs }) => eventUs.bar),
      print: best(({ eventUs }) => eventUs.print),
      message: best(({ eventUs }) => eventUs.message),
    },
    peakMb: Math.max(...runs.map(({ peakMb }) => peakMb)),
    drift: Math.max(...runs.map(({ drift }) => drift)),
  };
}

const quantile = (values: readonly number[], part: number) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
};
const rounded = (values: readonly number[], ...parts: readonly number[]) =>
  parts.map((part) => quantile(values, part).toFixed(0)).join(" / ");

/** One line of the table. */
function lineOf(size: number, feeds: Feeds, measured: Measured): string {
  const { refreshMs, processorMs, eventUs, peakMb, drift } = measured;
  return [
    `${String(size).padStart(7)}, ${feeds.padEnd(9)}`,
    rounded(refreshMs, 0.5, 1).padStart(13),
    rounded(processorMs, 0.5).padStart(9),
    ((1_000 * quantile(processorMs, 0.5)) / size).toFixed(1).padStart(6),
    peakMb.toFixed(0).padStart(6),
    ...EVENT_KINDS.map((kind) => rounded(eventUs[kind], 0.5, 0.99).padStart(9)),
    drift.toExponential(0),
  ].join(" | ");
}

/** How a loop of about ten microseconds is timed: what the machine itself adds to an event. */
function noise(): string {
  let sum = 0;
  const micros = Array.from({ length: 5_000 }, () => {
    const ms = timed(() => {
      for (let step = 0; step < 4_000; step++) sum += Math.sqrt(step);
    });
    return 1_000 * ms;
  });
  return `${rounded(micros, 0.5, 0.99)}${sum > 0 ? "" : " (not run)"}`;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const [size, feeds] = process.argv.slice(2);
if (size !== undefined) {
  say(JSON.stringify(measure(Number(size), feeds as Feeds)));
} else {
  say(
    `Each of ${MEASURED_SESSIONS} refreshes and ${3 * LIVE} events a session: best of ${REPEATS}.`,
  );
  say("Refresh in ms, median / slowest session, and median of the processor's time, which other");
  say("processes disturb less; us of it for an instrument; events in us, p50 / p99.");
  say(
    "instruments        | full refresh  | processor | us/ins | max MB | late bar  | print     | message   | drift",
  );
  for (const [count, kind] of RUNS) {
    const runs = Array.from({ length: REPEATS }, () => run(count, kind));
    say(lineOf(count, kind, bestOf(runs)));
  }
  say(`A loop without the engine, once, p50 / p99 in us: ${noise()}`);
}
