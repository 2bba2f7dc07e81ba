import canonicalize from "canonicalize";
import { describe, expect, it } from "vitest";
import { trackRecordTerms } from "../../../src/grading/track-record.ts";
import { exclusionOutcomeOf } from "../../../src/log/graded-settlement.ts";
import { methodLeaf, runLeaf, signalLeaf, universeLeaves } from "../../../src/log/leaves.ts";
import { EntryVerifier } from "../../../src/log/verify/entry-verifier.ts";
import { type LeafOf, parseLeaf } from "../../../src/log/verify/read-leaf.ts";
import type { AssetClass } from "../../../src/market/instrument.ts";
import { RISK_TABLE } from "../../../src/risk/measured-table.ts";
import type { PastSnapshot } from "../../../src/score/snapshot.ts";
import { closeOf, Sessions } from "../../support/signal-log.ts";

const CLOSE = closeOf(0);

/** The snapshot of a stock, with ranked inputs of its momentum and its valuation. */
function snapshotOf(assetClass: AssetClass, change: object = {}): PastSnapshot {
  const sessions = new Sessions();
  sessions.close(0, assetClass, ["AAA"]);
  const found = sessions.snapshots.lastAt("AAA", CLOSE) as PastSnapshot;
  const { factors, instrument } = found;
  if (factors === undefined) throw new Error("the snapshot has no factors");
  const input = (name: string, value: number | null, place: object) => ({
    ...{ name, value, unit: "ratio", z: 0.1, weight: 1, observedAt: CLOSE },
    ...place,
  });
  const momentum = [
    input("residualMomentum", 0.123456789, { relative: 0.0234567891, rank: 311.5, of: 398 }),
    input("reversal", 0.0219964801, { relative: -0.0532917417, rank: 40, of: 401 }),
  ];
  return {
    ...found,
    instrument: { ...instrument, sector: "Energy" },
    factors: {
      ...factors,
      momentum: { ...factors.momentum, inputs: momentum },
      valuation: { ...factors.valuation, inputs: [input("surprise", null, {})] },
    },
    exposures: { beta: 12.3456, volatility: null, dollarVolume: 0.004 },
    steadiness: { at: CLOSE, value: 87.6543, riskZ: -1.2, peers: 401 },
    candidate: { at: CLOSE, z: 0.25, parts: {} },
    ...change,
  } as unknown as PastSnapshot;
}

const leafText = (snapshot: PastSnapshot) =>
  signalLeaf(
    snapshot,
    { run: 2, close: new Date(CLOSE).toISOString() },
    { commitments: { factors: null, inputs: null }, sigmas: null },
  );

const leafOf = (snapshot: PastSnapshot) => JSON.parse(leafText(snapshot));

describe("the entry of a stock's signal", () => {
  it("says how the stock compared with the other stocks of the close", () => {
    const text = leafText(snapshotOf("stock"));
    expect(canonicalize(JSON.parse(text))).toBe(text);
    expect(parseLeaf(text)).toMatchObject({
      ...{ kind: "signal", v: 3, sector: "Energy", steadiness: 87.65 },
      candidates: { "method-2": 0.25 },
      percentiles: { beta: 12.35, volatility: null, dollarVolume: 0 },
      parts: {
        surprise: null,
        residualMomentum: { value: 0.123457, relative: 0.023457, rank: 311.5, of: 398 },
        reversal: { value: 0.021996, relative: -0.053292, rank: 40, of: 401 },
      },
    });
  });

  it("has no comparison with peers if there was none, and none in other classes", () => {
    const none = { parts: null, percentiles: null, sector: null, steadiness: null };
    const earlier = { at: CLOSE - 1, value: 87.6543, riskZ: -1.2, peers: 401 };
    const untraded = { exposures: undefined, steadiness: earlier, factors: undefined };
    expect(leafOf(snapshotOf("stock", untraded))).toMatchObject({ ...none, sector: "Energy" });
    expect(leafOf(snapshotOf("crypto", untraded))).toMatchObject(none);
  });

  it.each([
    ["a percentile above 100", { percentiles: { beta: 100.01, volatility: 5, dollarVolume: 5 } }],
    ["a percentile below 0", { percentiles: { beta: -0.01, volatility: 5, dollarVolume: 5 } }],
    ["no percentile of one exposure", { percentiles: { beta: 5, volatility: 5 } }],
    ["no percentiles at all", { percentiles: undefined }],
    ["a rank beyond the number of peers", { parts: { reversal: { rank: 402 } } }],
    ["a rank of 0", { parts: { reversal: { rank: 0 } } }],
    ["a steadiness above 100", { steadiness: 101 }],
    ["a score above 100", { scoreRaw: 101 }],
    ["no score, and no statement that there is none", { scoreRaw: undefined }],
  ])("is rejected with %s", (_what, change) => {
    const leaf = leafOf(snapshotOf("stock"));
    const { parts, ...others } = change as { parts?: { reversal: object } };
    const reversal = { ...leaf.parts.reversal, ...parts?.reversal };
    const forged = { ...leaf, parts: { ...leaf.parts, reversal }, ...others };
    expect(() => parseLeaf(canonicalize(forged) as string)).toThrow("is no signal");
  });

  it("without a score is excluded as unscored, and must say WAIT", () => {
    const leaf = { ...leafOf(snapshotOf("stock")), score: null, scoreRaw: null };
    const unscored = { ...leaf, scoreSmoothed: null, signal: "WAIT" };
    const parsed = parseLeaf(canonicalize(unscored) as string) as LeafOf<"signal">;
    expect(exclusionOutcomeOf(parsed)).toEqual({ status: "unscored" });
    const outcomeOf = (signal: object) => {
      const record = trackRecordTerms(CLOSE);
      const verifier = new EntryVerifier({ origin: "", sightings: [] });
      const run = {
        assetClass: "stock",
        close: CLOSE,
        at: CLOSE,
        universe: 1,
        results: 1,
      } as const;
      for (const text of [
        methodLeaf({ market: "live", riskTable: RISK_TABLE, record }, CLOSE),
        ...universeLeaves("stock", ["AAA"]),
        runLeaf(run),
        canonicalize({ ...signal, run: 2 }) as string,
      ]) {
        verifier.add(text, () => Buffer.alloc(32));
      }
      return verifier.checks().find(({ name }) => name === "thresholds");
    };
    expect(outcomeOf(unscored)).toMatchObject({ outcome: "proved" });
    for (const signal of ["LONG", "SHORT"]) {
      expect(outcomeOf({ ...unscored, signal })).toMatchObject({ outcome: "failed", entry: 3 });
      expect(outcomeOf({ ...unscored, signal, scoreSmoothed: 60 })).toMatchObject({
        outcome: "failed",
      });
    }
  });
});
