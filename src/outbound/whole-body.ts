/**
 * Reads a body whose size is not known in advance.
 *
 * @param maxBytes Maximum size after decompression.
 * @throws {Error} When the body is larger. The rest of the body is not read.
 */
export async function readWholeBody(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
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
