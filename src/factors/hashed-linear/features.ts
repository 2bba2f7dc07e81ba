import { lexicon } from "../lexicon.ts";
import { isBreak } from "../message/tokens.ts";
import { fnv1a } from "./fnv1a.ts";

/** Number of hash buckets; a power of two. */
export const BUCKETS = 2 ** 16;

/** Number of words after a negation that are marked as negated. */
const NEGATED_WORDS = 3;

/** Intercept: present in every message, so that the model learns the label frequencies. */
const ALWAYS = "";

/**
 * Hash buckets of a message's features, at least one: unigrams, bigrams, and words within the reach of
 * a negation once more, marked as negated.
 */
export function bucketsOf(tokens: readonly string[]): Uint16Array {
  const words = tokens.map(shape);
  const features = [ALWAYS];
  let negated = 0;
  for (const [at, word] of words.entries()) {
    features.push(word, `${words[at - 1] ?? ""} ${word}`);
    if (negated > 0) features.push(`not ${word}`);
    negated = remaining(word, negated);
  }
  return Uint16Array.from(features, (feature) => fnv1a(feature) % BUCKETS);
}

/** Replaces mentions, URLs and numbers by a placeholder each, since their values are too many to learn. */
function shape(token: string): string {
  if (/^[@$][a-z]/u.test(token)) return token.charAt(0);
  if (/^(?:http|www\.)/u.test(token)) return "http";
  if (!/\d/u.test(token)) return token;
  return token.replace(/[\d.,$]+/gu, "0");
}

/** Number of following words that remain negated after this one. */
function remaining(word: string, before: number): number {
  if (isBreak(word)) return 0;
  if (lexicon.get(word)?.roles.has("negation")) return NEGATED_WORDS;
  return Math.max(0, before - 1);
}
