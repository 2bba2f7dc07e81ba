import {
  badNouns,
  boosters,
  downVerbs,
  lexicon,
  negations,
  phraseStarts,
  upVerbs,
} from "./lexicon.ts";

/** UTF-16 units of a message that are read; the rest of an untrusted text is ignored. */
const MAX_LENGTH = 1000;

/** Words before a verdict in which a negation turns it, and around a verb in which a noun counts. */
const WINDOW = 3;

/** What a negation does to a verdict: "not good" is milder than "bad". */
const NEGATED = -0.6;

/** Valence of a signed percentage, of either sign. */
const PERCENT_VALENCE = 2;

/** Valence of a quantity that moves against its meaning: debt that rose, a loss that narrowed. */
const DIRECTED_VALENCE = 2;

/** Squared raw sum at which a message is 1/sqrt(2) sure. */
const HALF_SURE = 6;

/**
 * URL, @mention, $cashtag, number with sign and per cent, word, emoji: in this order, because an
 * address or a ticker is no verdict. Every branch is linear.
 */
const TOKEN =
  /https?:\/\/\S+|[@$][a-z]\w*|[+−-]?\d[\d.,-]*%?|[a-z]+|[\u2190-\u2bff\u{1f000}-\u{1faff}]/gu;

/**
 * How bullish (1) or bearish (-1) a message reads, in [-1, 1]; 0 when nothing is recognised.
 * The sum of the valences s is squashed to s / sqrt(s^2 + 6).
 */
export function polarity(text: string): number {
  const tokens = bounded(text).replace(/['’]/g, "").match(TOKEN) ?? [];
  let sum = 0;
  let at = 0;
  while (at < tokens.length) {
    const length = entryLength(tokens, at);
    sum += valence(tokens, at, length) * context(tokens, at);
    at += length;
  }
  return sum / Math.sqrt(sum * sum + HALF_SURE);
}

/**
 * The form in which two copies of a message are equal: lower case, without addresses, mentions,
 * the repost marker and digits, white space collapsed.
 */
export function normalisedText(text: string): string {
  return bounded(text)
    .replace(/https?:\/\/\S+|www\.\S+|@\w+|^\s*rt\b|\d/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

/** One spelling of each character; cut again because NFKC may lengthen a text 18 times. */
function bounded(text: string): string {
  return text.slice(0, MAX_LENGTH).normalize("NFKC").toLowerCase().slice(0, MAX_LENGTH);
}

/** Tokens in the longest lexicon entry that starts here; 1 when there is no phrase. */
function entryLength(tokens: readonly string[], at: number): number {
  if (!phraseStarts.has(tokens[at]!)) return 1;
  for (const length of [3, 2]) {
    if (lexicon.has(tokens.slice(at, at + length).join("_"))) return length;
  }
  return 1;
}

function valence(tokens: readonly string[], at: number, length: number): number {
  const token = tokens[at]!;
  if (length > 1) return lexicon.get(tokens.slice(at, at + length).join("_")) ?? 0;
  if (token.endsWith("%")) return percentage(token);
  return directed(tokens, at) ?? lexicon.get(token) ?? 0;
}

function percentage(token: string): number {
  if (token.startsWith("+")) return PERCENT_VALENCE;
  return token.startsWith("-") || token.startsWith("−") ? -PERCENT_VALENCE : 0;
}

/** Verdict of a direction word next to a bad noun; the noun itself then says nothing more. */
function directed(tokens: readonly string[], at: number): number | undefined {
  const token = tokens[at]!;
  const up = upVerbs.has(token);
  const down = downVerbs.has(token);
  if ((up || down) && near(tokens, at, badNouns)) return up ? -DIRECTED_VALENCE : DIRECTED_VALENCE;
  if (badNouns.has(token) && near(tokens, at, downVerbs)) return 0;
  return undefined;
}

function near(tokens: readonly string[], at: number, set: ReadonlySet<string>): boolean {
  for (let i = Math.max(0, at - WINDOW); i <= at + WINDOW && i < tokens.length; i++) {
    if (i !== at && set.has(tokens[i]!)) return true;
  }
  return false;
}

/** Factor of the words before a verdict: negations in the window, a booster right before. */
function context(tokens: readonly string[], at: number): number {
  let factor = boosters.get(tokens[at - 1] ?? "") ?? 1;
  for (let i = Math.max(0, at - WINDOW); i < at; i++) {
    if (negations.has(tokens[i]!)) factor *= NEGATED;
  }
  return factor;
}
