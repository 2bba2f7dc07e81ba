import { createHash } from "node:crypto";

/** A number in [0, 1) that is always the same for the same words. */
export const drawnNumber = (...words: readonly string[]): number =>
  createHash("sha256").update(words.join(" ")).digest().readUInt32BE() / 2 ** 32;
