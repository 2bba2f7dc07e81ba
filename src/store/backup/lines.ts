/**
 * Maximum line length for reading and writing, in bytes, far above any row. Bounds the memory that a
 * file can take.
 */
export const MAX_LINE_BYTES = 64 * 1024 * 1024;

const NEWLINE = 0x0a;

/**
 * Splits bytes into lines, without newlines.
 *
 * @throws {Error} For a line of more than 64 MiB.
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
