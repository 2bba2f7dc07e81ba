import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import { randomBase62, toBase62 } from "../../../../src/lib/base62.ts";
import {
  apiKeyHint,
  generateApiKey,
  isWellFormedApiKey,
} from "../../../../src/principals/keys/key-format.ts";

/** Decodes base 62 digit by digit. */
const fromBase62 = (text: string): number =>
  [...text].reduce(
    (sum, digit) =>
      sum * 62 + "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".indexOf(digit),
    0,
  );

describe("the text of an API key", () => {
  it("shows by its prefix whether it is for the live market", () => {
    expect(generateApiKey("live")).toMatch(/^msv_live_[0-9A-Za-z]{38}$/);
    for (const mode of ["sandbox", "files", "replay"] as const) {
      expect(generateApiKey(mode)).toMatch(/^msv_test_[0-9A-Za-z]{38}$/);
    }
  });

  it("ends with the CRC-32 of the preceding characters", () => {
    const key = generateApiKey("live");
    expect(fromBase62(key.slice(-6))).toBe(crc32(key.slice(0, -6)));
  });

  it("is invalid in the other kind of market (live or test)", () => {
    expect(isWellFormedApiKey(generateApiKey("live"), "live")).toBe(true);
    expect(isWellFormedApiKey(generateApiKey("live"), "sandbox")).toBe(false);
    expect(isWellFormedApiKey(generateApiKey("sandbox"), "live")).toBe(false);
    expect(isWellFormedApiKey(generateApiKey("sandbox"), "replay")).toBe(true);
  });

  it("is invalid when one character or the letter case is changed", () => {
    const key = generateApiKey("sandbox");
    for (let at = 9; at < key.length; at += 1) {
      const other = key[at] === "x" ? "y" : "x";
      expect(
        isWellFormedApiKey(key.slice(0, at) + other + key.slice(at + 1), "sandbox"),
        `${at}`,
      ).toBe(false);
    }
    expect(isWellFormedApiKey(key.toUpperCase(), "sandbox")).toBe(false);
  });

  it("is invalid when it is empty, has surrounding text, or uses another alphabet", () => {
    const key = generateApiKey("sandbox");
    for (const text of ["", key.slice(1), `${key}\n`, ` ${key}`, `${key}0`, "msv_test_"]) {
      expect(isWellFormedApiKey(text, "sandbox"), JSON.stringify(text)).toBe(false);
    }
    const start = `msv_test_${"é".repeat(32)}`;
    expect(isWellFormedApiKey(start + toBase62(crc32(start), 6), "sandbox")).toBe(false);
  });

  it("is displayed as its prefix and four more characters", () => {
    const key = generateApiKey("sandbox");
    expect(apiKeyHint(key)).toBe(key.slice(0, 13));
    expect(apiKeyHint(generateApiKey("live"))).toMatch(/^msv_live_\w{4}$/);
  });
});

describe("base-62 encoding", () => {
  it("puts the highest digit first, padded to the requested length", () => {
    expect(toBase62(0, 6)).toBe("000000");
    expect(toBase62(61, 2)).toBe("0z");
    expect(toBase62(62, 2)).toBe("10");
    expect(fromBase62(toBase62(0xffff_ffff, 6))).toBe(0xffff_ffff);
  });

  it("generates every character about equally often in random text", () => {
    const counts = new Map<string, number>();
    for (const digit of randomBase62(62_000)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
    expect(counts.size).toBe(62);
    // Chi-squared with 61 degrees of freedom exceeds 120 once in 100,000 runs. Taking bytes modulo 62
    // would give more than 3,000.
    const chiSquared = [...counts.values()].reduce((sum, n) => sum + (n - 1000) ** 2 / 1000, 0);
    expect(chiSquared).toBeLessThan(120);
  });
});
