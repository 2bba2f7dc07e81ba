/** Takes a line of a terminal away: back to its start (CR), erase to its end (ECMA-48 EL). */
const ERASE_LINE = "\r\u001b[K";

/** What was said last. */
let saying = "";

/** Says what is being measured: on one line of a terminal, elsewhere as lines of their own. */
export function progress(doing: string): void {
  saying = doing;
  if (process.stderr.isTTY) process.stderr.write(`${ERASE_LINE}${doing}`);
  else process.stderr.write(`${doing}\n`);
}

/** Says on a terminal how far that is. */
export function step(done: number, total: number): void {
  if (process.stderr.isTTY) process.stderr.write(`${ERASE_LINE}${saying}: ${done} of ${total}`);
}

/** Takes what was said last from a terminal. */
export function progressIsOver(): void {
  if (process.stderr.isTTY) process.stderr.write(ERASE_LINE);
}
