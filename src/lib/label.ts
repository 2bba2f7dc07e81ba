import { z } from "zod";
import { hasMarkRun, NO_MARK_RUN } from "./mark-run.ts";

/** Where HTML begins a tag, an end tag, a comment or a declaration (HTML section 13.2.5.6): a `<` before
 *  a letter, `/`, `!` or `?`. Any other `<` is a character like others, as in `A <3 B` and `z < 2`. */
const MARKUP = /<[a-z/!?]/i;

/** What is said of a text with markup in it, after the name of the member. */
export const NO_MARKUP = "must have no markup such as <b>; put a space after a < that is none";

/** Whether a text has markup in it. Whoever shows a text encodes it all the
 *  same: this is for readers of which the service does not know. */
export const hasMarkup = (text: string): boolean => MARKUP.test(text);

/** Most characters of a label. */
const MAX_CHARACTERS = 100;

/** Control characters, halves of surrogate pairs, and what changes the direction of text. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/u;

/**
 * A name that somebody gives to something or somebody: one line of 1 to 100 characters in NFC,
 * without white space around it, with single spaces in it and without markup. Whoever shows it encodes
 * it.
 */
export const Label = z
  .string("must be a string")
  .refine((text) => !hasMarkRun(text), { error: NO_MARK_RUN, abort: true })
  .transform((text) => text.normalize("NFC").replace(/\s+/g, " ").trim())
  .refine((text) => !UNPRINTABLE.test(text), "must have no control characters")
  .refine((text) => !hasMarkup(text), NO_MARKUP)
  .refine((text) => /[\p{L}\p{N}]/u.test(text), "must have a letter or a digit")
  .refine((text) => [...text].length <= MAX_CHARACTERS, `has at most ${MAX_CHARACTERS} characters`);
