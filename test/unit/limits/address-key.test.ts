import { describe, expect, it } from "vitest";
import { addressKey, networkKeysOf } from "../../../src/limits/address-key.ts";

describe("the key of an address", () => {
  it.each([
    ["an IPv4 address", "203.0.113.7", "203.0.113.7"],
    ["its neighbor", "203.0.113.8", "203.0.113.8"],
    ["the same mapped into IPv6", "::ffff:203.0.113.7", "203.0.113.7"],
    ["the same mapped, in hexadecimal", "::FFFF:cb00:7107", "203.0.113.7"],
    ["the same mapped, in full", "0:0:0:0:0:ffff:cb00:7107", "203.0.113.7"],
    ["an IPv6 address", "2001:db8:1:2ff:3:4:5:6", "2001:db8:1:200::/56"],
    ["loopback", "::1", "::/56"],
    ["a link-local address with its zone", "fe80::1%eth0", "fe80::/56"],
  ])("%s", (_, ip, key) => {
    expect(addressKey(ip)).toBe(key);
  });

  it("is the same for a whole /56 in any notation, and different for the next", () => {
    const site = [
      "2001:db8:0:100::1",
      "2001:DB8:0:1ff:ffff:ffff:ffff:ffff",
      "2001:db8::17f:0:0:0:9",
    ];
    expect(new Set(site.map(addressKey))).toEqual(new Set(["2001:db8:0:100::/56"]));
    expect(addressKey("2001:db8:0:200::1")).not.toBe(addressKey(site[0]));
    expect(addressKey("2001:db8:0:ff::1")).not.toBe(addressKey(site[0]));
  });

  it("is the same for every text that is not an address", () => {
    const garbage = [undefined, "", "unknown", "_hidden", "1.2.3.4, 5.6.7.8", "<script>", "::1::"];
    expect(new Set(garbage.map(addressKey))).toEqual(new Set(["unknown"]));
  });
});

describe("the networks of an address", () => {
  it.each([
    ["203.0.113.7", "203.0.113.7", "203.0.113.0/24", undefined],
    ["::ffff:203.0.113.7", "203.0.113.7", "203.0.113.0/24", undefined],
    ["2001:db8:1:2ff::6", "2001:db8:1:200::/56", "2001:db8:1::/48", "2001:db8::/32"],
    ["nothing", "unknown", "unknown", undefined],
  ])("%s", (ip, address, site, provider) => {
    expect(networkKeysOf(ip)).toEqual({ address, site, provider });
  });
});
