/**
 * A run of 31 combining marks, more than any language uses (Unicode Standard Annex 15, section 13,
 * Stream-Safe Text Format).
 */
const MARK_RUN = /\p{M}{31}/u;

/**
 * Error message for a text with too many combining marks in a row; printed after the member name.
 */
export const TOO_MANY_MARKS_MESSAGE = "must have at most 30 combining marks in a row";

/**
 * Whether a text contains so many combining marks in a row that it must not be normalized:
 * normalization sorts a run in quadratic time, and takes seconds for 96 kB of marks.
 */
export const hasCombiningMarkRun = (text: string): boolean => MARK_RUN.test(text);
