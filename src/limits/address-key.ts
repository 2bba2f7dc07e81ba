import { isIPv4 } from "node:net";
import ipaddr, { type IPv4, type IPv6 } from "ipaddr.js";
import type { Party } from "./limits.ts";

/**
 * Prefix length that identifies an IPv6 subscriber: providers assign a /56 to a home (RFC 6177),
 * and the home can use any address in it for each request.
 */
const SUBSCRIBER_BITS = 56;

/**
 * Prefix lengths that identify the network of an organization: a company is assigned a /48 of IPv6,
 * and can rent a /24 of IPv4.
 */
const NETWORK_BITS = { ipv6: 48, ipv4: 24 };

/** Prefix length that identifies an IPv6 provider. */
const PROVIDER_BITS = 32;

/**
 * Matches an IPv4 address with a port, and an IPv6 address in brackets with or without one, as some
 * load balancers write them in `X-Forwarded-For`.
 */
const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+):\d+|\[([^\]]+)\](?::\d+)?)$/;

/**
 * Positions, in bytes, of the IPv4 addresses in IPv6 addresses that stand for them, by kind: those
 * that a translator makes (64:ff9b::/96, RFC 6052), and those of 6to4 (2002::/16, RFC 3056), which
 * every holder of an IPv4 address has.
 */
const EMBEDDED_AT: Readonly<Record<string, number>> = { rfc6052: 12, "6to4": 2 };

/** Key of all malformed addresses, so that they do not bypass limits. */
const UNKNOWN = "unknown";

/** Keys of the networks that contain an address. */
interface NetworkKeys {
  /** The IPv4 address itself, or the /56 of an IPv6 address. */
  readonly address: string;
  /** The /24 of an IPv4 address, or the /48 of an IPv6 address. */
  readonly network: string;
  /** The /32 of an IPv6 address; `undefined` for IPv4. */
  readonly provider: string | undefined;
}

/**
 * The key under which requests from an address are counted: an IPv4 address itself, even if it is
 * written as an IPv6 address; the /56 of an IPv6 address. A port beside it does not count.
 *
 * @param ip As Express reports it; `undefined` after the connection has closed.
 */
export function ipAddressKey(ip: string | undefined): string {
  return plainIPv4(ip) ?? networkKeysOf(ip).address;
}

/**
 * The IPv4 address in one of the two spellings in which a server reports it: as it is, or mapped to
 * IPv6 where the server listens on both. Requests ask several times; parsing takes 5 µs.
 */
function plainIPv4(ip = ""): string | undefined {
  const plain = ip.startsWith("::ffff:") ? ip.slice("::ffff:".length) : ip;
  return isIPv4(plain) ? plain : undefined;
}

/**
 * The networks that contain an address. Counting per network prevents a holder of many addresses
 * from counting as many callers.
 *
 * @param ip As Express reports it; `undefined` after the connection has closed.
 */
export function networkKeysOf(ip: string | undefined): NetworkKeys {
  const address = ip === undefined ? undefined : parseAddress(ip);
  if (address === undefined) return { address: UNKNOWN, network: UNKNOWN, provider: undefined };
  if (address instanceof ipaddr.IPv4) {
    const network = prefixOf(address, NETWORK_BITS.ipv4);
    return { address: address.toString(), network, provider: undefined };
  }
  return {
    address: prefixOf(address, SUBSCRIBER_BITS),
    network: prefixOf(address, NETWORK_BITS.ipv6),
    provider: prefixOf(address, PROVIDER_BITS),
  };
}

/** Parses an address; one that stands for an IPv4 address becomes that address. */
function parseAddress(ip: string): IPv4 | IPv6 | undefined {
  const [, ipv4, ipv6] = WITH_PORT.exec(ip) ?? [];
  const bare = ipv4 ?? ipv6 ?? ip;
  if (!ipaddr.isValid(bare)) return undefined;
  const address = ipaddr.process(bare);
  const at = EMBEDDED_AT[address.range()];
  return at === undefined ? address : new ipaddr.IPv4(address.toByteArray().slice(at, at + 4));
}

/**
 * The network of an address, which is what the holder of many addresses usually has: the /24 of
 * IPv4, the /48 of IPv6.
 *
 * @param ip As Express reports it; `undefined` after the connection has closed.
 */
export function networkOf(ip: string | undefined): string {
  const plain = plainIPv4(ip);
  if (plain === undefined) return networkKeysOf(ip).network;
  return `${plain.slice(0, plain.lastIndexOf("."))}.0/24`;
}

/**
 * The party that the limits count for a request.
 *
 * @param ip As Express reports it; `undefined` after the connection has closed.
 * @param caller Key of the caller; default: its address.
 */
export const partyAt = (ip: string | undefined, caller: string = ipAddressKey(ip)): Party => ({
  caller,
  network: networkOf(ip),
});

function prefixOf(address: IPv4 | IPv6, bits: number): string {
  const bytes = address.toByteArray().map((byte, at) => (at < bits / 8 ? byte : 0));
  return `${ipaddr.fromByteArray(bytes)}/${bits}`;
}
