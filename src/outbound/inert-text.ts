import { neutralizeText } from "./neutral-text.ts";

/**
 * Characters that, when text follows them directly, make chat services recognize a link, mention,
 * channel or command.
 */
const ACTIVE = /[@#:/.](?=\S)/gu;

/**
 * Invisible character (U+2060) inserted between two characters, so that chat services do not
 * recognize a link or mention.
 */
const WORD_JOINER = "\u2060";

/**
 * Converts untrusted text for use in a message to people: a single line in which chat services
 * recognize no link, mention or command.
 *
 * @param text For example an alert's label, which an agent chose, or a company name from a data
 * provider.
 */
export const inertText = (text: string): string =>
  neutralizeText(text)
    .replace(/\s+/g, " ")
    .replace(ACTIVE, (mark) => mark + WORD_JOINER);
