import { timingSafeEqual } from "node:crypto";

/** Compares texts without telling by the time it takes where they differ. */
export function isSameText(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
