import { type HashedLinear, modelledPolarity } from "./hashed-linear.ts";
import { ADDRESS, bounded, tokensOf } from "./message/tokens.ts";
import { unitsOf } from "./message/units.ts";
import { sumOfVerdicts } from "./message/verdicts.ts";

/** Squared sum of valences at which |polarity| is 1/sqrt(2). */
const HALFWAY = 6;

/** Parts in which two copies of a message may differ, besides letter case and white space. */
const COPY_NOISE = new RegExp(String.raw`${ADDRESS}|^\s*rt\b|@\w+:?|\d`, "gu");

/**
 * How bullish (1) or bearish (-1) a message reads, in [-1, 1]; 0 when nothing is recognized. The
 * sum s of all valences is squashed to s / sqrt(s^2 + 6). Only the first 1,000 UTF-16 units count.
 *
 * @param model Its reading is averaged with the lexicon's.
 */
export function polarity(text: string, model?: HashedLinear): number {
  const tokens = tokensOf(text);
  const sum = sumOfVerdicts(unitsOf(tokens));
  const read = sum / Math.sqrt(sum * sum + HALFWAY);
  return model === undefined ? read : (read + modelledPolarity(model, tokens)) / 2;
}

/**
 * The form in which two copies of a message are equal: lower case, without addresses, mentions,
 * the repost marker, digits and invisible characters, white space collapsed. Only the first 1,000
 * UTF-16 units count.
 */
export function normalisedText(text: string): string {
  return bounded(text).replace(COPY_NOISE, "").replace(/\s+/gu, " ").trim();
}
