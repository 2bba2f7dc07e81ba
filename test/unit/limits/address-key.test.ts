import { describe, expect, it } from "vitest";
import { ipAddressKey, networkKeysOf } from "../../../src/limits/address-key.ts";

describe("the key of an address", () => {
  it.each([
    ["is the address itself for an IPv4 address", "203.0.113.7", "203.0.113.7"],
    ["is the address itself for the next IPv4 address", "203.0.113.8", "203.0.113.8"],
    ["is the IPv4 address for its IPv4-mapped IPv6 form", "::ffff:203.0.113.7", "203.0.113.7"],
    [
      "is the IPv4 address for its IPv4-mapped form in hexadecimal",
      "::FFFF:cb00:7107",
      "203.0.113.7",
    ],
    [
      "is the IPv4 address for its IPv4-mapped form without abbreviation",
      "0:0:0:0:0:ffff:cb00:7107",
      "203.0.113.7",
    ],
    ["is the IPv4 address without its port", "203.0.113.7:4711", "203.0.113.7"],
    ["is the /56 network for an IPv6 address in brackets", "[2001:db8::1]", "2001:db8::/56"],
    [
      "is the /56 network for an IPv6 address with a port",
      "[2001:db8:1:2ff::6]:443",
      "2001:db8:1:200::/56",
    ],
    ["is the IPv4 address for its mapped form with a port", "[::ffff:cb00:7107]:1", "203.0.113.7"],
    ["is the IPv4 address that a translator made IPv6 of", "64:ff9b::203.0.113.7", "203.0.113.7"],
    ["is the IPv4 address of a 6to4 network", "2002:cb00:7107:1:2::3", "203.0.113.7"],
    ["is the /56 network for an IPv6 address", "2001:db8:1:2ff:3:4:5:6", "2001:db8:1:200::/56"],
    ["is the /56 network for the loopback address", "::1", "::/56"],
    ["is the /56 network, without the zone, for a link-local address", "fe80::1%eth0", "fe80::/56"],
  ])("%s", (_, ip, key) => {
    expect(ipAddressKey(ip)).toBe(key);
  });

  it("is the same for all addresses of a /56 in any notation, and different for the neighboring /56 networks", () => {
    const subscriber = [
      "2001:db8:0:100::1",
      "2001:DB8:0:1ff:ffff:ffff:ffff:ffff",
      "2001:db8::17f:0:0:0:9",
    ];
    expect(new Set(subscriber.map(ipAddressKey))).toEqual(new Set(["2001:db8:0:100::/56"]));
    expect(ipAddressKey("2001:db8:0:200::1")).not.toBe(ipAddressKey(subscriber[0]));
    expect(ipAddressKey("2001:db8:0:ff::1")).not.toBe(ipAddressKey(subscriber[0]));
  });

  it("is the same for every text that is not an address", () => {
    const garbage = [
      undefined,
      "",
      "unknown",
      "_hidden",
      "1.2.3.4, 5.6.7.8",
      "<script>",
      "::1::",
      "[]:1",
      "[::1",
      "1:2",
      "2001:db8::1:x",
    ];
    expect(new Set(garbage.map(ipAddressKey))).toEqual(new Set(["unknown"]));
  });
});

describe("the networks of an address", () => {
  it.each([
    ["203.0.113.7", "203.0.113.7", "203.0.113.0/24", undefined],
    ["::ffff:203.0.113.7", "203.0.113.7", "203.0.113.0/24", undefined],
    ["2001:db8:1:2ff::6", "2001:db8:1:200::/56", "2001:db8:1::/48", "2001:db8::/32"],
    ["203.0.113.7:4711", "203.0.113.7", "203.0.113.0/24", undefined],
    ["64:ff9b::203.0.113.7", "203.0.113.7", "203.0.113.0/24", undefined],
    ["2002:cb00:7107::1", "203.0.113.7", "203.0.113.0/24", undefined],
    ["[2001:db8:1:2ff::6]:443", "2001:db8:1:200::/56", "2001:db8:1::/48", "2001:db8::/32"],
    ["nothing", "unknown", "unknown", undefined],
  ])(
    "of %s have the keys %s (address), %s (network) and %s (provider)",
    (ip, address, network, provider) => {
      expect(networkKeysOf(ip)).toEqual({ address, network, provider });
    },
  );
});
