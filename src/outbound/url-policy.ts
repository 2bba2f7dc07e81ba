import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** What of the internet may be asked. */
export interface UrlPolicy {
  /** Default: `https:` alone. */
  readonly schemes?: readonly ("https:" | "http:")[];
  /** Addresses that may be asked although they are not global. Default: none. */
  readonly isAllowed?: (address: string) => boolean;
  /** Names that may be asked although no public name is like them. Default: none. */
  readonly isAllowedName?: (name: string) => boolean;
}

/** Longest URL, in characters. */
const LONGEST_URL = 2048;

/** Ports below are those of systems: a stranger's web server has one of them or a free one. */
const WEB_PORTS: readonly number[] = [443, 80];
const FIRST_FREE_PORT = 1024;

/** Last labels that no public name has: RFC 6761, 6762, 7686, 8375, 9476; `internal` is reserved by
 *  ICANN for private use. */
const PRIVATE_NAMES = /(^|\.)(localhost|local|test|invalid|example|onion|home\.arpa|alt|internal)$/;

/**
 * Looks at a URL that a stranger named, before anything is asked. What a name stands for is not
 * known yet: that is checked when a connection is made.
 *
 * @returns What is wrong with it, for who named it; `undefined` when nothing is.
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

/** @param port Empty: that of the scheme. */
function isWebPort(port: string): boolean {
  return port === "" || WEB_PORTS.includes(Number(port)) || Number(port) >= FIRST_FREE_PORT;
}

function isPublicHost(hostname: string, policy: Omit<UrlPolicy, "schemes">): boolean {
  const host = hostname.replace(/^\[|\]$|\.+$/g, "");
  if (isIP(host) !== 0) return isReachable(host, policy);
  const isPrivate = !host.includes(".") || PRIVATE_NAMES.test(host);
  return !isPrivate || (policy.isAllowedName?.(host) ?? false);
}

/** Whether an address may be connected to. */
export function isReachable(address: string, { isAllowed }: Pick<UrlPolicy, "isAllowed">): boolean {
  return isGlobal(address) || (isAllowed?.(address) ?? false);
}

/** All of IPv6 that is given out for hosts (IANA, IPv6 Global Unicast Address Assignments). What
 *  lies outside is unassigned, or old ways to write an IPv4 address. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");

/** Looks public, but is Azure's platform inside every machine there. */
const AZURE_PLATFORM = "168.63.129.16";

/**
 * Whether an address belongs to some host of the internet: not to this machine, its network, its
 * cloud, to many hosts at once, or to a way of wrapping one address into another.
 *
 * @param address Without brackets; what is no address is not global.
 */
export function isGlobal(address: string): boolean {
  if (isIP(address) === 0 || address === AZURE_PLATFORM) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_IPV6);
}
