import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

/** Whether a body comes as it is, with a length that is known and allowed. @param most Bytes. */
export function isPlainBody(headers: IncomingHttpHeaders, most: number): boolean {
  const length = Number(headers["content-length"] ?? 0);
  return length > 0 && length <= most && headers["content-encoding"] === undefined;
}

/** Reads a body to its end. Of a caller who leaves meanwhile nothing is heard. */
export function wholeBody(req: IncomingMessage): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  req.on("data", (chunk: Buffer) => chunks.push(chunk));
  req.once("end", () => resolve(Buffer.concat(chunks)));
  return promise;
}
