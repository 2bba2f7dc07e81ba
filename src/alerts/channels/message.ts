/**
 * A message to a person as plain text, in any language. Each chat service applies its own escaping.
 */
export interface ChannelMessage {
  /** Title, a single line. */
  readonly title: string;
  /** The lines below the title. */
  readonly lines: readonly string[];
  /** URL of a page with more details. */
  readonly link: string;
}

/** A message as a single text, one item per line. */
export const messagePlainText = ({ title, lines, link }: ChannelMessage): string =>
  [title, ...lines, link].join("\n");
