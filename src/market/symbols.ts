import { distance } from "fastest-levenshtein";
import type { Instrument } from "./instrument.ts";

/** Most candidates that an unknown or ambiguous symbol is answered with. */
const MAX_CANDIDATES = 5;
/** Typing errors up to which another symbol is worth suggesting. */
const MAX_TYPOS = 1;

/** What a symbol resolves to: exactly one instrument, or candidates to choose from. */
export type Resolution =
  | { readonly kind: "found"; readonly instrument: Instrument }
  | { readonly kind: "unknown" | "ambiguous"; readonly candidates: readonly Instrument[] };

/** Upper case, with one spelling of class shares: BRK.B, BRK/B and brk-b are all `BRK-B`. */
const symbolKey = (symbol: string): string => symbol.trim().toUpperCase().replace(/[./ ]/g, "-");

/**
 * Finds the instrument of a symbol. A symbol is matched in full after normalisation and never
 * guessed: the answer for the wrong company is worse than none.
 */
export function resolveSymbol(instruments: readonly Instrument[], symbol: string): Resolution {
  const key = symbolKey(symbol);
  const exact = instruments.filter((instrument) => symbolKey(instrument.symbol) === key);
  const [instrument] = exact;
  if (exact.length === 1 && instrument) return { kind: "found", instrument };
  if (exact.length > 1) return { kind: "ambiguous", candidates: exact };
  return { kind: "unknown", candidates: suggestions(instruments, symbol) };
}

function suggestions(instruments: readonly Instrument[], symbol: string): readonly Instrument[] {
  const key = symbolKey(symbol);
  if (key === "") return [];
  const similar = instruments.filter(
    (instrument) => distance(symbolKey(instrument.symbol), key) <= MAX_TYPOS,
  );
  const found = [...searchInstruments(instruments, symbol), ...similar];
  return [...new Set(found)].slice(0, MAX_CANDIDATES);
}

/**
 * Instruments whose symbol begins with the query or whose name contains it, symbols first, each
 * in the order given; all of them for an empty query.
 */
export function searchInstruments(
  instruments: readonly Instrument[],
  query: string,
): readonly Instrument[] {
  const key = symbolKey(query);
  const words = query.trim().toLowerCase();
  const bySymbol = instruments.filter(({ symbol }) => symbolKey(symbol).startsWith(key));
  const byName = instruments.filter(({ name }) => name.toLowerCase().includes(words));
  return [...new Set([...bySymbol, ...byName])];
}
