/** Erases a terminal line: carriage return, then erase to the end of the line (ECMA-48 EL). */
const ERASE_LINE = "\r\u001b[K";

/** The latest progress message. */
let saying = "";

/** Prints what is being measured: in place on a terminal, otherwise on a new line. */
export function showProgress(doing: string): void {
  saying = doing;
  if (process.stderr.isTTY) process.stderr.write(`${ERASE_LINE}${doing}`);
  else process.stderr.write(`${doing}\n`);
}

/** Prints the number of finished steps, on a terminal only. */
export function showStep(done: number, total: number): void {
  if (process.stderr.isTTY) process.stderr.write(`${ERASE_LINE}${saying}: ${done} of ${total}`);
}

/** Erases the last progress message from a terminal. */
export function endProgress(): void {
  if (process.stderr.isTTY) process.stderr.write(ERASE_LINE);
}
