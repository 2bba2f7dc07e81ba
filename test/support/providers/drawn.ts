import { hash } from "node:crypto";

/** A number in [0, 1) that is always the same for the same words. */
export const drawnNumber = (...words: readonly string[]): number =>
  Number.parseInt(hash("sha256", words.join(" ")).slice(0, 8), 16) / 2 ** 32;
