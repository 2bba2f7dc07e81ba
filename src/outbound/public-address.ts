import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** Decides which IP addresses may be connected to. */
export interface AddressPolicy {
  /**
   * Exceptions: whether an address that is not globally reachable may be connected to. Default:
   * none may.
   */
  readonly isAllowed?: (address: string) => boolean;
}

/** Whether the policy allows connecting to an address. */
export function isConnectionAllowed(address: string, { isAllowed }: AddressPolicy): boolean {
  return isGlobal(address) || (isAllowed?.(address) ?? false);
}

/**
 * The IPv6 range from which all host addresses are assigned (IANA, IPv6 Global Unicast Address
 * Assignments). Addresses outside it are unassigned or embed IPv4 addresses.
 */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * The address of Azure's platform service for virtual machines (WireServer), which lies in a public
 * range.
 */
const AZURE_PLATFORM = "168.63.129.16";

/**
 * Whether an address belongs to a single public host. This excludes loopback, private, link-local,
 * cloud metadata and multicast addresses, and addresses that embed another address.
 *
 * @param address IP address without brackets.
 * @returns `false` for any text that is not an IP address.
 */
export function isGlobal(address: string): boolean {
  if (isIP(address) === 0 || address === AZURE_PLATFORM) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_IPV6);
}
