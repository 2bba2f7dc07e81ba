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

/** Words before a verdict where a negation turns it, and around a verb where a noun counts. */
const WINDOW = 3;

/** What a negation does to a verdict: "not good" is milder than "bad". */
const NEGATED = -0.6;

/** |valence| of a signed percentage. */
const PERCENT_VALENCE = 2;

/** |valence| of a bad quantity that moves: debt that rose, a loss that narrowed. */
const DIRECTED_VALENCE = 2;

/** Squared sum of valences at which |polarity| is 1/sqrt(2). */
const HALFWAY = 6;

const ADDRESS = String.raw`(?:https?:\/\/|www\.)\S+`;

/** A ticker or a name is no verdict, so each is read as one token. */
const MENTION_OR_CASHTAG = String.raw`[@$][a-z]\w*`;

/** With its sign and per cent; what looks like a sign after a number is a range: "5-10%". */
const QUANTITY = String.raw`(?:(?<![\w%])[+−-])?\d[\d.,-]*%?`;

const WORD = "[a-z]+";
const EMOJI = String.raw`[\u2190-\u2bff\u{1f000}-\u{1faff}]`;

const TOKEN = new RegExp([ADDRESS, MENTION_OR_CASHTAG, QUANTITY, WORD, EMOJI].join("|"), "gu");

/** What two copies of a message may differ in, besides letter case and white space. */
const COPY_NOISE = new RegExp(String.raw`${ADDRESS}|^\s*rt\b|@\w+:?|\d`, "gu");

/** The longest entry at a position of the message. */
interface Verdict {
  /** In tokens, 1 to 3. */
  readonly length: number;
  /** In [-3, 3]. */
  readonly valence: number;
}

/**
 * How bullish (1) or bearish (-1) a message reads, in [-1, 1]; 0 when nothing is recognised.
 * The sum s of all valences is squashed to s / sqrt(s^2 + 6).
 */
export function polarity(text: string): number {
  const tokens = bounded(text).replace(/['’]/gu, "").match(TOKEN) ?? [];
  let sum = 0;
  let at = 0;
  while (at < tokens.length) {
    const { length, valence } = phrase(tokens, at) ?? { length: 1, valence: single(tokens, at) };
    if (valence !== 0) sum += valence * context(tokens, at);
    at += length;
  }
  return sum / Math.sqrt(sum * sum + HALFWAY);
}

/**
 * The form in which two copies of a message are equal: lower case, without addresses, mentions,
 * the repost marker and digits, white space collapsed. Only the first 1,000 UTF-16 units count.
 */
export function normalisedText(text: string): string {
  return bounded(text).replace(COPY_NOISE, "").replace(/\s+/gu, " ").trim();
}

/** One spelling of each character; cut again because NFKC can lengthen a text 18 times. */
function bounded(text: string): string {
  return text.slice(0, MAX_LENGTH).normalize("NFKC").toLowerCase().slice(0, MAX_LENGTH);
}

function phrase(tokens: readonly string[], at: number): Verdict | undefined {
  const [first = "", second, third] = [tokens[at], tokens[at + 1], tokens[at + 2]];
  if (second === undefined || !phraseStarts.has(first)) return undefined;
  const pair = `${first}_${second}`;
  const ofThree = lexicon.get(`${pair}_${third}`);
  if (ofThree !== undefined) return { length: 3, valence: ofThree };
  const ofTwo = lexicon.get(pair);
  return ofTwo === undefined ? undefined : { length: 2, valence: ofTwo };
}

function single(tokens: readonly string[], at: number): number {
  const token = tokens[at] ?? "";
  if (token.endsWith("%")) return percentage(token);
  return directed(tokens, at) ?? lexicon.get(token) ?? 0;
}

function percentage(token: string): number {
  if (token.startsWith("+")) return PERCENT_VALENCE;
  return /^[−-]/u.test(token) ? -PERCENT_VALENCE : 0;
}

/** A direction word near a bad noun counts the other way round; a shrinking noun says no more. */
function directed(tokens: readonly string[], at: number): number | undefined {
  const token = tokens[at] ?? "";
  if (upVerbs.has(token) && near(tokens, at, badNouns)) return -DIRECTED_VALENCE;
  if (downVerbs.has(token) && near(tokens, at, badNouns)) return DIRECTED_VALENCE;
  return badNouns.has(token) && near(tokens, at, downVerbs) ? 0 : undefined;
}

function near(tokens: readonly string[], at: number, words: ReadonlySet<string>): boolean {
  for (let distance = 1; distance <= WINDOW; distance++) {
    if (words.has(tokens[at - distance] ?? "") || words.has(tokens[at + distance] ?? "")) {
      return true;
    }
  }
  return false;
}

/** Factor of the words before a verdict: a booster right before, negations in the window. */
function context(tokens: readonly string[], at: number): number {
  let factor = boosters.get(tokens[at - 1] ?? "") ?? 1;
  for (let distance = 1; distance <= WINDOW; distance++) {
    if (negations.has(tokens[at - distance] ?? "")) factor *= NEGATED;
  }
  return factor;
}
