import { randomInt } from "node:crypto";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Random letters and digits, about 5.95 bits each, all equally likely. */
export function randomBase62(length: number): string {
  return Array.from({ length }, () => DIGITS[randomInt(DIGITS.length)]).join("");
}

/**
 * A non-negative integer in base 62, the most significant digit first, padded with zeros to
 * `length`.
 */
export function toBase62(number: number, length: number): string {
  const digits: string[] = [];
  for (let rest = number; rest > 0; rest = Math.floor(rest / DIGITS.length)) {
    digits.unshift(DIGITS[rest % DIGITS.length] as string);
  }
  return digits.join("").padStart(length, "0");
}
