import type { AssetClass, Instrument } from "../market/instrument.ts";
import type { Market } from "../market/market.ts";
import type {
  Bar,
  Fundamental,
  FundamentalMetric,
  InstrumentRecords,
  Mention,
  OnChainFigures,
  Print,
  ShortVolume,
  WeeklyVolume,
} from "../market/records.ts";

/**
 * A synthetic market of 1300 days that brings every factor into every status, exercises every rule
 * of the method and has records of every feed, also of those that no score reads. The hash of the
 * method is computed from it: what it does not show cannot change `methodHash`.
 */

const DAY_MS = 86_400_000;
/** The last day and the first scored day, counted from day 0. Every day is a session. */
export const DAYS = 1300;
export const SCORED_FROM = 1210;
/** 2001-01-01 in Unix milliseconds, the start of day 0. Sessions close at 21:00 UTC. */
const EPOCH = 978_307_200_000;
export const closeOf = (day: number): number => EPOCH + day * DAY_MS + 21 * 3_600_000;
const instantOf = (day: number, hour: number): number =>
  EPOCH + day * DAY_MS + Math.round(hour * 3_600_000);
const label = (day: number): string => `D${String(day).padStart(4, "0")}`;

/** Days on which only bars have new data, so that the other feeds become stale. */
const SILENCE = { from: 1250, to: 1258 } as const;
const isSilent = (day: number): boolean => day >= SILENCE.from && day <= SILENCE.to;

/** A pseudorandom number in [0, 1) that depends only on the arguments, in integer arithmetic. */
function chance(...keys: readonly number[]): number {
  let state = 2_166_136_261;
  for (const key of keys) {
    state = Math.imul(state ^ (key + 0x9e3779b9), 0x85ebca6b);
    state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
    state ^= state >>> 16;
  }
  return (state >>> 0) / 2 ** 32;
}

/** Approximately N(0,1): the scaled sum of four uniform numbers. */
const bell = (...keys: readonly number[]): number =>
  (chance(...keys, 1) + chance(...keys, 2) + chance(...keys, 3) + chance(...keys, 4) - 2) * 1.732;

const rounded = (value: number, decimals: number): number => Number(value.toFixed(decimals));

/** Peculiarities of an instrument. */
interface Traits {
  /** First and last day with a bar. */
  readonly listed?: number;
  readonly lastBar?: number;
  readonly feeds?: "all" | "none" | "shorts" | "quiet";
  /** Last quarter with a filing. */
  readonly lastQuarter?: number;
  readonly hasFilings?: boolean;
  readonly hasEbitda?: boolean;
}

const EXCHANGES = ["NYSE", "Nasdaq", null] as const;
const SECTORS = ["Health Care", "Energy", "Financials"] as const;

/** Peculiarities of some stocks, by the index of the stock. */
const TRAITS: Readonly<Record<number, Traits>> = {
  1: { feeds: "none", hasFilings: false },
  2: { feeds: "quiet" },
  3: { feeds: "shorts", hasEbitda: false },
  4: { lastQuarter: 10 },
  5: { lastBar: 1280 },
  6: { listed: 1255 },
  7: { listed: 1180, feeds: "none", hasFilings: false },
  8: { listed: 1040 },
  9: { lastQuarter: 8, feeds: "quiet" },
};

const STOCKS = 36;
const SPLIT_STOCK = 10;
const JUMP_STOCK = 11;
/** Daily drift, positive or negative, strong enough for LONG and SHORT. */
const driftOf = (index: number): number => ((index % 7) - 3) * 0.0006;

function instrument(symbol: string, assetClass: AssetClass, sector: string | null): Instrument {
  const exchange = assetClass === "stock" ? (EXCHANGES[Number(symbol.slice(1)) % 3] ?? null) : null;
  return { symbol, name: symbol, assetClass, exchange, currency: "USD", sector };
}

/** Whether trading is halted: one day for some stocks, three days for one stock. */
const isHalted = (index: number, day: number): boolean =>
  (day === 1230 + (index % 20) && index % 3 === 0) || (index === 12 && day >= 1270 && day < 1273);

/**
 * Simple return of a day: drift, a market move that becomes volatile at the end, and a shock for
 * some stocks.
 */
function moveOf(index: number, day: number, volatility: number): number {
  const shock = index % 5 === 0 && day === 1220 + index ? 9 : 1;
  const market = 0.004 * bell(7, day) * (day > 1275 ? 6 : 1);
  return driftOf(index) + market + volatility * shock * bell(index, day, 5);
}

