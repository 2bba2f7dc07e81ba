import { isIPv4 } from "node:net";
import ipaddr from "ipaddr.js";

/** Bytes of an IPv6 address that say who is meant: providers give a site a /56 (RFC 6177), in
 *  which it can choose any address for each request. */
const SITE_BYTES = 7;

/** What cannot be told apart is counted together, so that garbage is no way around a limit. */
const UNKNOWN = "unknown";

/**
 * Under which key an address is counted: an IPv4 address by itself, also when it is mapped into
 * IPv6; an IPv6 address as its /56.
 *
 * @param ip As Express tells it; `undefined` when the connection is gone already.
 */
export function addressKey(ip: string | undefined): string {
  if (ip === undefined) return UNKNOWN;
  if (isIPv4(ip)) return ip;
  if (!ipaddr.isValid(ip)) return UNKNOWN;
  const address = ipaddr.process(ip);
  if (address.kind() === "ipv4") return address.toString();
  const bytes = address.toByteArray().map((byte, at) => (at < SITE_BYTES ? byte : 0));
  return `${ipaddr.fromByteArray(bytes)}/${8 * SITE_BYTES}`;
}
