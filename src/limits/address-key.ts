import { isIPv4 } from "node:net";
import ipaddr, { type IPv4, type IPv6 } from "ipaddr.js";

/** Bits of an IPv6 address that say who is meant: providers give a home a /56 (RFC 6177), in which
 *  it can choose any address for each request. */
const HOME_BITS = 56;

/** Bits of what one party holds: a company is given a /48 of IPv6, and rents a /24 of IPv4. */
const SITE_BITS = { ipv6: 48, ipv4: 24 };

/** Bits of what a provider of IPv6 is given. */
const PROVIDER_BITS = 32;

/** What cannot be told apart is counted together, so that garbage is no way around a limit. */
const UNKNOWN = "unknown";

/** Keys of the networks that an address is in. */
export interface Networks {
  /** The IPv4 address itself, or the /56 of an IPv6 address. */
  readonly address: string;
  /** The /24 of an IPv4 address, or the /48 of an IPv6 address. */
  readonly site: string;
  /** The /32 of an IPv6 address; `undefined` for IPv4. */
  readonly provider: string | undefined;
}

/**
 * Under which key an address is counted: an IPv4 address by itself, also when it is mapped into
 * IPv6; an IPv6 address as its /56.
 *
 * @param ip As Express tells it; `undefined` when the connection is gone already.
 */
export function addressKey(ip: string | undefined): string {
  // Asked of every request, nearly always of plain IPv4.
  if (ip !== undefined && isIPv4(ip)) return ip;
  return networksOf(ip).address;
}

/** The networks that an address is in, so that nobody who holds many addresses is many callers.
 *  @param ip As Express tells it; `undefined` when the connection is gone already. */
export function networksOf(ip: string | undefined): Networks {
  if (ip === undefined || !ipaddr.isValid(ip)) {
    return { address: UNKNOWN, site: UNKNOWN, provider: undefined };
  }
  const address = ipaddr.process(ip);
  if (address.kind() === "ipv4") {
    const site = prefixOf(address, SITE_BITS.ipv4);
    return { address: address.toString(), site, provider: undefined };
  }
  return {
    address: prefixOf(address, HOME_BITS),
    site: prefixOf(address, SITE_BITS.ipv6),
    provider: prefixOf(address, PROVIDER_BITS),
  };
}

/** The widest network that an address is in, of those that are told apart: the /32 of an IPv6 address, the
 *  /24 of an IPv4 address. Who holds one has as many of the narrower ones as they want.
 *  @param ip As Express tells it; `undefined` when the connection is gone already. */
export function widestNetwork(ip: string | undefined): string {
  const { provider, site } = networksOf(ip);
  return provider ?? site;
}

function prefixOf(address: IPv4 | IPv6, bits: number): string {
  const bytes = address.toByteArray().map((byte, at) => (at < bits / 8 ? byte : 0));
  return `${ipaddr.fromByteArray(bytes)}/${bits}`;
}
