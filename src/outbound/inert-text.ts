import { neutralText } from "./neutral-text.ts";

/** Characters by which services find links, mentions, channels and commands, if text follows them
 *  directly. */
const ACTIVE = /[@#:/.](?=\S)/gu;

/** An invisible character between two others, so that no service finds a link or a mention. */
const WORD_JOINER = "\u2060";

/**
 * Untrusted text within a message to people: one line, in which no service finds a link, a mention or a
 * command.
 *
 * @param text Such as the label of an alert, which an agent chose, or the name of a company, which a provider
 *   did.
 */
export const inertText = (text: string): string =>
  neutralText(text)
    .replace(/\s+/g, " ")
    .replace(ACTIVE, (mark) => mark + WORD_JOINER);
