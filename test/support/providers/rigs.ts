import { DAY_MS } from "../../../src/lib/day.ts";
import type { AssetClass, Instrument } from "../../../src/market/instrument.ts";
import type { PolledProvider } from "../../../src/sources/live/provider.ts";
import {
  coinTicker,
  dottedSymbol,
  slashedSymbol,
} from "../../../src/sources/live/provider-symbols.ts";
import { alpaca } from "../../../src/sources/live/providers/alpaca.ts";
import { coinMetrics } from "../../../src/sources/live/providers/coin-metrics.ts";
import { coinbase } from "../../../src/sources/live/providers/coinbase.ts";
import { deribit } from "../../../src/sources/live/providers/deribit.ts";
import { edgar } from "../../../src/sources/live/providers/edgar.ts";
import { finraDaily } from "../../../src/sources/live/providers/finra-daily.ts";
import { finraWeekly } from "../../../src/sources/live/providers/finra-weekly.ts";
import { gdelt } from "../../../src/sources/live/providers/gdelt.ts";
import { kraken } from "../../../src/sources/live/providers/kraken.ts";
import { massive } from "../../../src/sources/live/providers/massive.ts";
import { stocktwits } from "../../../src/sources/live/providers/stocktwits.ts";
import { unusualWhales } from "../../../src/sources/live/providers/unusual-whales.ts";
import { namedInstrument } from "../instruments.ts";
import { serveAlpaca } from "./alpaca.ts";
import { serveCoinMetrics } from "./coin-metrics.ts";
import { serveCoinbase } from "./coinbase.ts";
import { serveDeribit } from "./deribit.ts";
import type { Serve } from "./drive.ts";
import { serveEdgar } from "./edgar.ts";
import { serveFinraDaily } from "./finra-daily.ts";
import { serveFinraWeekly } from "./finra-weekly.ts";
import { serveGdelt } from "./gdelt.ts";
import { serveKraken } from "./kraken.ts";
import { serveMassive } from "./massive.ts";
import { serveStocktwits } from "./stocktwits.ts";
import { serveUnusualWhales } from "./unusual-whales.ts";

const HOUR_MS = 3_600_000;

/** A polled provider with its simulated server and the parameters of its tests. */
export interface Rig {
  readonly provider: PolledProvider;
  /**
   * Creates the provider's simulated server, which serves data only for the instruments of the rig
   * and has a new rate limiter.
   */
  readonly serve: () => Serve;
  /** API keys that the server accepts. */
  readonly settings: Readonly<Record<string, string>>;
  /**
   * Length of a history that needs only a few requests but contains everything, in milliseconds.
   */
  readonly shortMs: number;
  /** Period in which much new data appears, in milliseconds. */
  readonly laterMs: number;
  /** Maximum time from the publication of a datum to its request, in milliseconds. */
  readonly lagMs: number;
}

const MINUTE_MS = 60_000;

/** Bars and figures are requested as soon as they are public. */
const AT_ONCE = { laterMs: 3 * DAY_MS, lagMs: 5 * MINUTE_MS } as const;

/** Prints are requested after the close, and filings once during the night. */
const ONCE_A_DAY = { laterMs: 3 * DAY_MS, lagMs: 7 * HOUR_MS } as const;

/** Density of the data. */
interface Density {
  /** Number of trades per stock and session. */
  readonly tradesADay: number;
  /** Length of an interval with one message and one article per instrument, in milliseconds. */
  readonly messageEveryMs: number;
  /** Length of an interval with three futures trades per coin, in milliseconds. */
  readonly futuresEveryMs: number;
}

const FEW: Density = {
  tradesADay: 40,
  messageEveryMs: HOUR_MS,
  futuresEveryMs: 60_000,
};

/** A few instruments whose spelling or class needs special treatment. */
export const RIG_INSTRUMENTS: readonly Instrument[] = [
  namedInstrument("AAPL", "Apple Inc."),
  namedInstrument("BRK-B", "Berkshire Hathaway Inc. Class B"),
  namedInstrument("SPY", "SPDR S&P 500 ETF Trust", "etf"),
  namedInstrument("BTC-USD", "Bitcoin"),
  namedInstrument("ETH-USD", "Ethereum"),
];

/** Creates a rig for every polled provider. */
export function rigsFor(
  instruments: readonly Instrument[] = RIG_INSTRUMENTS,
  density: Density = FEW,
): readonly Rig[] {
  return [
    ...coinRigs(instruments, density),
    ...stockRigs(instruments, density),
    ...talkRigs(instruments, density),
  ];
}

const symbolsOf = (instruments: readonly Instrument[], ...classes: readonly AssetClass[]) =>
  instruments.filter(({ assetClass }) => classes.includes(assetClass)).map(({ symbol }) => symbol);

