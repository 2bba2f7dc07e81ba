import { distance } from "fastest-levenshtein";
import { coinNamed } from "./coin-names.ts";
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
 * Minimum length, in characters, of a query that is compared with whole words of names, and of one
 * that is compared with parts of them. A shorter query is meant as a ticker.
 */
const MIN_WORD_LENGTH = 2;
const MIN_PART_LENGTH = 3;
/**
 * Maximum number of names that have a word for which alone an instrument is found. A word of more
 * names, such as Corp., hardly tells one from another.
 */
const MAX_NAMES_WITH_WORD = 20;

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

/** Whether a query is too short for parts of names, so that it is meant as a ticker. */
export const isTickerQuery = (query: string): boolean => {
  const { length } = symbolKey(query);
  return length > 0 && length < MIN_PART_LENGTH;
};

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
  const { entries } = indexOf(instruments);
  const matches = entriesOf(instruments, symbol);
  const [found] = matches;
  if (matches.length === 1 && found) return { kind: "found", instrument: found.instrument };
  if (matches.length > 1) return { kind: "ambiguous", candidates: instrumentsOf(matches) };
  return { kind: "unknown", candidates: instrumentsOf(suggestions(entries, symbol)) };
}

/**
 * Whether a text is the symbol of exactly one instrument, in any spelling. It takes one look into
 * the index, however long the list is; `resolveSymbol` searches it for suggestions.
 */
export const isSymbol = (instruments: readonly Instrument[], text: string): boolean =>
  entriesOf(instruments, text).length === 1;

function entriesOf(instruments: readonly Instrument[], symbol: string): readonly Entry[] {
  const { byKey, coinsByBase } = indexOf(instruments);
  const key = symbolKey(symbol);
  return byKey.get(key) ?? coinsByBase.get(key) ?? [];
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
 * - `word`: every word of the query is a word of its name, or the query is the name of its coin
 * - `prefix`: its symbol begins with the query, or its name has a word that begins with each word
 *   of the query
 * - `some`: nothing matches better, and its name has some words of the query, of four letters or
 *   more, that few names have
 * - `substring`: its name only contains the query, inside a word
 *
 * A query of one letter is only compared with symbols, one of two letters also with whole words.
 */
export const MATCHES = ["symbol", "word", "prefix", "some", "substring"] as const;
export type Match = (typeof MATCHES)[number];

/** A match by which an instrument is hardly the one that is meant. */
export type WeakMatch = Extract<Match, "some" | "substring">;
export const isWeakMatch = (match: Match | undefined): match is WeakMatch =>
  match === "some" || match === "substring";

/** An instrument that matches a query; without `match` if the query is empty. */
interface FoundInstrument {
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
  const isTicker = isTickerQuery(query);
  const found = new Map<Entry, Match>();
  const add = (match: Match, group: readonly Entry[]) => {
    for (const entry of group) if (!found.has(entry)) found.set(entry, match);
  };
  add("symbol", byKey.get(key) ?? coinsByBase.get(key) ?? []);
  add("word", coinsByBase.get(coinNamed(text) ?? "") ?? []);
  if (key.length >= MIN_WORD_LENGTH)
    add(
      "word",
      hasWords((own, word) => own === word),
    );
  add(
    "prefix",
    entries.filter((entry) => entry.key.startsWith(key)),
  );
  if (!isTicker)
    add(
      "prefix",
      hasWords((own, word) => own.startsWith(word)),
    );
  if (!isTicker && found.size === 0) add("some", withSomeWord(entries, words));
  if (!isTicker && text !== "")
    add(
      "substring",
      entries.filter(({ name }) => name.includes(text)),
    );
  return Array.from(found, ([{ instrument }, match]) => ({ instrument, match }));
}

/** Entries whose name has one of the words that tell names apart. */
function withSomeWord(entries: readonly Entry[], words: readonly string[]): readonly Entry[] {
  const found = words
    .filter(({ length }) => length >= MIN_NEAR_LENGTH)
    .map((word) => entries.filter((entry) => entry.words.includes(word)))
    .filter(({ length }) => length <= MAX_NAMES_WITH_WORD);
  return [...new Set(found.flat())];
}

/** The instruments that match a query, as `matchInstruments` finds and orders them. */
export const searchInstruments = (
  instruments: readonly Instrument[],
  query: string,
): readonly Instrument[] =>
  matchInstruments(instruments, query).map(({ instrument }) => instrument);
