/**
 * Matches characters that are invisible or can disguise text: control characters, line separators,
 * unpaired surrogates, and bidirectional controls.
 */
const DECEPTIVE = /[[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]--[\t\n]]/gv;

/**
 * Makes untrusted text safe to store and show. Line breaks become line feeds, and U+FFFD replaces
 * each character that could affect a terminal, a page or a database.
 */
export function neutralizeText(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(DECEPTIVE, "\ufffd");
}
