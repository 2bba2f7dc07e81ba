/** Lets so much through in each second and no more. */
export interface Ration {
  /** @param nowMs By a clock that is never set. @returns How many were held back before this one;
   *  `undefined` when this one is held back too. */
  take(nowMs: number): number | undefined;
}

/** A second, in milliseconds. */
const WINDOW_MS = 1_000;

/** Creates a ration of so many in a second. */
export function createRation(most: number): Ration {
  let endsAt = Number.NEGATIVE_INFINITY;
  let taken = 0;
  let heldBack = 0;
  return {
    take(nowMs) {
      if (nowMs >= endsAt) {
        endsAt = nowMs + WINDOW_MS;
        taken = 0;
      }
      if (taken === most) {
        heldBack += 1;
        return undefined;
      }
      taken += 1;
      const before = heldBack;
      heldBack = 0;
      return before;
    },
  };
}
