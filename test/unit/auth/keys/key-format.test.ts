import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import { generateKey, hintOf, isWellFormedKey } from "../../../../src/auth/keys/key-format.ts";
import { randomBase62, toBase62 } from "../../../../src/lib/base62.ts";

/** Reads base 62 the slow way. */
const fromBase62 = (text: string): number =>
  [...text].reduce(
    (sum, digit) =>
      sum * 62 + "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".indexOf(digit),
    0,
  );

describe("the text of a key", () => {
  it("states whether it is for the real market", () => {
    expect(generateKey("live")).toMatch(/^msv_live_[0-9A-Za-z]{38}$/);
    for (const mode of ["sandbox", "files", "replay"] as const) {
      expect(generateKey(mode)).toMatch(/^msv_test_[0-9A-Za-z]{38}$/);
    }
  });

  it("ends with the CRC-32 of the preceding characters", () => {
    const key = generateKey("live");
    expect(fromBase62(key.slice(-6))).toBe(crc32(key.slice(0, -6)));
  });

  it("is invalid in the other kind of market", () => {
    expect(isWellFormedKey(generateKey("live"), "live")).toBe(true);
    expect(isWellFormedKey(generateKey("live"), "sandbox")).toBe(false);
    expect(isWellFormedKey(generateKey("sandbox"), "live")).toBe(false);
    expect(isWellFormedKey(generateKey("sandbox"), "replay")).toBe(true);
  });

  it("is invalid when one character or its case is changed", () => {
    const key = generateKey("sandbox");
    for (let at = 9; at < key.length; at += 1) {
      const other = key[at] === "x" ? "y" : "x";
      expect(
        isWellFormedKey(key.slice(0, at) + other + key.slice(at + 1), "sandbox"),
        `${at}`,
      ).toBe(false);
    }
    expect(isWellFormedKey(key.toUpperCase(), "sandbox")).toBe(false);
  });

  it("is invalid with surrounding text, when it is empty, or in another alphabet", () => {
    const key = generateKey("sandbox");
    for (const text of ["", key.slice(1), `${key}\n`, ` ${key}`, `${key}0`, "msv_test_"]) {
      expect(isWellFormedKey(text, "sandbox"), JSON.stringify(text)).toBe(false);
    }
    const start = `msv_test_${"é".repeat(32)}`;
    expect(isWellFormedKey(start + toBase62(crc32(start), 6), "sandbox")).toBe(false);
  });

  it("is displayed as its prefix and four characters", () => {
    const key = generateKey("sandbox");
    expect(hintOf(key)).toBe(key.slice(0, 13));
    expect(hintOf(generateKey("live"))).toMatch(/^msv_live_\w{4}$/);
  });
});

describe("base 62", () => {
  it("writes the highest digit first, padded to the length", () => {
    expect(toBase62(0, 6)).toBe("000000");
    expect(toBase62(61, 2)).toBe("0z");
    expect(toBase62(62, 2)).toBe("10");
    expect(fromBase62(toBase62(0xffff_ffff, 6))).toBe(0xffff_ffff);
  });

  it("draws every character about equally often", () => {
    const counts = new Map<string, number>();
    for (const digit of randomBase62(62_000)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
    expect(counts.size).toBe(62);
    // Chi-squared with 61 degrees of freedom: over 120 once in 100,000 runs. Bytes taken modulo 62
    // would give more than 3,000.
    const chiSquared = [...counts.values()].reduce((sum, n) => sum + (n - 1000) ** 2 / 1000, 0);
    expect(chiSquared).toBeLessThan(120);
  });
});
