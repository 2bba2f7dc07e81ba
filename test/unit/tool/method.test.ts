import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { NO_STAGES } from "../../../src/score/close-tables.ts";
import { emptyPeerTables, type PeerTables } from "../../../src/score/peers.ts";
import { peerTableVersion } from "../../../src/tool/method.ts";

const frozen: PeerTables = {
  ...emptyPeerTables("stock"),
  epoch: Date.UTC(2015, 5, 30, 20, 15),
  social: { mean: 0.25, sd: 0.5 },
};

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

describe("the version of a normalization table", () => {
  it("consists of the asset class, the close and a hash of the canonical content, including the analyzer of messages", () => {
    const content =
      '{"analyser":{"modelSha256":null,"name":"lexicon"},"assetClass":"stock","epoch":"2015-06-30T20:15:00.000Z","momentum":{},"social":{"mean":0.25,"sd":0.5}}';
    expect(peerTableVersion(frozen)).toEqual({
      version: `stock/2015-06-30T20:15:00.000Z/${sha256(content).slice(0, 16)}`,
      sha256: sha256(content),
    });
  });

  it("is defined even before the first close", () => {
    expect(peerTableVersion(emptyPeerTables("crypto")).version).toMatch(
      /^crypto\/none\/[0-9a-f]{16}$/,
    );
  });

  it("changes when one bit of the table changes", () => {
    const near = { ...frozen, social: { mean: 0.25, sd: 0.5 + Number.EPSILON } };
    const ranked = (...composite: number[]): PeerTables => {
      const all = { mean: 0.1, count: 2 };
      const means = { all, bySector: new Map([["Tools", all]]) };
      const sorted = { ...NO_STAGES, composite: Float64Array.from(composite) };
      const stocks = { at: 1, sorted, means: { residualMomentum: means, monthReturn: means } };
      return { ...frozen, stocks };
    };
    const tables = [frozen, near, ranked(-0.5, 0.5), ranked(-0.5, 0.5 + Number.EPSILON)];
    const versions = tables.map((one) => peerTableVersion(one).version);
    expect(new Set(versions).size).toBe(tables.length);
  });
});