/** The pair of a coin in Kraken's spelling. */
const krakenPair = (symbol: string): string =>
  `${coinTicker(symbol).replace("BTC", "XBT").replace("DOGE", "XDG")}USD`;

const BOTH_METRICS = ["CapMVRVCur", "CapMrktCurUSD"] as const;

function coinRigs(instruments: readonly Instrument[], { futuresEveryMs }: Density): readonly Rig[] {
  const pairs = symbolsOf(instruments, "crypto");
  const coins = pairs.map(coinTicker);
  const assets = Object.fromEntries(coins.map((coin) => [coin.toLowerCase(), BOTH_METRICS]));
  const futures = {
    coins,
    tradeEveryMs: futuresEveryMs,
    rfqEveryMs: 7 * MINUTE_MS,
    rfqSince: Date.UTC(2026, 9, 1),
  };
  const common = { ...AT_ONCE, settings: {}, shortMs: 60 * DAY_MS };
  return [
    {
      ...common,
      provider: coinbase,
      serve: () => serveCoinbase({ products: pairs, since: "2020-01-01" }),
    },
    { ...common, provider: kraken, serve: () => serveKraken({ pairs: pairs.map(krakenPair) }) },
    {
      ...common,
      provider: coinMetrics,
      serve: () => serveCoinMetrics({ assets, since: "2020-01-01" }),
    },
    {
      provider: deribit,
      serve: () => serveDeribit(futures),
      settings: {},
      shortMs: 6 * HOUR_MS,
      laterMs: HOUR_MS,
      lagMs: 2 * MINUTE_MS,
    },
  ];
}

function stockRigs(instruments: readonly Instrument[], { tradesADay }: Density): readonly Rig[] {
  const stocks = symbolsOf(instruments, "stock");
  const symbols = symbolsOf(instruments, "stock", "etf");
  const listed = { symbols, tradesADay };
  const companies = stocks.map((ticker, index) => ({
    ticker,
    cik: 1_000_001 + index,
    since: 2021,
  }));
  const weekly = new Map(
    symbols.map((symbol, index) => [dottedSymbol(symbol), index % 2 ? 4 : 2] as const),
  );
  return [
    {
      provider: massive,
      serve: () => serveMassive({ ...listed, key: "key" }),
      settings: { MASSIVE_API_KEY: "key" },
      shortMs: 6 * DAY_MS,
      ...ONCE_A_DAY,
    },
    {
      provider: unusualWhales,
      serve: () => serveUnusualWhales({ ...listed, key: "key" }),
      settings: { UNUSUAL_WHALES_API_KEY: "key" },
      shortMs: 4 * DAY_MS,
      ...ONCE_A_DAY,
    },
    {
      provider: alpaca,
      serve: () => serveAlpaca({ ...listed, keyId: "id", secret: "secret" }),
      settings: { APCA_API_KEY_ID: "id", APCA_API_SECRET_KEY: "secret" },
      shortMs: 8 * DAY_MS,
      ...ONCE_A_DAY,
    },
    {
      provider: finraDaily,
      serve: () => serveFinraDaily({ symbols: [...symbols.map(slashedSymbol), "ABRpD"] }),
      settings: {},
      shortMs: 30 * DAY_MS,
      ...AT_ONCE,
    },
    {
      provider: finraWeekly,
      serve: () => serveFinraWeekly(weekly),
      settings: {},
      shortMs: 120 * DAY_MS,
      laterMs: 3 * DAY_MS,
      lagMs: HOUR_MS,
    },
    {
      provider: edgar,
      serve: () => serveEdgar(companies),
      settings: { SEC_USER_AGENT: "Ada Example ada@example.org" },
      shortMs: 400 * DAY_MS,
      ...ONCE_A_DAY,
    },
  ];
}

function talkRigs(
  instruments: readonly Instrument[],
  { messageEveryMs: everyMs }: Density,
): readonly Rig[] {
  const symbols = instruments.map(({ symbol, assetClass }) =>
    assetClass === "crypto" ? `${coinTicker(symbol)}.X` : dottedSymbol(symbol),
  );
  const topics = new Map(instruments.map(({ name }) => [phraseOf(name), nameInHeadlines(name)]));
  const common = { settings: {}, shortMs: DAY_MS, laterMs: 12 * HOUR_MS };
  return [
    {
      ...{ ...common, provider: stocktwits, lagMs: 6 * MINUTE_MS },
      serve: () => serveStocktwits({ symbols, everyMs }),
    },
    {
      ...{ ...common, provider: gdelt, lagMs: 2 * HOUR_MS },
      serve: () => serveGdelt({ topics, everyMs }),
    },
  ];
}

/** Legal name in lower case, without share class and punctuation. */
const phraseOf = (name: string): string => name.toLowerCase().replace(/ class .*|[.,]/g, "");

const nameInHeadlines = (name: string): string => name.replace(/ Inc\..*/, "");
