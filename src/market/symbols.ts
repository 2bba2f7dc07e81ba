import { distance } from "fastest-levenshtein";
import type { Instrument } from "./instrument.ts";

/** Maximum number of candidates suggested for an unknown symbol. */
const MAX_CANDIDATES = 5;
/** Maximum number of typing errors by which a suggested symbol may differ from the text. */
const MAX_TYPOS = 1;
/**
 * Minimum length, in characters, of a text for which typing errors and words of names are
 * considered. Most tickers of up to three letters differ by only one letter from another company's
 * ticker.
 */
const MIN_NEAR_LENGTH = 4;

/**
 * Maximum length of a search text, in UTF-16 code units. A longer text matches nothing, since it
 * would be expensive to normalize and compare.
 */
const MAX_LOOKUP_LENGTH = 200;

/** Result of looking up a symbol: one instrument, or candidates to choose from. */
export type SymbolResolution =
  | { readonly kind: "found"; readonly instrument: Instrument }
  | { readonly kind: "unknown" | "ambiguous"; readonly candidates: readonly Instrument[] };

/**
 * Normalizes a symbol: upper case, with one spelling of share classes. BRK.B, BRK/B and brk-b all
 * become `BRK-B`.
 */
const symbolKey = (symbol: string): string => symbol.trim().toUpperCase().replace(/[./ ]/g, "-");

/**
 * The part of a normalized symbol before the share class or quote currency: BRK in BRK-B, BTC in
 * BTC-USD.
 */
const baseOf = (key: string): string => key.replace(/-.*/, "");

