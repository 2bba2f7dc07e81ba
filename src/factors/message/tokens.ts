/** UTF-16 units of a message that are read; the rest of an untrusted text is ignored. */
const MAX_LENGTH = 1000;

/** Web addresses. */
export const ADDRESS = String.raw`(?:https?:\/\/|www\.)\S+`;

/** Tickers and handles are neutral, so each is one token. */
const MENTION_OR_CASHTAG = String.raw`[@$][a-z]\w*`;

/** A number with its sign and percent; a hyphen after a number denotes a range: "5-10%". */
const QUANTITY = String.raw`(?:(?<![\w%])[+−-])?\$?\d[\d.,-]*%?`;

/** "u.s." is one word. */
const ABBREVIATION = String.raw`(?:[a-z]\.){2,9}`;
const WORD = "[a-z]+";
const EMOJI = String.raw`[\u2190-\u2bff\u{1f000}-\u{1faff}]`;
const BREAK = String.raw`[,.](?=\s)|[;:!?…]|[–—-](?=\s)`;

const TOKEN = new RegExp(
  [ADDRESS, MENTION_OR_CASHTAG, QUANTITY, ABBREVIATION, WORD, EMOJI, BREAK].join("|"),
  "gu",
);

/** Invisible: control and format characters, emoji variation selectors. */
const INVISIBLE = /(?!\s)[\p{Cc}\p{Cf}\p{Variation_Selector}]/gu;

/**
 * Lower case, NFKC, without invisible characters, cut to 1,000 UTF-16 units before and after
 * normalization, since NFKC can lengthen a text 18 times.
 */
export function boundedText(text: string): string {
  const visible = text.slice(0, MAX_LENGTH).replace(INVISIBLE, "");
  return visible.normalize("NFKC").toLowerCase().slice(0, MAX_LENGTH);
}

/** Words without apostrophes, numbers, emoji, handles, URLs and clause marks, in order. */
export function tokensOf(text: string): readonly string[] {
  return boundedText(text).replace(/['’]/gu, "").match(TOKEN) ?? [];
}

/** Whether a token ends a clause. */
export const isBreak = (token: string): boolean => /^[,.;:!?…–—-]$/u.test(token);
