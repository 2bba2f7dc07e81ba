/** Erases a line of a terminal: back to its start (CR), erase to its end (ECMA-48 EL). */
const ERASE_LINE = "\r\u001b[K";

/** The last progress message. */
let saying = "";

/** Prints what is being measured: on a terminal in one line, elsewhere as separate lines. */
export function progress(doing: string): void {
  saying = doing;
  if (process.stderr.isTTY) process.stderr.write(`${ERASE_LINE}${doing}`);
  else process.stderr.write(`${doing}\n`);
}

/** Prints the share that is done, on a terminal only. */
export function step(done: number, total: number): void {
  if (process.stderr.isTTY) process.stderr.write(`${ERASE_LINE}${saying}: ${done} of ${total}`);
}

/** Erases the last progress message from a terminal. */
export function progressIsOver(): void {
  if (process.stderr.isTTY) process.stderr.write(ERASE_LINE);
}
