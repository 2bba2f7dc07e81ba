import { randomInt } from "node:crypto";

/**
 * Length of a one-time code, in decimal digits. With `MAX_CODE_TRIES` tries, one code in 20 million
 * is guessed.
 */
const DIGITS = 8;

/** Number of wrong attempts after which a one-time code is invalid. */
export const MAX_CODE_TRIES = 5;

/** A random code that is sent to a mailbox or chat, to prove that a person reads it. */
export function newOneTimeCode(): string {
  return String(randomInt(10 ** DIGITS)).padStart(DIGITS, "0");
}

/** The code in what a person typed, without the spaces and hyphens that are copied with it. */
export const typedCode = (typed: string): string => typed.replace(/[\s-]/g, "");
