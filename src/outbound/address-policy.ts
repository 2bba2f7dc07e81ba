import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

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