function barsOf(index: number, { listed = 0, lastBar = DAYS }: Traits, volatility: number): Bar[] {
  const bars: Bar[] = [];
  let close = 20 + 3 * (index % 17);
  for (let day = listed; day <= Math.min(lastBar, DAYS); day++) {
    if (isHalted(index, day)) continue;
    const before = close;
    const move = moveOf(index, day, volatility);
    const split = index === SPLIT_STOCK && day === 1225 ? 2 : 1;
    const jump = index === JUMP_STOCK && day === 1080 ? 2.5 : 1;
    const dividend = index % 4 === 1 && day % 63 === index ? rounded(before * 0.006, 2) : 0;
    close = Math.max(0.5, rounded((before * (1 + move) * jump - dividend) / split, 2));
    const open = rounded((before / split) * (1 + 0.3 * move), 2);
    const wick = volatility * chance(index, day, 6);
    bars.push({
      session: label(day),
      availableAt: closeOf(day),
      open,
      high: rounded(Math.max(open, close) * (1 + wick), 2),
      low: rounded(Math.min(open, close) * (1 - wick), 2),
      close,
      volume: Math.round(1_000_000 * (0.5 + chance(index, day, 7)) * (1 + 30 * Math.abs(move))),
      dividend,
      split,
      logReturn: day === listed ? null : Math.log(((close + dividend) * split) / before),
    });
  }
  return bars;
}

/** Days from the end of a quarter to its filing; one filing is too late to count. */
const lagOf = (index: number, quarter: number): number =>
  index % 11 === 5 && quarter === 11 ? 190 : 25 + (index % 20);

function fundamentalsOf(index: number, { lastQuarter = 99, hasEbitda = true }: Traits) {
  const base = 1_000_000_000 * (1 + (index % 6));
  const figures: Fundamental[] = [];
  for (let quarter = 0; quarter <= Math.min(13, lastQuarter); quarter++) {
    if (index % 9 === 8 && quarter === 8) continue;
    const endDay = quarter * 91 + (index % 30);
    const lag = lagOf(index, quarter);
    const noise = (key: number) => 1 + 0.2 * bell(index, quarter, key);
    const values: readonly (readonly [FundamentalMetric, number])[] = [
      ["netIncome", base * 0.012 * noise(11) * (index % 13 === 7 ? -1 : 1)],
      ["freeCashFlow", base * 0.01 * noise(12)],
      ["equity", base * 0.4 * noise(13)],
      ...(hasEbitda
        ? ([
            ["ebitda", base * 0.02 * noise(14)],
            ["debt", base * 0.3 * noise(15)],
            ["cash", base * 0.1 * noise(16)],
          ] as const)
        : []),
      ["shares", (base / 40) * (index === SPLIT_STOCK && quarter === 13 ? 2 : 1)],
    ];
    for (const [metric, value] of values) {
      figures.push({
        metric,
        periodEnd: instantOf(endDay, 0),
        availableAt: instantOf(endDay + lag, 22),
        value: Math.round(value),
      });
    }
  }
  return figures.sort((a, b) => a.availableAt - b.availableAt);
}

const WORDS = [
  "strong rally, buying more",
  "weak and falling, selling",
  "earnings today",
  "great quarter, very bullish",
  "terrible loss, avoid",
] as const;

/**
 * Number of messages of a day; toward the end, very few for some instruments and many for others.
 */
function messageCount(index: number, day: number): number {
  if (index % 10 === 4 && day > 1265) return 1;
  const crowd = index % 8 === 3 && day > 1270 ? 4 : 1;
  return Math.round((4 + 6 * chance(index, day, 21)) * crowd);
}

function stanceOf(luck: number): Mention["stance"] {
  if (luck > 0.8) return "bullish";
  return luck < 0.1 ? "bearish" : null;
}

/**
 * One message of a day. Authors have different reach, and some messages are copies, come from new
 * accounts, or tag many symbols.
 */
function mentionOf(index: number, day: number, number: number): Mention {
  const luck = chance(index, day, number, 22);
  const mood = Math.floor(WORDS.length * ((luck + 0.15 * (index % 4)) % 1));
  const isCopy = number % 5 === 4;
  return {
    id: `${index}.${day}.${number}`,
    availableAt: instantOf(day, 1 + (18 * number) / messageCount(index, day)),
    text: isCopy ? WORDS[0] : `${WORDS[mood]} ${"abcdefgh".slice(0, 1 + (number % 7))}`,
    author: luck < 0.05 ? null : `a${Math.floor(luck * 900) % (30 + index)}`,
    followers: luck > 0.9 ? null : Math.round(luck * luck * 90_000),
    accountAgeDays: number % 6 === 1 ? 10 : null,
    symbolCount: number % 7 === 6 ? 8 : 1 + (number % 3),
    stance: stanceOf(luck),
  };
}

