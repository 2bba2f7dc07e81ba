import { lexicon } from "../lexicon.ts";
import { isClauseBreak } from "../message/tokens.ts";
import { fnv1a } from "./fnv1a.ts";

/** Number of hash buckets; a power of two. */
export const FEATURE_BUCKETS = 2 ** 16;

/** Number of words after a negation that are marked as negated. */
const NEGATED_WORDS = 3;

/** Intercept: a feature of every message, through which the model learns the label frequencies. */
const ALWAYS = "";

/**
 * Hash buckets of a message's features: an intercept, words, word pairs, and a marked copy of each
 * word shortly after a negation.
 */
export function featureBucketsOf(tokens: readonly string[]): Uint16Array {
  const words = tokens.map(shape);
  const features = [ALWAYS];
  let negated = 0;
  for (const [at, word] of words.entries()) {
    features.push(word, `${words[at - 1] ?? ""} ${word}`);
    if (negated > 0) features.push(`not ${word}`);
    negated = remaining(word, negated);
  }
  return Uint16Array.from(features, (feature) => fnv1a(feature) % FEATURE_BUCKETS);
}

/**
 * Replaces each mention, URL and number with a placeholder, since there are too many different ones
 * to learn.
 */
function shape(token: string): string {
  if (/^[@$][a-z]/u.test(token)) return token.charAt(0);
  if (/^(?:http|www\.)/u.test(token)) return "http";
  if (!/\d/u.test(token)) return token;
  return token.replace(/[\d.,$]+/gu, "0");
}

/** Number of words after `word` that still count as negated. */
function remaining(word: string, before: number): number {
  if (isClauseBreak(word)) return 0;
  if (lexicon.get(word)?.roles.has("negation")) return NEGATED_WORDS;
  return Math.max(0, before - 1);
}
