import { neutralText } from "../../outbound/neutral-text.ts";

/** A message to a person, in plain text of any language. Each service escapes it for itself. */
export interface ChannelMessage {
  /** One line. */
  readonly title: string;
  /** The lines below it. */
  readonly lines: readonly string[];
  /** Where to read more. */
  readonly link: string;
}

/** Characters by which services find links, mentions, channels and commands, if text follows them
 *  directly. */
const ACTIVE = /[@#:/.](?=\S)/gu;

/** An invisible character between two others, so that no service finds a link or a mention. */
const WORD_JOINER = "\u2060";

/**
 * Untrusted text within a message: one line, in which no service finds a link, a mention or a command.
 *
 * @param text Such as the label of an alert, which an agent chose.
 */
export const inertText = (text: string): string =>
  neutralText(text)
    .replace(/\s+/g, " ")
    .replace(ACTIVE, (mark) => mark + WORD_JOINER);

/** A message as one text. */
export const plainText = ({ title, lines, link }: ChannelMessage): string =>
  [title, ...lines, link].join("\n");
