import { z } from "zod";
import { hasCombiningMarkRun, TOO_MANY_MARKS_MESSAGE } from "./mark-run.ts";

/**
 * Text that HTML parses as a tag, an end tag, a comment or a declaration (HTML section 13.2.5.6): a
 * `<` before a letter, `/`, `!` or `?`. Any other `<` is an ordinary character, as in `A <3 B` and
 * `z < 2`.
 */
const MARKUP = /<[a-z/!?]/i;

/** Error message for a text that contains markup; printed after the member name. */
export const NO_MARKUP_MESSAGE =
  "must have no markup such as <b>; put a space after a < that is none";

/**
 * Whether a text contains markup. Every output of this service encodes text anyway; the check
 * protects other programs that receive the text, such as webhook receivers.
 */
export const hasMarkup = (text: string): boolean => MARKUP.test(text);

/** Maximum length of a label, in characters. */
const MAX_CHARACTERS = 100;

/** Control characters, lone surrogates, and characters that change the direction of text. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/u;

/**
 * A display name: one line of 1 to 100 characters in NFC, without markup, without leading or
 * trailing white space, and with single spaces inside. Outputs must still encode it.
 */
export const Label = z
  .string("must be a string")
  .refine((text) => !hasCombiningMarkRun(text), { error: TOO_MANY_MARKS_MESSAGE, abort: true })
  .transform((text) => text.normalize("NFC").replace(/\s+/g, " ").trim())
  .refine((text) => !UNPRINTABLE.test(text), "must have no control characters")
  .refine((text) => !hasMarkup(text), NO_MARKUP_MESSAGE)
  .refine((text) => /[\p{L}\p{N}]/u.test(text), "must have a letter or a digit")
  .refine((text) => [...text].length <= MAX_CHARACTERS, `has at most ${MAX_CHARACTERS} characters`);
