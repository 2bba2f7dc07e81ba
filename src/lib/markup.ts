/** Where HTML begins a tag, an end tag, a comment or a declaration (HTML section 13.2.5.6): a `<` before
 *  a letter, `/`, `!` or `?`. Any other `<` is a character like others, as in `A <3 B` and `z < 2`. */
const MARKUP = /<[a-z/!?]/i;

/** What is said of a text with markup in it, after the name of the member. */
export const NO_MARKUP = "must have no markup such as <b>; put a space after a < that is none";

/** Whether a text has markup in it (interface section 8). Whoever shows a text encodes it all the
 *  same: this is for readers of which the service does not know. */
export const hasMarkup = (text: string): boolean => MARKUP.test(text);
