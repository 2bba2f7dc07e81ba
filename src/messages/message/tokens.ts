/** Maximum number of UTF-16 code units of a message that are read, since messages are untrusted. */
const MAX_LENGTH = 1000;

/** Regular expression for a URL. */
export const URL_PATTERN = String.raw`(?:https?:\/\/|www\.)\S+`;

/** A ticker or handle is one token, so that words in it do not count as sentiment. */
const MENTION_OR_CASHTAG = String.raw`[@$][a-z]\w*`;

/**
 * A number with its sign and percent sign. A hyphen after a number denotes a range, as in "5-10%".
 */
const QUANTITY = String.raw`(?:(?<![\w%])[+−-])?\$?\d[\d.,-]*%?`;

/** An abbreviation with periods, such as "u.s.", is one token. */
const ABBREVIATION = String.raw`(?:[a-z]\.){2,9}`;
const WORD = "[a-z]+";
const EMOJI = String.raw`[\u2190-\u2bff\u{1f000}-\u{1faff}]`;
const BREAK = String.raw`[,.](?=\s)|[;:!?…]|[–—-](?=\s)`;

const TOKEN = new RegExp(
  [URL_PATTERN, MENTION_OR_CASHTAG, QUANTITY, ABBREVIATION, WORD, EMOJI, BREAK].join("|"),
  "gu",
);

/** Invisible characters: control characters, format characters and emoji variation selectors. */
const INVISIBLE = /(?!\s)[\p{Cc}\p{Cf}\p{Variation_Selector}]/gu;

/**
 * Lowercases and NFKC-normalizes a text and removes invisible characters. The text is cut to 1,000
 * UTF-16 code units before and again after normalization, since NFKC can make a text 18 times
 * longer.
 */
export function boundedMessageText(text: string): string {
  const visible = text.slice(0, MAX_LENGTH).replace(INVISIBLE, "");
  return visible.normalize("NFKC").toLowerCase().slice(0, MAX_LENGTH);
}

/**
 * Tokens of a message in order: words without apostrophes, numbers, emoji, handles, URLs and clause
 * punctuation.
 */
export function tokenize(text: string): readonly string[] {
  return boundedMessageText(text).replace(/['’]/gu, "").match(TOKEN) ?? [];
}

/** Whether a token ends a clause. */
export const isClauseBreak = (token: string): boolean => /^[,.;:!?…–—-]$/u.test(token);
