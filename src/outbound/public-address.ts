import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** Which IP addresses may be connected to. */
export interface AddressPolicy {
  /** Allows addresses that are not global. Default: none are allowed. */
  readonly isAllowed?: (address: string) => boolean;
}

/** Whether an address may be connected to. */
export function isReachable(address: string, { isAllowed }: AddressPolicy): boolean {
  return isGlobal(address) || (isAllowed?.(address) ?? false);
}

/** All IPv6 addresses assigned to hosts (IANA, IPv6 Global Unicast Address Assignments). Others are
 *  unassigned or embed IPv4 addresses. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");

/** The address of the platform service (WireServer) on Azure virtual machines, which is in a public
 *  range. */
const AZURE_PLATFORM = "168.63.129.16";

/**
 * Whether an address is that of one public host: not loopback, private, link-local, cloud metadata,
 * multicast, or one that embeds another address.
 *
 * @param address Without brackets.
 * @returns `false` for anything that is not an IP address.
 */
export function isGlobal(address: string): boolean {
  if (isIP(address) === 0 || address === AZURE_PLATFORM) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_IPV6);
}
