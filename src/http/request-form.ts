import type { IncomingMessage } from "node:http";
import { Problem } from "../problem.ts";

/** Most fields of a header; browsers send twenty. */
export const MAX_FIELDS = 100;

const NO_ADDRESS = new Problem("invalid_request", {
  detail: "The request target is not an address.",
  next: "Ask for a path of this service, such as /llms.txt.",
});

const TOO_MANY_FIELDS = new Problem("headers_too_large", {
  detail: `A header has at most ${MAX_FIELDS} fields.`,
  next: "Send fewer header fields.",
});

const NOT_ONE_HOST = new Problem("invalid_request", {
  detail: "A request names its host once.",
  next: "Send one Host field.",
});

/** What is wrong with the form of a request, whatever it asks for; `undefined` when nothing is. */
export function faultOf({
  url = "",
  rawHeaders,
  httpVersion,
}: IncomingMessage): Problem | undefined {
  if (!URL.canParse(url, "http://localhost")) return NO_ADDRESS;
  if (rawHeaders.length > 2 * MAX_FIELDS) return TOO_MANY_FIELDS;
  const hosts = countHosts(rawHeaders);
  // RFC 9112 section 3.2; before HTTP/1.1 there was no such field.
  const isOne = hosts === 1 || (hosts === 0 && httpVersion === "1.0");
  return isOne ? undefined : NOT_ONE_HOST;
}

/** Names and values take turns in what came. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === "host") hosts += 1;
  }
  return hosts;
}
