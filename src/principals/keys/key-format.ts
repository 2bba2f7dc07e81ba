import { crc32 } from "node:zlib";
import { randomBase62, toBase62 } from "../../lib/base62.ts";
import type { StoreMode } from "../../store/port/store.ts";

/** Length of the random part, in base62 characters; 190 bits. */
const SECRET_LENGTH = 32;

/** Length of the checksum, in base62 characters; 62^6 exceeds the 2^32 values of CRC-32. */
const CHECKSUM_LENGTH = 6;

/** Number of random characters in a hint, after the prefix. */
const HINT_LENGTH = 4;

/** Format of a key, which secret scanners also recognize. */
const KEY = /^(msv_(?:test|live)_)[0-9A-Za-z]{38}$/;

const prefixOf = (mode: StoreMode): string => (mode === "live" ? "msv_live_" : "msv_test_");

/**
 * Generates the text of a key: a prefix that says whether the key is for test or live mode, random
 * characters, and the CRC-32 of prefix and random characters (RFC 1952 section 8), by which a
 * scanner recognizes a key without a query.
 */
export function generateApiKey(mode: StoreMode): string {
  const start = prefixOf(mode) + randomBase62(SECRET_LENGTH);
  return start + checksumOf(start);
}

/** Whether a text is well-formed as a key of this mode. The key need not exist. */
export function isWellFormedApiKey(text: string, mode: StoreMode): boolean {
  const [, prefix] = KEY.exec(text) ?? [];
  const start = text.slice(0, -CHECKSUM_LENGTH);
  return prefix === prefixOf(mode) && text === start + checksumOf(start);
}

/** The part of a key by which people recognize it: its prefix and the first random characters. */
export function apiKeyHint(text: string): string {
  return text.slice(0, prefixOf("live").length + HINT_LENGTH);
}

function checksumOf(start: string): string {
  return toBase62(crc32(start), CHECKSUM_LENGTH);
}
