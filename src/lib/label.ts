import { z } from "zod";
import { hasMarkup, NO_MARKUP } from "./markup.ts";

/** Most characters of a label (reliability section 5). */
const MAX_CHARACTERS = 100;

/** Control characters, halves of surrogate pairs, and what changes the direction of text
 *  (reliability section 5). */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/u;

/**
 * A name that somebody gives to something or somebody: one line of 1 to 100 characters in NFC,
 * without white space around it, with single spaces in it and without markup. Whoever shows it encodes
 * it.
 */
export const Label = z
  .string("must be a text")
  .transform((text) => text.normalize("NFC").replace(/\s+/g, " ").trim())
  .refine((text) => !UNPRINTABLE.test(text), "must have no control characters")
  .refine((text) => !hasMarkup(text), NO_MARKUP)
  .refine((text) => /[\p{L}\p{N}]/u.test(text), "must have a letter or a digit")
  .refine((text) => [...text].length <= MAX_CHARACTERS, `has at most ${MAX_CHARACTERS} characters`);
