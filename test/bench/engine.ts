import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
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
 * size runs in a process of its own, whose garbage collector may not use a second core.
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
    const identity = { symbol, name: symbol, exchange: null, currency: "USD" };
    const instrument = { ...identity, assetClass: "stock" as const, sector: `X${index % 11}` };
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
    walkStart: () => closeOf(WARM_SESSIONS) - DAY_MS / 2,
  };
  return { market, records, histories };
}

const quantile = (sorted: readonly number[], part: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
const ascending = (values: readonly number[]) => [...values].sort((a, b) => a - b);

/** Runs one size and writes one line of the table. */
function measure(size: number, feeds: Feeds): void {
  const { market, records, histories } = createMarket(size, feeds);
  const newest = new Map<string, Snapshot>();
  const keep = (snapshot: Snapshot) => void newest.set(snapshot.instrument.symbol, snapshot);
  const archive: SnapshotArchive = { clear: () => {}, addClosed: keep, setNewest: keep };
  const engine = createEngine(market, archive);
  engine.refresh(closeOf(WARM_SESSIONS - 1));

  const refreshMs: number[] = [];
  const processorMs: number[] = [];
  const eventUs = { bar: [] as number[], print: [] as number[], message: [] as number[] };
  for (let day = WARM_SESSIONS; day < SESSIONS; day++) {
    // What was said and traded off exchange in the session is known before it closes.
    if (feeds === "all feeds") engine.refresh(closeOf(day) - 1);
    const [start, processor] = [performance.now(), process.cpuUsage()];
    engine.refresh(closeOf(day));
    refreshMs.push(performance.now() - start);
    const { user, system } = process.cpuUsage(processor);
    processorMs.push((user + system) / 1_000);

    let at = closeOf(day);
    const tell = (
      kind: keyof typeof eventUs,
      add: (live: InstrumentRecords, n: number) => void,
    ) => {
      for (const [index, live] of records.slice(0, LIVE).entries()) {
        at += 1_000;
        add(live, index);
        const start = performance.now();
        engine.update([live.instrument.symbol], at);
        const us = (performance.now() - start) * 1_000;
        // The first session warms the compiler up.
        if (day > WARM_SESSIONS) eventUs[kind].push(us);
      }
    };
    tell("bar", ({ bars }, index) => {
      const late = histories[index % HISTORIES]?.[day] as Bar;
      (bars as Bar[]).push({ ...late, availableAt: at });
    });
    tell("print", ({ prints }) => (prints as Print[]).push(printAt(at, label(day))));
    tell("message", ({ mentions }) => (mentions as Mention[]).push(messageAt(at)));
  }
  const rss = process.memoryUsage().rss;

  const event = (micros: readonly number[]) => {
    const us = ascending(micros);
    return `${quantile(us, 0.5).toFixed(0)} / ${quantile(us, 0.99).toFixed(0)}`.padStart(11);
  };
  const [wall, own] = [refreshMs, processorMs].map(ascending) as [number[], number[]];
  say(
    [
      `${String(size).padStart(7)}, ${feeds.padEnd(9)}`,
      `${quantile(wall, 0).toFixed(0)} / ${quantile(wall, 0.5).toFixed(0)}`.padStart(13),
      `${quantile(own, 0).toFixed(0)} / ${quantile(own, 0.5).toFixed(0)}`.padStart(13),
      ((1_000 * quantile(own, 0)) / size).toFixed(1).padStart(7),
      (rss / 1e6).toFixed(0).padStart(7),
      ...[eventUs.bar, eventUs.print, eventUs.message].map(event),
      engine.drift().toExponential(0),
    ].join(" | "),
  );
}

/** How a loop of about ten microseconds is timed: what the machine itself adds to an event. */
function noise(): string {
  let sum = 0;
  const micros = Array.from({ length: 5_000 }, () => {
    const start = performance.now();
    for (let step = 0; step < 4_000; step++) sum += Math.sqrt(step);
    return (performance.now() - start) * 1_000;
  });
  const us = ascending(micros);
  const [middle, high] = [quantile(us, 0.5), quantile(us, 0.99)].map((value) => value.toFixed(0));
  return `${middle} / ${high}${sum > 0 ? "" : " (not run)"}`;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const [size, feeds] = process.argv.slice(2);
if (size !== undefined) {
  measure(Number(size), feeds as Feeds);
} else {
  say(
    "Full refresh in ms, best / median of 15 sessions, by the wall and in time of the processor,",
  );
  say("which other processes disturb less; us of it for an instrument; events in us, p50 / p99.");
  say(
    "instruments        |          wall |     processor |  us/ins |  RSS MB |    late bar |       print |     message | drift",
  );
  // One core: the collector gets no helpers.
  const flags = ["--single-threaded-gc", "--min-semi-space-size=16", "--max-semi-space-size=16"];
  for (const [count, kind] of RUNS) {
    // A heap that may not grow shows how much memory is needed.
    const heap = kind === "bars" ? ["--max-old-space-size=340"] : [];
    const script = fileURLToPath(import.meta.url);
    execFileSync(process.execPath, [...flags, ...heap, script, String(count), kind], {
      stdio: "inherit",
    });
  }
  say(`The same for a loop without the engine, p50 / p99 in us: ${noise()}`);
}
