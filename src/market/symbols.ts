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

/** An instrument as it is looked for. */
interface Entry {
  readonly instrument: Instrument;
  readonly key: string;
  /** The name in lower case. */
  readonly name: string;
}

/** A list of instruments, ready to be searched. */
interface Index {
  /** In the order of the list. */
  readonly entries: readonly Entry[];
  readonly byKey: ReadonlyMap<string, readonly Entry[]>;
}

/** One for each list: the same lists are searched again and again. */
const indexes = new WeakMap<readonly Instrument[], Index>();

function indexOf(instruments: readonly Instrument[]): Index {
  const known = indexes.get(instruments);
  if (known !== undefined) return known;
  const entries = instruments.map((instrument) => ({
    instrument,
    key: symbolKey(instrument.symbol),
    name: instrument.name.toLowerCase(),
  }));
  const index = { entries, byKey: Map.groupBy(entries, ({ key }) => key) };
  indexes.set(instruments, index);
  return index;
}

const instrumentsOf = (entries: readonly Entry[]): readonly Instrument[] =>
  entries.map(({ instrument }) => instrument);

/**
 * Finds the instrument of a symbol. A symbol is matched in full after normalisation and never
 * guessed: the answer for the wrong company is worse than none.
 *
 * @param instruments A list that stays as it is.
 */
export function resolveSymbol(instruments: readonly Instrument[], symbol: string): Resolution {
  const { entries, byKey } = indexOf(instruments);
  const exact = byKey.get(symbolKey(symbol)) ?? [];
  const [found] = exact;
  if (exact.length === 1 && found) return { kind: "found", instrument: found.instrument };
  if (exact.length > 1) return { kind: "ambiguous", candidates: instrumentsOf(exact) };
  return { kind: "unknown", candidates: instrumentsOf(suggestions(entries, symbol)) };
}

function suggestions(entries: readonly Entry[], symbol: string): readonly Entry[] {
  const key = symbolKey(symbol);
  if (key === "") return [];
  const similar = entries.filter((entry) => distance(entry.key, key) <= MAX_TYPOS);
  return [...new Set([...search(entries, symbol), ...similar])].slice(0, MAX_CANDIDATES);
}

/**
 * Instruments whose symbol begins with the query or whose name contains it, symbols first, each
 * in the order given; all of them for an empty query.
 *
 * @param instruments A list that stays as it is.
 */
export function searchInstruments(
  instruments: readonly Instrument[],
  query: string,
): readonly Instrument[] {
  return instrumentsOf(search(indexOf(instruments).entries, query));
}

function search(entries: readonly Entry[], query: string): readonly Entry[] {
  const key = symbolKey(query);
  const words = query.trim().toLowerCase();
  const bySymbol = entries.filter((entry) => entry.key.startsWith(key));
  const byName = entries.filter(({ name }) => name.includes(words));
  return [...new Set([...bySymbol, ...byName])];
}
