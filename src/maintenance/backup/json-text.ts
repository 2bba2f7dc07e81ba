/**
 * Parses the contents of a JSON file.
 *
 * @param name Name of the file, for messages.
 * @throws {Error} If the text is not JSON; the message gives file, line, column and fault.
 */
export function requireJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const offset = faultOffset(text);
    const before = text.slice(0, offset).split("\n");
    const column = (before.at(-1)?.length ?? 0) + 1;
    const what = offset < text.length ? describeFault(text, offset) : "the file ends too early";
    throw new Error(
      `${name}, line ${before.length}, column ${column}: not JSON, ${what}. Nothing was changed.`,
      { cause: error },
    );
  }
}

function describeFault(text: string, offset: number): string {
  const character = String.fromCodePoint(text.codePointAt(offset) ?? 0);
  return `${JSON.stringify(character)} cannot stand there`;
}

/**
 * Offset at which a text stops being a prefix of valid JSON. V8 does not report the offset of every
 * fault, so it is found by bisection: a prefix is valid if `JSON.parse` complains only about its
 * unexpected end.
 */
function faultOffset(text: string): number {
  let good = 0;
  let bad = text.length + 1;
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (isBeginning(text.slice(0, middle))) good = middle;
    else bad = middle;
  }
  return good;
}

/**
 * Whether a text is a prefix of valid JSON. V8 14 (Node 24) reports an unexpected end either with
 * this message or with a position at the end of the text.
 */
function isBeginning(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    const { message } = error as SyntaxError;
    if (message.startsWith("Unexpected end of JSON input")) return true;
    const position = /at position (\d+)/.exec(message)?.[1];
    return position !== undefined && Number(position) >= text.length;
  }
}
