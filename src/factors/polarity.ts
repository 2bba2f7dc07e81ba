import { type HashedLinear, modeledPolarity } from "./hashed-linear.ts";
import { ADDRESS, boundedText, tokensOf } from "./message/tokens.ts";
import { unitsOf } from "./message/units.ts";
import { sumOfVerdicts } from "./message/verdicts.ts";

/** Squared sum of valences at which |polarity| is 1/sqrt(2). */
const HALFWAY = 6;

/** Differences ignored between copies of a message, besides case and white space. */
const COPY_NOISE = new RegExp(String.raw`${ADDRESS}|^\s*rt\b|@\w+:?|\d`, "gu");

/**
 * Polarity of a message in [-1, 1], positive is bullish; 0 if no entry matches. The sum s of all
 * valences is mapped to s / sqrt(s^2 + 6). Only the first 1,000 UTF-16 units count.
 *
 * @param model Its polarity is averaged with the lexicon's.
 */
export function polarity(text: string, model?: HashedLinear): number {
  const tokens = tokensOf(text);
  const sum = sumOfVerdicts(unitsOf(tokens));
  const read = sum / Math.sqrt(sum * sum + HALFWAY);
  return model === undefined ? read : (read + modeledPolarity(model, tokens)) / 2;
}

/**
 * Normal form for detecting duplicates: lower case, without URLs, mentions, repost marker, digits and
 * invisible characters, with white space collapsed. Only the first 1,000
 * UTF-16 units count.
 */
export function normalizedText(text: string): string {
  return boundedText(text).replace(COPY_NOISE, "").replace(/\s+/gu, " ").trim();
}
