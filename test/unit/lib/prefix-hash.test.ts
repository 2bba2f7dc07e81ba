import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { PrefixHash } from "../../../src/lib/prefix-hash.ts";

const numberBytes = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes;
};

function textBytes(value: string): Buffer {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

const LONG = "é€".repeat(40_000);
const ELEMENTS: readonly (number | string)[] = [
  ...[0, -1.5, Number.NaN, Number.POSITIVE_INFINITY, 1e300],
  ...[
    "",
    "2014-06-09",
    "ü",
    "a text of more than thirty-two characters, in ASCII",
    "🚀",
    LONG,
    "x",
  ],
];

it("a prefix hash is the SHA-256 of the bytes of all elements so far, even when they exceed its buffer", () => {
  const hash = new PrefixHash();
  const written: Buffer[] = [];
  // The internal buffer fills up at different elements in different rounds.
  for (let round = 0; round < 400; round++) {
    for (const element of ELEMENTS) {
      if (element === LONG && round % 50 !== 0) continue;
      if (typeof element === "number") hash.number(element);
      else hash.text(element);
      written.push(typeof element === "number" ? numberBytes(element) : textBytes(element));
    }
    if (round % 40 !== 0) continue;
    const expected = createHash("sha256").update(Buffer.concat(written)).digest("hex");
    expect(hash.digest()).toBe(expected);
  }
});

it("a prefix hash treats all NaN values as equal", () => {
  const digests = [Number.NaN, -Number.NaN, 0 / 0, Number("x")].map((value) => {
    const hash = new PrefixHash();
    hash.number(value);
    return hash.digest();
  });
  expect(new Set(digests).size).toBe(1);
});
