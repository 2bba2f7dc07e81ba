import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { normalCdf, normalQuantile } from "../../../src/statistics/normal.ts";

/** Pairs of argument and value, computed with `@stdlib/stats-base-dists-normal-*` 0.3.1. */
interface Reference {
  readonly cdf: readonly (readonly [number, number])[];
  readonly quantile: readonly (readonly [number, number])[];
}

const reference = JSON.parse(
  readFileSync(new URL("../../fixtures/normal.json", import.meta.url), "utf8"),
) as Reference;

describe("the normal distribution", () => {
  it("gives every bit of the reference in each of its pieces, since signed figures rest on it", () => {
    expect(reference.cdf.map(([z]) => [z, normalCdf(z)])).toEqual(reference.cdf);
    expect(reference.quantile.map(([p]) => [p, normalQuantile(p)])).toEqual(reference.quantile);
  });

  it("is a pair of inverses", () => {
    for (let p = 0.001; p < 1; p += 0.001) expect(normalCdf(normalQuantile(p))).toBeCloseTo(p, 14);
  });
});
