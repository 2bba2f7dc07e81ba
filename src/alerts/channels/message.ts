/** A message to a person, in plain text of any language. Each service escapes it for itself. */
export interface ChannelMessage {
  /** One line. */
  readonly title: string;
  /** The lines below it. */
  readonly lines: readonly string[];
  /** Where to read more. */
  readonly link: string;
}

/** A message as one text. */
export const plainText = ({ title, lines, link }: ChannelMessage): string =>
  [title, ...lines, link].join("\n");
