import { isIP } from "node:net";
import { type AddressPolicy, isReachable } from "./public-address.ts";

/** Which URLs may be requested. */
export interface UrlPolicy extends AddressPolicy {
  /** Default: `https:` only. */
  readonly schemes?: readonly ("https:" | "http:")[];
  /** Allows names that cannot be public. Default: none are allowed. */
  readonly isAllowedName?: (name: string) => boolean;
}

/** Maximum length of a URL, in characters. */
const MAX_URL_LENGTH = 2048;

/** Allowed ports below 1024. System ports are reserved for other protocols, so a web server uses
 *  80, 443 or an unreserved port. */
const WEB_PORTS: readonly number[] = [443, 80];
const FIRST_UNRESERVED_PORT = 1024;

/** Top-level domains that are never public: RFC 6761, 6762, 7686, 8375, 9476; ICANN reserves
 *  `internal` for private use. */
const PRIVATE_NAMES = /(^|\.)(localhost|local|test|invalid|example|onion|home\.arpa|alt|internal)$/;

/**
 * Checks a URL that a caller supplied, before any request. The addresses of its name are checked
 * later, when the connection is made.
 *
 * @returns The fault, for the caller; `undefined` if there is none.
 */
export function urlFault(
  text: string,
  { schemes = ["https:"], ...hosts }: UrlPolicy,
): string | undefined {
  if (text.length > MAX_URL_LENGTH) return `It has more than ${MAX_URL_LENGTH} characters.`;
  const url = URL.parse(text);
  if (url === null) return "It is not a URL.";
  if (!schemes.some((scheme) => scheme === url.protocol)) {
    return `It does not begin with ${schemes.map((scheme) => `${scheme}//`).join(" or ")}.`;
  }
  if (url.username !== "" || url.password !== "") return "It has credentials in it.";
  if (url.hash !== "") return "It has a fragment.";
  if (!isWebPort(url.port)) return `Its port is ${url.port}.`;
  return isPublicHost(url.hostname, hosts) ? undefined : "Its host is not public.";
}

/** Whether a port is one that web servers use. @param port Empty for the default port of the
 *  scheme. */
function isWebPort(port: string): boolean {
  return port === "" || WEB_PORTS.includes(Number(port)) || Number(port) >= FIRST_UNRESERVED_PORT;
}

function isPublicHost(hostname: string, policy: UrlPolicy): boolean {
  const host = hostname.replace(/^\[|\]$|\.+$/g, "");
  if (isIP(host) !== 0) return isReachable(host, policy);
  const isPrivate = !host.includes(".") || PRIVATE_NAMES.test(host);
  return !isPrivate || (policy.isAllowedName?.(host) ?? false);
}