/** Messages from day 1120 on. */
function mentionsOf(index: number, isQuiet: boolean): Mention[] {
  const mentions: Mention[] = [];
  for (let day = 1120; day <= DAYS; day++) {
    if (isSilent(day) || (isQuiet && day > 1240)) continue;
    const count = messageCount(index, day);
    for (let number = 0; number < count; number++) mentions.push(mentionOf(index, day, number));
    if (index % 12 === 2 && day % 9 === 0) mentions.push(...spam(index, day));
  }
  return mentions.sort((a, b) => a.availableAt - b.availableAt);
}

/** 60 identical messages of one author. */
const spam = (index: number, day: number): readonly Mention[] =>
  Array.from({ length: 60 }, (_, number) => ({
    id: `${index}.${day}.s${number}`,
    availableAt: instantOf(day, 19 + number / 60),
    text: "buy now, guaranteed rally",
    author: "promoter",
    followers: 5,
    symbolCount: 1,
    stance: null,
  }));

/** Prints from day 1130 on: blocks with and without a side, small prints and canceled prints. */
function printsOf(index: number, bars: readonly Bar[]): Print[] {
  return bars.flatMap(({ session, close }, position) => {
    const day = Number(session.slice(1));
    if (day < 1130 || isSilent(day) || position === 0) return [];
    const count = index % 10 === 6 ? Number(day % 12 === 0) : 3;
    return Array.from({ length: count }, (_, number): Print => {
      const luck = chance(index, day, number, 31);
      const tradedAt = instantOf(day, 15 + number + luck);
      const bid = luck < 0.1 ? null : rounded(close * 0.999, 2);
      const ask = rounded(close * 1.001 + 0.01, 2);
      const isLate = number === 2 && day % 5 === 0;
      return {
        id: `${index}.${day}.${number}`,
        session,
        tradedAt,
        availableAt: isLate ? instantOf(day, 22) : tradedAt,
        price: rounded(close * (0.999 + 0.002 * chance(index, day, number, 32)), 3),
        sizeShares: luck > 0.9 ? 500 : 10_000 + Math.round(30_000 * luck),
        venue: "TRF",
        conditions: "",
        bid,
        ask,
        canceled: luck > 0.55 && luck < 0.58,
        signable: index % 15 !== 13 && luck < 0.85,
      };
    });
  });
}

const shortVolumesOf = (index: number, bars: readonly Bar[]): ShortVolume[] =>
  bars.flatMap(({ session, volume }) => {
    const day = Number(session.slice(1));
    if (day < 1170 || isSilent(day)) return [];
    const isThin = index % 14 === 9 && day > 1240;
    const totalShares = isThin ? 4_000 : Math.round(volume * 0.35);
    const ratio = 0.46 + 0.06 * bell(index, day, 41);
    const shortShares = Math.round(totalShares * Math.min(0.9, Math.max(0.1, ratio)));
    return [{ session, shortShares, totalShares, availableAt: instantOf(day, 22) }];
  });

const weeklyVolumesOf = (index: number, bars: readonly Bar[]): WeeklyVolume[] =>
  bars.flatMap(({ session, volume }) => {
    const day = Number(session.slice(1));
    if (day % 7 !== 0) return [];
    const weekStart = new Date(instantOf(day, 0)).toISOString().slice(0, 10);
    const atsShares = Math.round(volume * (0.4 + 0.2 * chance(index, day, 61)));
    return [{ weekStart, atsShares, otcShares: volume, availableAt: instantOf(day + 21, 12) }];
  });

const onChainOf = (index: number, bars: readonly Bar[]): OnChainFigures[] =>
  bars.flatMap(({ session, close }) => {
    const day = Number(session.slice(1));
    if (isSilent(day)) return [];
    const mvrv = rounded(1.2 + close / 60 + 0.1 * bell(index, day, 51), 4);
    return [
      {
        session,
        availableAt: instantOf(day + 1, 6),
        mvrv: day % 97 === 5 ? null : mvrv,
        nvt: index % 2 === 0 ? rounded(40 + 10 * bell(index, day, 52), 3) : null,
        marketCapUsd: Math.round(close * 1e9),
      },
    ];
  });

