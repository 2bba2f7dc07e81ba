/** More combining marks in a row than any language uses (Unicode Standard Annex 15, section 13,
 *  Stream-Safe Text Format). */
const MARK_RUN = /\p{M}{31}/u;

/** Error message for a text with a mark run; follows the name of the member. */
export const NO_MARK_RUN = "must have at most 30 combining marks in a row";

/** Whether a text has so many combining marks in a row that it must not be normalized: normalization
 *  sorts a run in quadratic time, and takes seconds for 96 kB of marks. */
export const hasMarkRun = (text: string): boolean => MARK_RUN.test(text);
