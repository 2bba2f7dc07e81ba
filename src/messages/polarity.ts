import { boundedMessageText, tokenize, URL_PATTERN } from "./message/tokens.ts";
import { lexiconUnits } from "./message/units.ts";
import { sumOfValences } from "./message/verdicts.ts";

/** Squared sum of valences at which |polarity| is 1/sqrt(2). */
const HALFWAY = 6;

/** Text that can differ between copies of a message: URLs, a repost marker, mentions and digits. */
const COPY_NOISE = new RegExp(String.raw`${URL_PATTERN}|^\s*rt\b|@\w+:?|\d`, "gu");

/**
 * Polarity of a message in [-1, 1], positive if bullish, 0 if no entry matches: s / sqrt(s^2 + 6),
 * where s is the sum of all valences. Only the first 1,000 UTF-16 code units are read.
 */
export function messagePolarity(text: string): number {
  const sum = sumOfValences(lexiconUnits(tokenize(text)));
  return sum / Math.sqrt(sum * sum + HALFWAY);
}

/**
 * Normal form of a message for detecting duplicates: lower case, without URLs, mentions, repost
 * marker, digits and invisible characters, with white space collapsed. Only the first 1,000 UTF-16
 * code units are read.
 */
export function normalizeMessageText(text: string): string {
  return boundedMessageText(text).replace(COPY_NOISE, "").replace(/\s+/gu, " ").trim();
}
