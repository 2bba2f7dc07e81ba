import type { Instrument } from "../../market/instrument.ts";
import { coinName, coinsNamedIn } from "./coin-names.ts";
import { coinOf } from "./provider-symbols.ts";

/** Search query for the news of an instrument, and a test of headlines. */
export interface NewsTopic {
  /** Phrases in quotes, joined by `OR`. */
  readonly query: string;
  matches(headline: string): boolean;
}

/** Legal forms, each with its abbreviation. */
const FORMS = [
  ["Incorporated", "Inc"],
  ["Corporation", "Corp"],
  ["Company", "Co"],
  ["Limited", "Ltd"],
  ["PLC"],
] as const;

/** Suffixes that listings add to a name. */
const LISTING = /[\s,]+(?:class [a-z]|common stock|ordinary shares)$/i;

/** Longest name that is looked for. */
const MAX_CHARACTERS = 60;

/** Characters of a headline that are read. */
const MAX_HEADLINE = 500;

/**
 * The search query and headline test for news that is certainly about an instrument. A coin must be
 * called by a name with no other meaning. A company must be called by its legal name in the
 * article, which distinguishes Apple Inc from fruit, and by its name in the headline.
 *
 * @returns `undefined` where there is no such name, for example when only the ticker is known.
 */
export const newsTopic = (instrument: Instrument): NewsTopic | undefined =>
  instrument.assetClass === "crypto"
    ? coinTopic(coinOf(instrument.symbol))
    : companyTopic(instrument.name);

function coinTopic(coin: string): NewsTopic | undefined {
  const name = coinName(coin);
  if (name === undefined) return undefined;
  return { query: `"${name}"`, matches: (headline) => coinsNamedIn(headline).includes(coin) };
}

function companyTopic(name: string): NewsTopic | undefined {
  const listed = name.trim().slice(0, MAX_CHARACTERS).replace(LISTING, "");
  const words = listed.replace(/^the\s+/i, "").split(/[\s,"]+/);
  const last = words.pop()?.replace(/\.$/, "").toLowerCase();
  const forms = FORMS.find((spellings) => spellings.some((form) => form.toLowerCase() === last));
  const short = words.join(" ").replace(/\s*&$/, "");
  if (forms === undefined || short === "") return undefined;
  const phrases = forms.map((form) => `"${short} ${form}"`);
  const query = phrases.length === 1 ? phrases.join("") : `(${phrases.join(" OR ")})`;
  const named = ` ${wordsOf(short)} `;
  return { query, matches: (headline) => ` ${wordsOf(headline)} `.includes(named) };
}

/** Letters and digits in lower case, a space apart: headlines come with spaces before full stops. */
const wordsOf = (text: string): string =>
  (
    text
      .slice(0, MAX_HEADLINE)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  ).join(" ");