function stock(index: number): InstrumentRecords {
  const traits = TRAITS[index] ?? {};
  const { feeds = "all", hasFilings = true } = traits;
  const sector = index % 12 === 11 ? null : (SECTORS[index % 3] as string);
  const bars = barsOf(index, traits, 0.008 + 0.002 * (index % 5));
  return {
    instrument: instrument(`S${index}`, "stock", sector),
    bars,
    ...(hasFilings && { fundamentals: fundamentalsOf(index, traits) }),
    ...((feeds === "all" || feeds === "quiet") && {
      mentions: mentionsOf(index, feeds === "quiet"),
      prints: feeds === "quiet" ? printsOf(index, bars.slice(0, 1200)) : printsOf(index, bars),
    }),
    ...(feeds !== "none" && {
      shortVolumes: shortVolumesOf(index, bars),
      weeklyVolumes: weeklyVolumesOf(index, bars),
    }),
  };
}

/**
 * Creates a fund. Three funds are too few peers for cross-sectional ranks, so their sub-signals are
 * used in absolute form.
 */
const fund = (index: number): InstrumentRecords => {
  const bars = barsOf(index, {}, 0.007);
  return {
    instrument: instrument(`F${index}`, "etf", null),
    bars,
    prints: printsOf(index, bars),
    shortVolumes: shortVolumesOf(index, bars),
  };
};

const coin = (index: number, traits: Traits = {}): InstrumentRecords => {
  const bars = barsOf(index, traits, 0.03);
  return {
    instrument: instrument(`C${index}-USD`, "crypto", null),
    bars,
    mentions: mentionsOf(index, false),
    ...(index !== 63 && { onChain: onChainOf(index, bars) }),
  };
};

const records: readonly InstrumentRecords[] = [
  ...Array.from({ length: STOCKS }, (_, index) => stock(index)),
  ...[40, 41, 42].map(fund),
  coin(60),
  coin(61),
  coin(62, { listed: 980 }),
  coin(63),
];

/** The synthetic market of the method's fixture. */
export const METHOD_MARKET: Market = {
  mode: "files",
  source: { id: "method", name: "Fixture of the method", terms: "Invented.", simulated: true },
  dayMs: DAY_MS,
  recordsUntil: () => records,
  barsDue: (after, until) =>
    Array.from({ length: DAYS + 1 }, (_, day) => closeOf(day)).filter(
      (close) => close > after && close <= until,
    ),
  sessionAt: (at) => label(Math.ceil((at - closeOf(0)) / DAY_MS)),
  scoredFrom: () => closeOf(SCORED_FROM),
  servedFrom: () => closeOf(SCORED_FROM),
};

/** Sizes of the sectors of the few stocks: one that has a mean of its own, and two that do not. */
const FEW_STOCKS_BY_SECTOR: Readonly<Record<string, number>> = { Ample: 5, Small: 4, Tiny: 3 };

const fewSectors = Object.entries(FEW_STOCKS_BY_SECTOR).flatMap(([sector, count]) =>
  new Array<string>(count).fill(sector),
);

/** A stock that is too young for any part of its score, and files no results. */
function newStock(index: number): InstrumentRecords {
  const { bars } = stock(index);
  const young = [...bars].filter(({ availableAt }) => availableAt >= closeOf(SCORED_FROM - 10));
  return {
    instrument: instrument(`N${index}`, "stock", null),
    bars: young.map((bar, place) => (place === 0 ? { ...bar, logReturn: null } : bar)),
  };
}

const fewStocksManyOthers: readonly InstrumentRecords[] = [
  newStock(30),
  ...fewSectors.map((sector, index) => {
    const records = stock(index);
    return { ...records, instrument: { ...records.instrument, sector } };
  }),
  ...Array.from({ length: STOCKS }, (_, index): InstrumentRecords => {
    const { bars, mentions } = stock(index);
    const instrumentOf = instrument(`E${index}`, "etf", null);
    return { instrument: instrumentOf, bars, ...(mentions && { mentions }) };
  }),
  ...[60, 61, 62, 63, 64].map((index) => coin(index)),
  coin(65, { listed: SCORED_FROM - 20 }),
  coin(66, { lastBar: SCORED_FROM + 6 }),
];

/**
 * A market with the same bars and other classes: 12 stocks, which the reference tables rank, one
 * that has no score yet, 36 funds, which are compared with each other, and enough coins to rank
 * their steadiness, one of which is too young at first while another stops trading.
 */
export const FEW_STOCKS_MARKET: Market = {
  ...METHOD_MARKET,
  recordsUntil: () => fewStocksManyOthers,
};
