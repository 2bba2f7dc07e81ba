import { readFile } from "node:fs/promises";
import type { Instrument } from "../../market/instrument.ts";
import { readInstruments } from "../files/instruments.ts";
import { DEFAULT_COINS, DEFAULT_FUNDS, DEFAULT_STOCKS } from "./default-universe.ts";

/** A list of symbols, as opposed to the name of a file. */
const LIST = /^[A-Z0-9][A-Z0-9.-]{0,19}(?:[\s,]+[A-Z0-9][A-Z0-9.-]{0,19})*$/;

/** Suffix of coins in a list. */
const COIN = /-USD$/;

/** The default universe. */
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
 * Opens the universe of a live market.
 *
 * @param universe `undefined`: some large ones; symbols separated by commas or spaces, of which
 *   those in `-USD` are coins; or the path of a file with the columns of `instruments.csv`.
 * @throws {Error} When the file is invalid; says where.
 */
export async function openUniverse(universe: string | undefined): Promise<readonly Instrument[]> {
  if (universe === undefined) return DEFAULT;
  if (LIST.test(universe)) return [...new Set(universe.split(/[\s,]+/).map(spelled))].map(named);
  return readInstruments({ path: universe, content: await contentOf(universe) });
}

/** `BRK.B` is `BRK-B` here. */
const spelled = (symbol: string): string => symbol.replaceAll(".", "-");

/** An instrument of a list; those of the default universe have names and sectors. */
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
