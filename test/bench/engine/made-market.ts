import type { Instrument } from "../../../src/market/instrument.ts";
import type { Market } from "../../../src/market/market.ts";
import type {
  Bar,
  Fundamental,
  InstrumentRecords,
  Mention,
  Print,
} from "../../../src/market/records.ts";

const DAY_MS = 86_400_000;
const CLOSE_MS = 20 * 3_600_000;
/** The close of a session in Unix milliseconds. `day` is the number of days since 1970-01-01. */
export const closeOf = (day: number) => day * DAY_MS + CLOSE_MS;

/** Number of sessions before the measurement, and number of measured sessions. */
export const WARM_SESSIONS = 300;
const MEASURED_SESSIONS = 15;
export const SESSIONS = WARM_SESSIONS + MEASURED_SESSIONS;
/** Number of scored sessions before the measurement; after them, V8 has compiled all hot code. */
const COMPILED_AFTER = 5;
/** Number of sessions at the end that have messages and prints, if the market has all feeds. */
const FEED_SESSIONS = 70;
/**
 * Number of different price histories. Instruments share them, so that the market itself needs
 * little memory.
 */
const HISTORIES = 100;

/** Whether instruments have only bars, or also filings, messages, prints and short volumes. */
export type Feeds = "bars" | "all feeds";

/** Linear congruential generator: returns numbers in [0, 1), the same sequence in every run. */
function createChance(): () => number {
  let state = 1;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
const chance = createChance();

/** The session label of a day, with six digits. */
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

/** A message with random content that is published at `at`, Unix milliseconds. */
const messageAt = (at: number): Mention => ({
  ...{ id: `m${at}`, availableAt: at, author: `a${Math.floor(1e6 * chance())}` },
  text: chance() < 0.6 ? `strong rally, higher target ${at}` : `weak results, downgrade ${at}`,
  ...{ followers: Math.floor(1e4 * chance()), symbolCount: 1, stance: null },
});

/** A print that is traded and published at `at`, Unix milliseconds. */
const printAt = (at: number, session: string): Print => ({
  ...{ id: `p${at}`, session, tradedAt: at, availableAt: at, price: 100 + chance() },
  ...{ sizeShares: 20_000, venue: "TRF", conditions: "", bid: 100, ask: 101 },
  ...{ canceled: false, signable: true },
});

/**
 * Records of all feeds except bars. Messages, prints and short volumes exist only for the last
 * sessions. Many instruments share these records.
 */
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

/** Creates a market with `size` instruments. */
export function createMarket(size: number, feeds: Feeds): Market {
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
    return { instrument, bars, ...own };
  });
  return {
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
    scoredFrom: () => closeOf(WARM_SESSIONS - COMPILED_AFTER),
    servedFrom: () => closeOf(WARM_SESSIONS - COMPILED_AFTER),
  };
}
