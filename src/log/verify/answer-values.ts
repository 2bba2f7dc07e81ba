/** Maximum difference between a figure in an answer and the recomputed one. */
const TOLERANCE = 1e-9;

/** Whether a value in an answer agrees with the recomputed one. */
export const isSameValue = (a: unknown, b: unknown): boolean =>
  typeof a === "number" && typeof b === "number" ? Math.abs(a - b) <= TOLERANCE : a === b;

/** Every value in an answer, except objects, with its path. */
export function valuesIn(value: unknown, path = ""): readonly (readonly [string, unknown])[] {
  if (typeof value !== "object" || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([name, member]) =>
    valuesIn(member, path === "" ? name : `${path}.${name}`),
  );
}
