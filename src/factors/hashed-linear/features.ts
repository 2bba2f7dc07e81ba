import { lexicon } from "../lexicon.ts";
import { isBreak } from "../message/tokens.ts";
import { fnv1a } from "./fnv1a.ts";

/** Buckets that features fall into; a power of two. */
export const BUCKETS = 2 ** 16;

/** Words after a negation that are marked as negated. */
const NEGATED_WORDS = 3;

/** Present in every message, so that a model learns how frequent each label is. */
const ALWAYS = "";

/**
 * Buckets of a message's features, at least one: every word, every pair of neighbours, and the
 * words that a negation reaches once more with a mark.
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

/** A name, an address and a figure say what they are, not which; their values are too many. */
function shape(token: string): string {
  if (/^[@$][a-z]/u.test(token)) return token.charAt(0);
  if (/^(?:http|www\.)/u.test(token)) return "http";
  if (!/\d/u.test(token)) return token;
  return token.replace(/[\d.,$]+/gu, "0");
}

/** Words that are still negated after one more. */
function remaining(word: string, before: number): number {
  if (isBreak(word)) return 0;
  if (lexicon.get(word)?.roles.has("negation")) return NEGATED_WORDS;
  return Math.max(0, before - 1);
}
