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
  const codes = codesOf(groups);
  const basis: Float64Array[] = [];
  for (const column of columns) {
    const deviations = withoutGroupMeans(column, codes);
    const fresh = basis.reduce(withoutPartAlong, deviations);
    if (squared(fresh) > REDUNDANT * squared(deviations)) basis.push(fresh);
  }
  return [...basis.reduce(withoutPartAlong, withoutGroupMeans(values, codes))];
}

/** Numbers the groups from 0 on, in the order in which they appear. */
function codesOf(groups: readonly string[]): Int32Array {
  const codes = new Map<string, number>();
  return Int32Array.from(groups, (group) => {
    const code = codes.get(group) ?? codes.size;
    codes.set(group, code);
    return code;
  });
}

function withoutGroupMeans(values: readonly number[], codes: Int32Array): Float64Array {
  const sums = new Float64Array(codes.length);
  const counts = new Float64Array(codes.length);
  for (const [row, code] of codes.entries()) {
    (sums[code] as number) += values[row] as number;
    (counts[code] as number) += 1;
  }
  return Float64Array.from(values, (value, row) => {
    const code = codes[row] as number;
    return value - (sums[code] as number) / (counts[code] as number);
  });
}

/** The component of the values that is orthogonal to a nonzero direction. */
function withoutPartAlong(values: Float64Array, direction: Float64Array): Float64Array {
  const share = product(values, direction) / squared(direction);
  return values.map((value, row) => value - share * (direction[row] as number));
}

function product(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let row = 0; row < a.length; row++) sum += (a[row] as number) * (b[row] as number);
  return sum;
}

const squared = (values: Float64Array): number => product(values, values);
