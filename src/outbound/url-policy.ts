import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** Which hosts may be requested. */
export interface UrlPolicy {
  /** Default: `https:` alone. */
  readonly schemes?: readonly ("https:" | "http:")[];
  /** Allows addresses that are not global. Default: none. */
  readonly isAllowed?: (address: string) => boolean;
  /** Allows names that cannot be public. Default: none. */
  readonly isAllowedName?: (name: string) => boolean;
}

/** Longest URL, in characters. */
const LONGEST_URL = 2048;

/** System ports are reserved for other protocols: a web server uses 80, 443 or an unreserved port. */
const WEB_PORTS: readonly number[] = [443, 80];
const FIRST_UNRESERVED_PORT = 1024;

/** Top-level domains that are never public: RFC 6761, 6762, 7686, 8375, 9476; ICANN reserves
 *  `internal` for private use. */
const PRIVATE_NAMES = /(^|\.)(localhost|local|test|invalid|example|onion|home\.arpa|alt|internal)$/;

/**
 * Checks a URL that a caller supplied, before any request. The addresses of its name are checked
 * later, when the connection is made.
 *
 * @returns What is wrong, for the caller; `undefined` when nothing is.
 */
export function urlFault(
  text: string,
  { schemes = ["https:"], ...hosts }: UrlPolicy,
): string | undefined {
  if (text.length > LONGEST_URL) return `It has more than ${LONGEST_URL} characters.`;
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

/** @param port Empty: the default port of the scheme. */
function isWebPort(port: string): boolean {
  return port === "" || WEB_PORTS.includes(Number(port)) || Number(port) >= FIRST_UNRESERVED_PORT;
}

function isPublicHost(hostname: string, policy: UrlPolicy): boolean {
  const host = hostname.replace(/^\[|\]$|\.+$/g, "");
  if (isIP(host) !== 0) return isReachable(host, policy);
  const isPrivate = !host.includes(".") || PRIVATE_NAMES.test(host);
  return !isPrivate || (policy.isAllowedName?.(host) ?? false);
}

/** Whether an address may be connected to. */
export function isReachable(address: string, { isAllowed }: UrlPolicy): boolean {
  return isGlobal(address) || (isAllowed?.(address) ?? false);
}

/** All IPv6 addresses assigned to hosts (IANA, IPv6 Global Unicast Address Assignments). The rest is
 *  unassigned or embeds IPv4 addresses. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");

/** A public address that is the platform service (WireServer) on Azure virtual machines. */
const AZURE_PLATFORM = "168.63.129.16";

/**
 * Whether an address is that of one public host: not loopback, private, link-local, cloud metadata,
 * multicast, or one that embeds another address.
 *
 * @param address Without brackets; false for anything that is not an IP address.
 */
export function isGlobal(address: string): boolean {
  if (isIP(address) === 0 || address === AZURE_PLATFORM) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_IPV6);
}
