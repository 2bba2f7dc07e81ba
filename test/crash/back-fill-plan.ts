import type { Instrument } from "../../src/market/instrument.ts";
import { DEFAULT_COINS } from "../../src/sources/live/default-universe.ts";
import { namedInstrument } from "../support/instruments.ts";
import { type Rig, rigsFor } from "../support/providers/rigs.ts";

const HOUR_MS = 3_600_000;

/** Parameters of a backfill. */
export interface BackFill {
  /** Number of instruments, including coins. */
  readonly instruments: number;
  /** Length of the history in days. */
  readonly days: number;
  /** Start of the history, Unix milliseconds. */
  readonly begins: number;
}

/** Request header with the simulated time of the request, in Unix milliseconds. */
export const CLOCK_HEADER = "x-clock";

/** Number of sessions for which prints are requested, rounded up. */
const PRINT_SESSIONS = 90;

/** Hourly request limit of the slowest provider of prints, which needs two requests per session. */
const PRINT_REQUESTS_AN_HOUR = 3_000;

/** Stocks with four-letter symbols, followed by the default coins. */
function instrumentsOf({ instruments }: BackFill): readonly Instrument[] {
  const coins = DEFAULT_COINS.map(([symbol, name]) => namedInstrument(symbol, name));
  const stocks = Array.from({ length: instruments - coins.length }, (_, index) => {
    const letters = [26 * 26, 26, 1].map(
      (unit) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[Math.floor(index / unit) % 26],
    );
    const symbol = `Z${letters.join("")}`;
    return namedInstrument(symbol, `${symbol} Inc.`);
  });
  return [...stocks, ...coins];
}

/**
 * Test rigs of all providers. They serve sparse data, because the number of requests matters, not
 * the volume.
 */
export const rigsOf = (plan: BackFill): readonly Rig[] =>
  rigsFor(instrumentsOf(plan), {
    tradesADay: 8,
    messageEveryMs: 2 * HOUR_MS,
    futuresEveryMs: 60_000,
  });

/**
 * Options of a provider's backfill. Each coin gets its bars from one venue only, because two venues
 * would report the same bar twice.
 */
export function optionsOf(plan: BackFill, { provider, settings }: Rig) {
  const coinbases = new Set(DEFAULT_COINS.slice(0, 6).map(([symbol]) => symbol as string));
  const isWanted = ({ symbol, assetClass }: Instrument) => {
    if (assetClass !== "crypto" || !provider.feeds.includes("bars")) return true;
    return coinbases.has(symbol) === (provider.id === "coinbase");
  };
  const instruments = instrumentsOf(plan)
    .filter(({ assetClass }) => provider.classes.includes(assetClass))
    .filter(isWanted);
  const historyFrom = plan.begins - plan.days * 24 * HOUR_MS;
  return { instruments, feeds: new Set(provider.feeds), historyFrom, settings };
}

/** Latest time by which a provider has delivered its whole history, Unix milliseconds. */
export function endOf({ instruments, begins }: BackFill, { provider }: Rig): number {
  const isPrints = provider.feeds.includes("prints") && provider.classes.includes("stock");
  const hours = isPrints
    ? (instruments * PRINT_SESSIONS) / PRINT_REQUESTS_AN_HOUR
    : instruments / 150;
  return begins + Math.ceil(1 + hours) * HOUR_MS;
}
