/**
 * Reads a body of unknown size.
 *
 * @param maxBytes Maximum size after decompression.
 * @throws {Error} When the body is larger; the rest is not read.
 */
export async function wholeBody(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) throw new Error(`The body has more than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
