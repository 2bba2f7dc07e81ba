/**
 * Maximum line length for reading and writing, in bytes; far longer than any row. It limits the
 * memory that a file can occupy.
 */
export const MAX_LINE_BYTES = 64 * 1024 * 1024;

const NEWLINE = 0x0a;

/**
 * Splits bytes into lines without their newlines.
 *
 * @throws {Error} For a line longer than 64 MiB.
 */
export async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begun: Buffer[] = [];
  let begunBytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...begun, chunk.subarray(start, end)]);
      begun = [];
      begunBytes = 0;
      start = end + 1;
    }
    begun.push(chunk.subarray(start));
    begunBytes += chunk.length - start;
    if (begunBytes > MAX_LINE_BYTES) throw new Error("a line is longer than 64 MiB");
  }
  if (begunBytes > 0) yield Buffer.concat(begun);
}
