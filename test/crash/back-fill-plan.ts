import type { Instrument } from "../../src/market/instrument.ts";
import { DEFAULT_COINS } from "../../src/sources/live/default-universe.ts";
import { namedInstrument } from "../support/instruments.ts";
import { type Rig, rigsFor } from "../support/providers/rigs.ts";

const HOUR_MS = 3_600_000;

/** Parameters of a backfill. */
export interface BackFill {
  /** Number of instruments, coins among them. */
  readonly instruments: number;
  /** Length of the history in days. */
  readonly days: number;
  /** Start of the history, Unix milliseconds. */
  readonly begins: number;
}

/** How the filler says what time it is, Unix milliseconds. */
export const CLOCK_HEADER = "x-clock";

/** Sessions that prints are asked for at most, with some to spare. */
const PRINT_SESSIONS = 90;

/** Requests an hour of the slowest provider of prints, which is asked twice a session. */
const PRINT_REQUESTS_AN_HOUR = 3_000;

/** Stocks with names of four letters, and coins. */
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

/** All providers. The density is low: what counts is how much is asked. */
export const rigsOf = (plan: BackFill): readonly Rig[] =>
  rigsFor(instrumentsOf(plan), {
    tradesADay: 8,
    messageEveryMs: 2 * HOUR_MS,
    futuresEveryMs: 60_000,
  });

/** What is wanted of a provider: two venues would tell of one bar, so each has coins of its own. */
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

/** When a provider has told all of it, Unix milliseconds. */
export function endOf({ instruments, begins }: BackFill, { provider }: Rig): number {
  const isPrints = provider.feeds.includes("prints") && provider.classes.includes("stock");
  const hours = isPrints
    ? (instruments * PRINT_SESSIONS) / PRINT_REQUESTS_AN_HOUR
    : instruments / 150;
  return begins + Math.ceil(1 + hours) * HOUR_MS;
}
