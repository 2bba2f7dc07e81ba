// @module-tag nightly
import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../../src/lib/day.ts";
import { readMarketFolder } from "../../../src/sources/files/market-folder.ts";
import { sharedFolder } from "../../support/shared.ts";
import {
  differences,
  marketOf,
  risksAt,
  scoredAt,
  withAnotherFuture,
  withoutFuture,
} from "./markets.ts";

const { path, isMissing } = sharedFolder("market", "look-ahead on real history");

/**
 * Number of instants at which every instrument is scored with and without later data. The default
 * of 2 covers more than 200 pairs, and 40 instants take some minutes.
 */
const INSTANTS = Number(process.env.LOOKAHEAD_INSTANTS ?? 2);
/**
 * Timeout in milliseconds for reading the market folder and scoring the market a few times on a
 * busy machine.
 */
const TIMEOUT_MS = 240_000;

/** Deterministic random numbers in [0, 1) (linear congruential generator). */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Instants from 2012 to 2024 at roughly equal distances, inside and outside sessions. */
const draw = chance(20_261_121);
const [FIRST, LAST] = [Date.UTC(2012, 0, 1), Date.UTC(2024, 11, 1)];
const instants = Array.from({ length: INSTANTS }, (_, index) =>
  Math.floor(FIRST + ((index + draw()) / INSTANTS) * (LAST - FIRST)),
);

describe.skipIf(isMissing)("scores on real history", { timeout: TIMEOUT_MS }, async () => {
  const folder = isMissing ? undefined : await readMarketFolder(path);
  const all = folder?.recordsUntil(Number.POSITIVE_INFINITY) ?? [];
  if (folder === undefined) return;

  const originOf = (at: number) => at - 8 * DAY_MS;
  let pairs = 0;

  it.each(instants)("do not depend on data after the Unix time %i ms", (at) => {
    const scored = (records: typeof all, later?: number) =>
      scoredAt(marketOf(folder, records, originOf(at)), at, later);
    const past = all.map((one) => withoutFuture(one, at));
    const known = scored(past);
    expect(differences(scored(all), known)).toEqual([]);
    const risks = risksAt(past, at);
    expect(differences(risksAt(all, at), risks)).toEqual([]);
    const restated = all.map((one) => withAnotherFuture(one, at, DAY_MS));
    expect(differences(scored(restated, at + 5 * DAY_MS), known)).toEqual([]);
    expect(differences(risksAt(restated, at), risks)).toEqual([]);
    pairs += known.newest.size;
  });

  it("are compared for more than 200 pairs of an instrument and an instant", () => {
    expect(pairs).toBeGreaterThan(200);
  });
});
