import { describe, expect, it } from "vitest";
import { isGlobal } from "../../../src/outbound/public-address.ts";
import { privateAddresses } from "./hosts.ts";

describe("an IP address", () => {
  it.each(privateAddresses)("is not global if it is private or reserved: %j", (address) => {
    expect(isGlobal(address)).toBe(false);
  });

  it.each([
    "1.1.1.1",
    "8.8.8.8",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001::200e",
    "2001:4860:4860::8888",
  ])("is global if it belongs to the public internet: %s", (address) => {
    expect(isGlobal(address)).toBe(true);
  });
});
