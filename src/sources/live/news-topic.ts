import { coinName, coinsNamedIn } from "../../market/coin-names.ts";
import type { Instrument } from "../../market/instrument.ts";
import { coinTicker } from "./provider-symbols.ts";

/** Search query for news about an instrument, and a test for headlines. */
export interface NewsTopic {
  /** Quoted phrases, joined by `OR`. */
  readonly query: string;
  matches(headline: string): boolean;
}

/** Legal forms of companies, each with its abbreviation. */
const FORMS = [
  ["Incorporated", "Inc"],
  ["Corporation", "Corp"],
  ["Company", "Co"],
  ["Limited", "Ltd"],
  ["PLC"],
] as const;

/** Suffixes that exchanges append to the name of a company. */
const LISTING = /[\s,]+(?:class [a-z]|common stock|ordinary shares)$/i;

/** Maximum length of a name that is searched for, in characters. */
const MAX_CHARACTERS = 60;

/** Maximum number of characters of a headline that are tested. */
const MAX_HEADLINE = 500;

/**
 * The search query and headline test for news that is certainly about an instrument. A coin must be
 * called by a name with no other meaning. A company must be called by its legal name in the
 * article, which distinguishes Apple Inc from fruit, and by its name in the headline.
 *
 * @returns `undefined` if there is no such name, for example if only the ticker is known.
 */
export const newsTopic = (instrument: Instrument): NewsTopic | undefined =>
  instrument.assetClass === "crypto"
    ? coinTopic(coinTicker(instrument.symbol))
    : companyNewsTopic(instrument.name);

function coinTopic(coin: string): NewsTopic | undefined {
  const name = coinName(coin);
  if (name === undefined) return undefined;
  return { query: `"${name}"`, matches: (headline) => coinsNamedIn(headline).includes(coin) };
}

function companyNewsTopic(name: string): NewsTopic | undefined {
  const listed = name.trim().slice(0, MAX_CHARACTERS).replace(LISTING, "");
  const words = listed.replace(/^the\s+/i, "").split(/[\s,"]+/);
  const last = words.pop()?.replace(/\.$/, "").toLowerCase();
  const forms = FORMS.find((spellings) => spellings.some((form) => form.toLowerCase() === last));
  const short = words.join(" ").replace(/\s*&$/, "");
  if (forms === undefined || short === "") return undefined;
  const phrases = forms.map((form) => `"${short} ${form}"`);
  const query = phrases.length === 1 ? phrases.join("") : `(${phrases.join(" OR ")})`;
  // Headlines call Eli Lilly and Company by the name before the "and".
  const named = ` ${wordsOf(short.replace(/\s+and$/i, ""))} `;
  return { query, matches: (headline) => ` ${wordsOf(headline)} `.includes(named) };
}

/**
 * Words in lower case, separated by single spaces and without punctuation: headlines may have
 * spaces before full stops.
 */
const wordsOf = (text: string): string =>
  (
    text
      .slice(0, MAX_HEADLINE)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  ).join(" ");
