import { describe, expect, it } from "vitest";
import { methodAnswer } from "../../../src/answers/method.ts";
import { METHOD_VERSION } from "../../../src/score/snapshot.ts";
import { readMarketFolder } from "../../../src/sources/files/market-folder.ts";
import { getFactors } from "../../../tools/get-factors.ts";
import { sharedFolder } from "../../support/shared.ts";
import { marketOf, scoredAt, toolContextAt, withAnotherFuture, withoutFuture } from "./markets.ts";
import { type FactorsAnswer, type MethodAnswer, recompute } from "./third-party.ts";

const { path, isMissing } = sharedFolder("market", "look-ahead and recomputation on real history");

/** Reading the folder and walking it several times is long on a busy machine. */
const TIMEOUT_MS = 240_000;
const DAY_MS = 86_400_000;
/** Pairs of an instrument and an instant. */
const PAIRS = 200;

/** Deterministic chance in [0, 1): a linear congruential generator. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Instants from 2012 on, most of them within a session, with feeds of every kind before them. */
const draw = chance(20_261_121);
const instants = Array.from(
  { length: 4 },
  (_, index) => Date.UTC(2012 + 3 * index, 0, 1) + Math.floor(draw() * 700 * DAY_MS),
);

describe.skipIf(isMissing)("real history", { timeout: TIMEOUT_MS }, async () => {
  const folder = isMissing ? undefined : await readMarketFolder(path);
  const all = folder?.recordsUntil(Number.POSITIVE_INFINITY) ?? [];
  if (folder === undefined) return;

  /** The same instruments in every variant; the peers of the chosen ones are all there. */
  const originOf = (at: number) => at - 8 * DAY_MS;

  it.each(instants)("gives the scores of %i whatever came after", (at) => {
    const scored = (records: typeof all) => scoredAt(marketOf(folder, records, originOf(at)), at);
    const known = scored(all.map((one) => withoutFuture(one, at)));
    const full = scored(all);
    const restated = scored(all.map((one) => withAnotherFuture(one, at)));
    const symbols = [...known.keys()];
    const chosen = Array.from(
      { length: PAIRS / instants.length },
      () => symbols[Math.floor(draw() * symbols.length)] as string,
    );
    for (const symbol of chosen) {
      expect(full.get(symbol), symbol).toBe(known.get(symbol));
      expect(restated.get(symbol), symbol).toBe(known.get(symbol));
    }
    expect(full.size).toBe(known.size);
  });

  it("lets a stranger work out the scores of more than 100 instruments, exactly", () => {
    const at = Date.UTC(2015, 5, 30, 21);
    const { context, tables } = toolContextAt(marketOf(folder, all, originOf(at)), at);
    const method = JSON.parse(
      JSON.stringify(methodAnswer(METHOD_VERSION, {}, tables())),
    ) as MethodAnswer;
    const instruments = context.market.instruments();
    expect(instruments.length).toBeGreaterThan(100);
    for (const { symbol } of instruments) {
      const answer = getFactors.output.parse(getFactors.run({ symbol }, context));
      const wire = JSON.parse(JSON.stringify(answer)) as FactorsAnswer;
      const { score } = recompute(wire, method);
      expect(Math.round(score), symbol).toBe(wire.score);
      expect(Math.abs(score - wire.scoreRaw), symbol).toBeLessThanOrEqual(0.01);
    }
  });
});
