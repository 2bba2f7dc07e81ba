import type { IncomingMessage } from "node:http";
import { Problem } from "../../problem.ts";

/** A string of RFC 9651 section 3.3.3, as draft-ietf-httpapi-idempotency-key-header-07 has it. */
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;

/** What many clients send in its place: the key alone. */
const BARE = /^[!-~]{1,255}$/;

/**
 * The key that a request is repeated under.
 *
 * @returns `undefined` when it has none.
 * @throws {Problem} `invalid_request` when it is no text of 1 to 255 visible ASCII characters.
 */
export function idempotencyKeyOf({
  headersDistinct,
}: Pick<IncomingMessage, "headersDistinct">): string | undefined {
  const [header, ...more] = headersDistinct["idempotency-key"] ?? [];
  if (header === undefined) return undefined;
  const key = header.startsWith('"') ? unquoted(header) : header;
  if (more.length === 0 && key !== undefined && BARE.test(key)) return key;
  throw new Problem("invalid_request", {
    detail: "Idempotency-Key: expected one key of 1 to 255 visible ASCII characters.",
    next: "Send a UUID, for example.",
  });
}

const unquoted = (header: string): string | undefined =>
  QUOTED.exec(header)?.[1]?.replace(/\\(.)/g, "$1");
