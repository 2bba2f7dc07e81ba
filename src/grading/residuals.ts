import { mean } from "../factors/statistics.ts";

/**
 * Minimum fraction of a column's variation that must remain after projection on the earlier
 * columns; with less, the column counts as collinear.
 */
const REDUNDANT = 1e-9;

/**
 * Residuals of a linear regression on columns with a fixed effect per group: least squares on
 * deviations from the group means (Frisch & Waugh, 1933), with columns orthogonalized by
 * Gram-Schmidt. Collinear and constant columns are ignored.
 *
 * @param values, groups One element per row; a row that is alone in its group has residual 0.
 * @param columns Each has one element per row.
 * @returns One residual per row.
 */
export function residualize(
  values: readonly number[],
  columns: readonly (readonly number[])[],
  groups: readonly string[],
): readonly number[] {
  const basis: (readonly number[])[] = [];
  for (const column of columns) {
    const deviations = withoutGroupMeans(column, groups);
    const fresh = basis.reduce(withoutPartAlong, deviations);
    if (squared(fresh) > REDUNDANT * squared(deviations)) basis.push(fresh);
  }
  return basis.reduce(withoutPartAlong, withoutGroupMeans(values, groups));
}

function withoutGroupMeans(
  values: readonly number[],
  groups: readonly string[],
): readonly number[] {
  const rows = Map.groupBy(values.keys(), (row) => groups[row] as string);
  const means = new Map(
    [...rows].map(([group, members]) => [group, mean(members.map((row) => values[row] as number))]),
  );
  return values.map((value, row) => value - (means.get(groups[row] as string) as number));
}

/** The component of the values that is orthogonal to a nonzero direction. */
function withoutPartAlong(
  values: readonly number[],
  direction: readonly number[],
): readonly number[] {
  const share = product(values, direction) / squared(direction);
  return values.map((value, row) => value - share * (direction[row] as number));
}

const product = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, row) => sum + value * (b[row] as number), 0);

const squared = (values: readonly number[]): number => product(values, values);
