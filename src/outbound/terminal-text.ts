import { styleText } from "node:util";
import { neutralizeText } from "./neutral-text.ts";

/** Style of a text on a terminal, named as in `util.styleText`. */
export type TextStyle = "bold" | "dim" | "green" | "red" | "yellow";

/** A text with styles. */
interface StyledText {
  readonly styles: readonly TextStyle[];
  readonly text: string;
}

/** A line for a terminal: a text, or a sequence of texts of which some have styles. */
export type TerminalLine = string | readonly (string | StyledText)[];

/**
 * Renders a line for a terminal. Whatever its texts contain, it stays one line and controls
 * nothing: line breaks become `\n`, tabs become spaces, and U+FFFD replaces other control
 * characters, line separators and bidirectional controls. The only escape sequences are those of
 * the styles.
 *
 * @param stream The stream that the line is written to; styles are left out unless it shows them.
 */
export function terminalLine(line: TerminalLine, stream?: NodeJS.WritableStream): string {
  const parts = typeof line === "string" ? [line] : line;
  return parts
    .map((part) =>
      typeof part === "string"
        ? inertLine(part)
        : styleText([...part.styles], inertLine(part.text), { stream: stream ?? process.stdout }),
    )
    .join("");
}

const inertLine = (text: string): string =>
  neutralizeText(text).replaceAll("\n", "\\n").replaceAll("\t", " ");

/**
 * Renders a message that may have several lines, such as an error. Lines after the first are
 * indented, so that none looks like another message.
 */
export const terminalMessage = (text: string): string =>
  text
    .trimEnd()
    .split(/\r\n?|\n/)
    .map((line, at) => terminalLine(at === 0 ? line : `  ${line}`))
    .join("\n");

/**
 * Characters that `JSON.stringify` leaves as they are and a terminal or a person can be deceived
 * by.
 */
const RAW_IN_JSON = /[\u007f-\u009f\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/**
 * Writes a value as one line of JSON in which every control character is escaped. (JSON.stringify
 * leaves DEL and the C1 controls, U+007F to U+009F, as they are.)
 */
export const terminalJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    RAW_IN_JSON,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