/** Normalizes a text to lower case without accents and apostrophes. */
const plainText = (text: string): string =>
  text
    .normalize("NFKD")
    .replace(/[\p{M}'’]/gu, "")
    .trim()
    .toLowerCase();

/** The words of a normalized text: its runs of letters and digits. */
const wordsOf = (plain: string): readonly string[] => plain.match(/[\p{L}\p{N}]+/gu) ?? [];

/** An instrument prepared for search. */
interface Entry {
  readonly instrument: Instrument;
  readonly key: string;
  /** The normalized name, and its words. */
  readonly name: string;
  readonly words: readonly string[];
}

/** A list of instruments prepared for search. */
interface Index {
  /** Entries in the order of the list. */
  readonly entries: readonly Entry[];
  readonly byKey: ReadonlyMap<string, readonly Entry[]>;
  /** Coins by the part of the symbol before the quote currency: BTC in BTC-USD. */
  readonly coinsByBase: ReadonlyMap<string, readonly Entry[]>;
}

/** The index of each list, cached because the same lists are searched repeatedly. */
const indexes = new WeakMap<readonly Instrument[], Index>();

function indexOf(instruments: readonly Instrument[]): Index {
  const known = indexes.get(instruments);
  if (known !== undefined) return known;
  const entries = instruments.map((instrument) => {
    const name = plainText(instrument.name);
    return { instrument, key: symbolKey(instrument.symbol), name, words: wordsOf(name) };
  });
  const coins = entries.filter(({ instrument }) => instrument.assetClass === "crypto");
  const index = {
    entries,
    byKey: Map.groupBy(entries, ({ key }) => key),
    coinsByBase: Map.groupBy(coins, ({ key }) => baseOf(key)),
  };
  indexes.set(instruments, index);
  return index;
}

const instrumentsOf = (entries: readonly Entry[]): readonly Instrument[] =>
  entries.map(({ instrument }) => instrument);

/**
 * Finds the instrument of a symbol. After normalization the whole symbol must match; a coin also
 * matches without its quote currency, if the coin is quoted in only one currency. Nothing else is
 * guessed, since an answer about the wrong company is worse than none.
 *
 * @param instruments A list that does not change, since its index is cached.
 */
export function resolveSymbol(
  instruments: readonly Instrument[],
  symbol: string,
): SymbolResolution {
  const { entries, byKey, coinsByBase } = indexOf(instruments);
  const key = symbolKey(symbol);
  const matches = byKey.get(key) ?? coinsByBase.get(key) ?? [];
  const [found] = matches;
  if (matches.length === 1 && found) return { kind: "found", instrument: found.instrument };
  if (matches.length > 1) return { kind: "ambiguous", candidates: instrumentsOf(matches) };
  return { kind: "unknown", candidates: instrumentsOf(suggestions(entries, symbol)) };
}

/**
 * Suggestions for an unknown symbol: instruments with the same base symbol and another suffix,
 * instruments whose symbol differs by one typing error, and instruments whose name contains all
 * words of the text.
 */
function suggestions(entries: readonly Entry[], symbol: string): readonly Entry[] {
  if (symbol.length > MAX_LOOKUP_LENGTH) return [];
  const key = symbolKey(symbol);
  const base = baseOf(key);
  const words = wordsOf(plainText(symbol));
  const isLong = base.length >= MIN_NEAR_LENGTH;
  const byBase = entries.filter((entry) => base !== "" && baseOf(entry.key) === base);
  const byTypo = entries.filter(
    (entry) =>
      isLong &&
      baseOf(entry.key).length >= MIN_NEAR_LENGTH &&
      distance(entry.key, key) <= MAX_TYPOS,
  );
  const byName = entries.filter(
    (entry) => isLong && hasAll(words, (word) => entry.words.includes(word)),
  );
  return [...new Set([...byBase, ...byTypo, ...byName])].slice(0, MAX_CANDIDATES);
}

/** Whether the list is non-empty and the condition is true for every word. */
const hasAll = (words: readonly string[], holds: (word: string) => boolean): boolean =>
  words.length > 0 && words.every(holds);

/**
 * How an instrument matches a query, best first:
 * - `symbol`: the query is its symbol, in any spelling; a coin also matches without its quote
 *   currency
 * - `word`: every word of the query is a word of its name
 * - `prefix`: its symbol begins with the query, or its name has a word that begins with each word
 *   of the query
 * - `substring`: its name only contains the query, inside a word
 */
export const MATCHES = ["symbol", "word", "prefix", "substring"] as const;
export type Match = (typeof MATCHES)[number];

/** An instrument that matches a query; without `match` if the query is empty. */
export interface FoundInstrument {
  readonly instrument: Instrument;
  readonly match?: Match;
}

/**
 * Finds the instruments that match a query, each once and by its best match. The best matches come
 * first; equal ones keep the given order, symbols that begin with the query before names. An empty
 * query matches all.
 *
 * @param instruments A list that does not change, since its index is cached.
 */
export function matchInstruments(
  instruments: readonly Instrument[],
  query: string,
): readonly FoundInstrument[] {
  if (query.length > MAX_LOOKUP_LENGTH) return [];
  const key = symbolKey(query);
  if (key === "") return instruments.map((instrument) => ({ instrument }));
  const { entries, byKey, coinsByBase } = indexOf(instruments);
  const text = plainText(query);
  const words = wordsOf(text);
  const hasWords = (isMatch: (own: string, word: string) => boolean) =>
    entries.filter((entry) =>
      hasAll(words, (word) => entry.words.some((own) => isMatch(own, word))),
    );
  const groups: readonly (readonly [Match, readonly Entry[]])[] = [
    ["symbol", byKey.get(key) ?? coinsByBase.get(key) ?? []],
    ["word", hasWords((own, word) => own === word)],
    ["prefix", entries.filter((entry) => entry.key.startsWith(key))],
    ["prefix", hasWords((own, word) => own.startsWith(word))],
    ["substring", entries.filter(({ name }) => text !== "" && name.includes(text))],
  ];
  const found = new Map<Entry, Match>();
  for (const [match, group] of groups) {
    for (const entry of group) if (!found.has(entry)) found.set(entry, match);
  }
  return Array.from(found, ([{ instrument }, match]) => ({ instrument, match }));
}

/** The instruments that match a query, as `matchInstruments` finds and orders them. */
export const searchInstruments = (
  instruments: readonly Instrument[],
  query: string,
): readonly Instrument[] =>
  matchInstruments(instruments, query).map(({ instrument }) => instrument);
