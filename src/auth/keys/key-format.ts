import { crc32 } from "node:zlib";
import { randomBase62, toBase62 } from "../../lib/base62.ts";
import type { StoreMode } from "../../store/port/store.ts";

/** Random characters of a key: 190 bits. */
const SECRET_LENGTH = 32;

/** 62^6 is more than the 2^32 values of CRC-32. */
const CHECKSUM_LENGTH = 6;

/** Random characters that a hint shows, of `SECRET_LENGTH`. */
const HINT_LENGTH = 4;

/** What a key looks like, for secret scanners as well. */
const KEY = /^(msv_(?:test|live)_)[0-9A-Za-z]{38}$/;

const prefixOf = (mode: StoreMode): string => (mode === "live" ? "msv_live_" : "msv_test_");

/**
 * Makes the text of a key: a prefix that says whether it is good for the real market, random
 * characters, and the CRC-32 of all that (RFC 1952 section 8), so that a scanner that finds one can
 * tell it from an accident without asking.
 */
export function newKeyText(mode: StoreMode): string {
  const start = prefixOf(mode) + randomBase62(SECRET_LENGTH);
  return start + checksumOf(start);
}

/** Whether a text can be a key of a store of this mode; most that cannot need no look into it. */
export function isKeyText(text: string, mode: StoreMode): boolean {
  const [, prefix] = KEY.exec(text) ?? [];
  const start = text.slice(0, -CHECKSUM_LENGTH);
  return prefix === prefixOf(mode) && text === start + checksumOf(start);
}

/** What a key may be recognized by: the prefix and a few characters. */
export function hintOf(text: string): string {
  return text.slice(0, prefixOf("live").length + HINT_LENGTH);
}

function checksumOf(start: string): string {
  return toBase62(crc32(start), CHECKSUM_LENGTH);
}
