import { distance } from "fastest-levenshtein";
import type { Instrument } from "./instrument.ts";

/** Maximum number of candidates in the answer to an unknown or ambiguous symbol. */
const MAX_CANDIDATES = 5;
/** Maximum number of typing errors in a suggested symbol. */
const MAX_TYPOS = 1;
/** Minimum length of a text for which typing errors and words of names are considered, in
 *  characters: most tickers of up to three letters differ by one letter from another company's. */
const MIN_NEAR_LENGTH = 4;

/** Maximum length of a text that is searched for, in UTF-16 units. Nothing matches a longer one,
 *  which would be expensive to normalize and compare. */
const MAX_SEARCH_LENGTH = 200;

/** What a symbol resolves to: exactly one instrument, or candidates to choose from. */
export type Resolution =
  | { readonly kind: "found"; readonly instrument: Instrument }
  | { readonly kind: "unknown" | "ambiguous"; readonly candidates: readonly Instrument[] };

/** Upper case, with one spelling of class shares: BRK.B, BRK/B and brk-b are all `BRK-B`. */
const symbolKey = (symbol: string): string => symbol.trim().toUpperCase().replace(/[./ ]/g, "-");

/** The part before the class of a share or the currency of a coin: BRK of BRK-B, BTC of BTC-USD. */
const baseOf = (key: string): string => key.replace(/-.*/, "");

/** Lower case without accents and apostrophes. */
const plainText = (text: string): string =>
  text
    .normalize("NFKD")
    .replace(/[\p{M}'’]/gu, "")
    .trim()
    .toLowerCase();

/** The words of a plain text: its runs of letters and digits. */
const wordsOf = (plain: string): readonly string[] => plain.match(/[\p{L}\p{N}]+/gu) ?? [];

/** An instrument prepared for search. */
interface Entry {
  readonly instrument: Instrument;
  readonly key: string;
  /** The name as plain text, and its words. */
  readonly name: string;
  readonly words: readonly string[];
}

/** A list of instruments, ready to be searched. */
interface Index {
  /** In the order of the list. */
  readonly entries: readonly Entry[];
  readonly byKey: ReadonlyMap<string, readonly Entry[]>;
  /** Coins by the part of the symbol before the currency they are quoted in: BTC of BTC-USD. */
  readonly coinsByBase: ReadonlyMap<string, readonly Entry[]>;
}

/** Indexes by list, since the same lists are searched repeatedly. */
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
 * Finds the instrument of a symbol. A symbol is matched in full after normalization, a coin also
 * without its quote currency if it has only one. Nothing else is guessed: the answer for the wrong
 * company is worse than none.
 *
 * @param instruments A list that does not change.
 */
export function resolveSymbol(instruments: readonly Instrument[], symbol: string): Resolution {
  const { entries, byKey, coinsByBase } = indexOf(instruments);
  const key = symbolKey(symbol);
  const matches = byKey.get(key) ?? coinsByBase.get(key) ?? [];
  const [found] = matches;
  if (matches.length === 1 && found) return { kind: "found", instrument: found.instrument };
  if (matches.length > 1) return { kind: "ambiguous", candidates: instrumentsOf(matches) };
  return { kind: "unknown", candidates: instrumentsOf(suggestions(entries, symbol)) };
}

/** Suggestions: the same base with another suffix, a symbol with one typing error, or an instrument
 *  whose name has all the words. */
function suggestions(entries: readonly Entry[], symbol: string): readonly Entry[] {
  if (symbol.length > MAX_SEARCH_LENGTH) return [];
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

/** Whether a condition holds for every word of a list that is not empty. */
const hasAll = (words: readonly string[], holds: (word: string) => boolean): boolean =>
  words.length > 0 && words.every(holds);

/**
 * Instruments that fit a query, each once: first those whose symbol begins with it; then those in
 * whose name every word of the query begins a word; then those whose name contains it. Each in the
 * order given; all of them for an empty query.
 *
 * @param instruments A list that does not change.
 */
export function searchInstruments(
  instruments: readonly Instrument[],
  query: string,
): readonly Instrument[] {
  if (query.length > MAX_SEARCH_LENGTH) return [];
  const { entries } = indexOf(instruments);
  const key = symbolKey(query);
  const text = plainText(query);
  const words = wordsOf(text);
  const bySymbol = entries.filter((entry) => entry.key.startsWith(key));
  const byWords = entries.filter((entry) =>
    hasAll(words, (word) => entry.words.some((own) => own.startsWith(word))),
  );
  const byPart = entries.filter(({ name }) => name.includes(text));
  return instrumentsOf([...new Set([...bySymbol, ...byWords, ...byPart])]);
}
