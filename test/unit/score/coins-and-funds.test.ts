import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { closeOf, DAYS, METHOD_MARKET, SCORED_FROM } from "../../../src/method/invented-market.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import type { Snapshot } from "../../../src/score/snapshot.ts";

/** Digest of the snapshots of coins and funds that method 1.1.0 made of the invented market. */
const EARLIER = {
  snapshots: 847,
  sha256: "b5337ad430aa2f3911ab4fe2b523e86e77f29d69fb7565dc57e9edb0b3b01a69",
};

/** Hours after every tenth close at which interim scores are compared, too. */
const INTERIM_HOURS = [1.5, 9, 19];

/** Everything that a snapshot says, in a fixed order. */
function lineOf(snapshot: Snapshot): string {
  const { instrument, at, status, score, confidence, coverage, missingFactors, price } = snapshot;
  const { direction, since, previous, smoothed, frozen, forcedWait } = snapshot.signal;
  const factors = Object.entries(snapshot.factors).map(([name, factor]) => {
    const { z, confidence: c, status: s, asOf: a, staleAfter: st } = factor;
    const { weight: w, contribution: p, inputs: i } = factor;
    return [name, { z, c, s, a, st, w, p, i }];
  });
  return JSON.stringify([
    ...[instrument.symbol, at, status, score, confidence, coverage],
    ...[[direction, since, previous, smoothed, frozen, forcedWait], missingFactors, price],
    Object.fromEntries(factors),
  ]);
}

it("coins and funds are scored as by method 1.1.0, to the last bit", () => {
  const digest = createHash("sha256");
  let snapshots = 0;
  const note = (snapshot: Snapshot) => {
    if (snapshot.instrument.assetClass === "stock") return;
    snapshots++;
    digest.update(lineOf(snapshot));
  };
  const sink = { clear: () => {}, addClosed: note, setNewest: note };
  const engine = new ScoringEngine(METHOD_MARKET, sink);
  for (let day = SCORED_FROM; day <= DAYS; day++) {
    engine.refresh(closeOf(day));
    if (day % 10 !== 0) continue;
    for (const hours of INTERIM_HOURS) engine.refresh(closeOf(day) + hours * 3_600_000);
  }
  expect({ snapshots, sha256: digest.digest("hex") }).toEqual(EARLIER);
});
