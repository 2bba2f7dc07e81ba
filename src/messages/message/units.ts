import type { LexiconRole } from "../lexicon/grammar.ts";
import { type LexiconEntry, lexicon, phraseStarts, UNKNOWN_ENTRY } from "../lexicon.ts";
import { comparisonSign } from "./figures.ts";
import { isClauseBreak } from "./tokens.ts";

/** Marks the end of a clause. */
export const CLAUSE_END: LexiconEntry = { ...UNKNOWN_ENTRY };

/** Marks the end of a sentence. */
export const SENTENCE_END: LexiconEntry = { ...UNKNOWN_ENTRY };

/** Marks the end of a question. */
export const QUESTION_END: LexiconEntry = { ...UNKNOWN_ENTRY };

const ends: ReadonlyMap<string, LexiconEntry> = new Map([
  [".", SENTENCE_END],
  ["!", SENTENCE_END],
  ["?", QUESTION_END],
]);

/** A positive and a negative percentage. */
const GAIN: LexiconEntry = { ...UNKNOWN_ENTRY, valence: 2 };
const LOSS: LexiconEntry = { ...UNKNOWN_ENTRY, valence: -2 };

/** A figure above or below the figure that it is compared with. */
const HIGHER: LexiconEntry = { ...GAIN, roles: new Set<LexiconRole>(["rise"]) };
const LOWER: LexiconEntry = { ...LOSS, roles: new Set<LexiconRole>(["fall"]) };

/** Converts the tokens of a message to lexicon entries, preferring the longest phrase. */
export function lexiconUnits(tokens: readonly string[]): readonly LexiconEntry[] {
  const units: LexiconEntry[] = [];
  let at = 0;
  while (at < tokens.length) {
    const { length, entry } = phrase(tokens, at) ?? { length: 1, entry: single(tokens, at) };
    units.push(entry);
    at += length;
  }
  return units;
}

function phrase(tokens: readonly string[], at: number) {
  const [first = "", second, third] = [tokens[at], tokens[at + 1], tokens[at + 2]];
  if (second === undefined || !phraseStarts.has(first)) return undefined;
  const pair = `${first}_${second}`;
  const ofThree = lexicon.get(`${pair}_${third}`);
  if (ofThree !== undefined) return { length: 3, entry: ofThree };
  const ofTwo = lexicon.get(pair);
  return ofTwo === undefined ? undefined : { length: 2, entry: ofTwo };
}

function single(tokens: readonly string[], at: number): LexiconEntry {
  const token = tokens[at] ?? "";
  if (isClauseBreak(token)) return ends.get(token) ?? CLAUSE_END;
  if (token.endsWith("%")) return percentage(token);
  const sign = comparisonSign(tokens, at);
  if (sign !== 0) return sign > 0 ? HIGHER : LOWER;
  return lexicon.get(token) ?? stretched(token);
}

function percentage(token: string): LexiconEntry {
  if (token.startsWith("+")) return GAIN;
  return /^[−-]/u.test(token) ? LOSS : UNKNOWN_ENTRY;
}

/** Looks up a stretched word such as "sooo" or "moooon" as "so" or "moon". */
function stretched(token: string): LexiconEntry {
  if (!/([a-z])\1\1/u.test(token)) return UNKNOWN_ENTRY;
  const twice = lexicon.get(token.replace(/([a-z])\1{2,}/gu, "$1$1"));
  return twice ?? lexicon.get(token.replace(/([a-z])\1{2,}/gu, "$1")) ?? UNKNOWN_ENTRY;
}
