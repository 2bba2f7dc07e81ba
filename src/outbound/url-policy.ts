import { isIP } from "node:net";
import { type AddressPolicy, isConnectionAllowed } from "./public-address.ts";

/** Decides which URLs may be requested. */
export interface UrlPolicy extends AddressPolicy {
  /** Allowed schemes. Default: `https:` only. */
  readonly schemes?: readonly ("https:" | "http:")[];
  /**
   * Whether a host name that cannot be public is allowed nevertheless. Default: no such name is
   * allowed.
   */
  readonly isAllowedName?: (name: string) => boolean;
}

/** Maximum length of a URL, in characters, as it is written and as it is sent. */
const MAX_URL_LENGTH = 2048;

/**
 * The allowed ports below 1024. Ports below 1024 are reserved for system services, so a web server
 * uses 80, 443 or a higher port.
 */
const WEB_PORTS: readonly number[] = [443, 80];
const FIRST_UNRESERVED_PORT = 1024;

/**
 * Domains that are never public: those of RFC 6761, 6762, 7686, 8375 and 9476, and `internal`,
 * which ICANN reserves for private use.
 */
const PRIVATE_NAMES = /(^|\.)(localhost|local|test|invalid|example|onion|home\.arpa|alt|internal)$/;

/**
 * Checks a URL that a caller supplied, before any request is made. The IP addresses of its host are
 * checked later, when the connection is made.
 *
 * @returns What is wrong with the URL, in words for the caller; `undefined` if it is allowed.
 */
export function urlFault(
  text: string,
  { schemes = ["https:"], ...hosts }: UrlPolicy,
): string | undefined {
  if (text.length > MAX_URL_LENGTH) return `It has more than ${MAX_URL_LENGTH} characters.`;
  const url = URL.parse(text);
  if (url === null) return "It is not a URL.";
  if (url.href.length > MAX_URL_LENGTH)
    return `It has more than ${MAX_URL_LENGTH} characters when it is encoded.`;
  if (!schemes.some((scheme) => scheme === url.protocol)) {
    return `It does not begin with ${schemes.map((scheme) => `${scheme}//`).join(" or ")}.`;
  }
  if (url.username !== "" || url.password !== "") return "It has credentials in it.";
  if (url.hash !== "") return "It has a fragment.";
  if (!isWebPort(url.port)) return `Its port is ${url.port}.`;
  return isPublicHost(url.hostname, hosts) ? undefined : "Its host is not public.";
}

/** Whether web servers use a port. @param port Empty for the default port of the scheme. */
function isWebPort(port: string): boolean {
  return port === "" || WEB_PORTS.includes(Number(port)) || Number(port) >= FIRST_UNRESERVED_PORT;
}

/**
 * The host of a URL as limits count it: without its port, and without dots at its end, which lead
 * to the same host (RFC 1034 section 3.1).
 *
 * @param url A URL that `urlFault` allows.
 */
export const countedHost = (url: string): string => withoutEndDots(new URL(url).hostname);

const withoutEndDots = (hostname: string): string => hostname.replace(/\.+$/, "");

function isPublicHost(hostname: string, policy: UrlPolicy): boolean {
  const host = withoutEndDots(hostname).replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0) return isConnectionAllowed(host, policy);
  const isPrivate = !host.includes(".") || PRIVATE_NAMES.test(host);
  return !isPrivate || (policy.isAllowedName?.(host) ?? false);
}
