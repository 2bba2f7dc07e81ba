import { readFile } from "node:fs/promises";
import type { Instrument } from "../../market/instrument.ts";
import { readInstruments } from "../files/instruments.ts";
import { DEFAULT_COINS, DEFAULT_FUNDS, DEFAULT_STOCKS } from "./default-universe.ts";

/** Matches a list of symbols, as opposed to the path of a file. */
const LIST = /^[A-Z0-9][A-Z0-9.-]{0,19}(?:[\s,]+[A-Z0-9][A-Z0-9.-]{0,19})*$/;

/** Suffix of the symbol of a coin. */
const COIN = /-USD$/;

/** The default universe of stocks, funds and coins. */
const DEFAULT: readonly Instrument[] = [
  ...DEFAULT_STOCKS.map(([symbol, name, exchange, sector]) =>
    instrument({ symbol, name, assetClass: "stock", exchange, sector }),
  ),
  ...DEFAULT_FUNDS.map(([symbol, name, exchange]) =>
    instrument({ symbol, name, assetClass: "etf", exchange }),
  ),
  ...DEFAULT_COINS.map(([symbol, name]) => instrument({ symbol, name, assetClass: "crypto" })),
];

/**
 * Reads the universe of a live market.
 *
 * @param universe `undefined` for the default universe; or symbols separated by commas or spaces,
 * of which those in `-USD` are coins; or the path of a file with the columns of `instruments.csv`.
 * @throws {Error} If the file is invalid; the message says where.
 */
export async function readUniverse(universe: string | undefined): Promise<readonly Instrument[]> {
  if (universe === undefined) return DEFAULT;
  if (LIST.test(universe)) return [...new Set(universe.split(/[\s,]+/).map(spelled))].map(named);
  return readInstruments({ path: universe, content: await contentOf(universe) });
}

/** The spelling of this service: `BRK-B` for `BRK.B`. */
const spelled = (symbol: string): string => symbol.replaceAll(".", "-");

/** The instrument with a symbol; name and sector are known only for the default universe. */
const named = (symbol: string): Instrument =>
  DEFAULT.find((known) => known.symbol === symbol) ??
  instrument({ symbol, name: symbol, assetClass: COIN.test(symbol) ? "crypto" : "stock" });

function instrument(
  known: Pick<Instrument, "symbol" | "name" | "assetClass"> & Partial<Instrument>,
): Instrument {
  return { exchange: null, sector: null, currency: "USD", ...known };
}

async function contentOf(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new Error(
      `UNIVERSE: ${path} cannot be read; give a file with the columns of instruments.csv, or symbols such as AAPL,BTC-USD.`,
      { cause: error },
    );
  }
}
