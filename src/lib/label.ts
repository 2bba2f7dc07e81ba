import { z } from "zod";
import { hasCombiningMarkRun, TOO_MANY_MARKS_MESSAGE } from "./mark-run.ts";

/**
 * Text that HTML parses as a tag, an end tag, a comment or a declaration (HTML section 13.2.5.6): a
 * `<` before a letter, `/`, `!` or `?`. Any other `<` is an ordinary character, as in `A <3 B` and
 * `z < 2`.
 */
const MARKUP = /<[a-z/!?]/i;

/** The beginning of a URL that browsers execute as a script when it is opened. */
const SCRIPT_URL = /\b(?:(?:javascript|vbscript):\S|data:text\/html)/i;

/** Error message for a text that contains active content; printed after the member name. */
export const NO_ACTIVE_CONTENT_MESSAGE =
  "must have no markup such as <b> and no script such as javascript:x; put a space after a < or a : that is none";

/**
 * Whether a text contains markup or a script URL. Every output of this service encodes text anyway;
 * the check protects other programs that receive the text, such as webhook receivers. Text in the
 * syntax of a query language, such as SQL, is ordinary text: the stores bind every value.
 */
export const hasActiveContent = (text: string): boolean =>
  MARKUP.test(text) || SCRIPT_URL.test(text);

/**
 * Control characters, lone surrogates, line separators, bidirectional controls and invisible
 * characters, which can disguise a name on a page or in a log, or hide text in it. The joiners and
 * variation selectors that scripts and emoji need are allowed.
 */
const DECEPTIVE =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}[\p{Default_Ignorable_Code_Point}--[\u200c\u200d\ufe0e\ufe0f]]]/v;

/** Whether a text contains a character that can disguise the text. */
export const hasDeceptiveCharacter = (text: string): boolean => DECEPTIVE.test(text);

/**
 * A letter, digit, punctuation mark or symbol that is drawn. U+2800 is a Braille pattern without
 * dots.
 */
const VISIBLE = /[[\p{L}\p{N}\p{P}\p{S}]--[\p{Default_Ignorable_Code_Point}\u2800]]/v;

/** Error message for a text in which nothing is visible; printed after the member name. */
export const NOT_VISIBLE_MESSAGE = "must have a visible character";

/**
 * Whether a reader sees anything of a text, unlike white space, zero-width characters, fillers, or
 * combining marks on nothing.
 */
export const hasVisibleCharacter = (text: string): boolean => VISIBLE.test(text);

/** Maximum length of a label, in characters. */
const MAX_CHARACTERS = 100;

/** A letter or a digit that is drawn, unlike the fillers of Hangul. */
const LETTER_OR_DIGIT = /[[\p{L}\p{N}]--\p{Default_Ignorable_Code_Point}]/v;

/**
 * A display name: one line of 1 to 100 characters in NFC, without active content and invisible
 * characters, without leading or trailing white space, and with single spaces inside. Outputs must
 * still encode it.
 */
export const Label = z
  .string("must be a string")
  .refine((text) => !hasCombiningMarkRun(text), { error: TOO_MANY_MARKS_MESSAGE, abort: true })
  .transform((text) => text.normalize("NFC").replace(/\s+/g, " ").trim())
  .refine((text) => !hasDeceptiveCharacter(text), "must have no control or invisible characters")
  .refine((text) => !hasActiveContent(text), NO_ACTIVE_CONTENT_MESSAGE)
  .refine((text) => LETTER_OR_DIGIT.test(text), "must have a letter or a digit")
  .refine((text) => [...text].length <= MAX_CHARACTERS, `has at most ${MAX_CHARACTERS} characters`);
