import { crc32 } from "node:zlib";
import { randomBase62, toBase62 } from "../../lib/base62.ts";
import type { StoreMode } from "../../store/port/store.ts";

/** Length of the random part; 190 bits. */
const SECRET_LENGTH = 32;

/** Length of the checksum; 62^6 exceeds the 2^32 values of CRC-32. */
const CHECKSUM_LENGTH = 6;

/** Number of random characters in a hint. */
const HINT_LENGTH = 4;

/** Format of a key, which secret scanners also recognize. */
const KEY = /^(msv_(?:test|live)_)[0-9A-Za-z]{38}$/;

const prefixOf = (mode: StoreMode): string => (mode === "live" ? "msv_live_" : "msv_test_");

/** Generates the text of a key: a prefix that says whether it is for the real market, random
 *  characters, and the CRC-32 of both (RFC 1952 section 8), by which a scanner recognizes a key
 *  without a query. */
export function generateKey(mode: StoreMode): string {
  const start = prefixOf(mode) + randomBase62(SECRET_LENGTH);
  return start + checksumOf(start);
}

/** Whether a text is well-formed as a key of this mode. It need not exist. */
export function isWellFormedKey(text: string, mode: StoreMode): boolean {
  const [, prefix] = KEY.exec(text) ?? [];
  const start = text.slice(0, -CHECKSUM_LENGTH);
  return prefix === prefixOf(mode) && text === start + checksumOf(start);
}

/** The part of a key by which people recognize it: its prefix and a few characters. */
export function hintOf(text: string): string {
  return text.slice(0, prefixOf("live").length + HINT_LENGTH);
}

function checksumOf(start: string): string {
  return toBase62(crc32(start), CHECKSUM_LENGTH);
}
