/** What a reader cannot see, or what could make a text read as another: control characters, line
 *  separators, halves of surrogate pairs, and what changes the direction of text. */
const DECEPTIVE = /[[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]--[\t\n]]/gv;

/**
 * A stranger's text that can be kept and shown as it is: lines end with line feeds, and U+FFFD
 * stands for each character that could do something to a terminal, a page or a database.
 */
export function neutralText(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(DECEPTIVE, "\ufffd");
}
