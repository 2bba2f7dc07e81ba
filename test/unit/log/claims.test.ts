import { readFileSync } from "node:fs";
import { join } from "node:path";
import canonicalize from "canonicalize";
import { describe, expect, it } from "vitest";
import { claimAnswer } from "../../../src/answers/track-record.ts";
import { liveClaimFigures, liveClaimTerms } from "../../../src/grading/live-claim.ts";
import { computeTrackRecordFigures, trackRecordTerms } from "../../../src/grading/track-record.ts";
import {
  claimLeaf,
  failedLeaf,
  methodLeaf,
  runLeaf,
  universeLeaves,
} from "../../../src/log/leaves.ts";
import { EntryVerifier } from "../../../src/log/verify/entry-verifier.ts";
import { checkTrackRecord } from "../../../src/log/verify/track-record-check.ts";
import { DEPARTURE } from "../../../src/method/departure.ts";
import { runningMethod } from "../../../src/method/running.ts";
import { RISK_TABLE } from "../../../src/risk/measured-table.ts";
import { CANDIDATE } from "../../../src/score/candidate.ts";
import { verified } from "../../support/log-source.ts";
import { closeOf, dataFolder, Sessions, signalLog } from "../../support/signal-log.ts";
import { model, openStore } from "../../support/stores.ts";

const DOCUMENT = join(import.meta.dirname, "../../../docs/verification.md");

const EARLIER = "1".repeat(64);
const LATER = "2".repeat(64);
const AT = closeOf(1);
const TERMS = liveClaimTerms(AT);

interface Leaf {
  readonly kind: string;
  readonly [name: string]: unknown;
}

const changed = (leaf: string, change: object): Leaf => ({ ...JSON.parse(leaf), ...change });

const method = methodLeaf(
  { market: "live", riskTable: RISK_TABLE, record: trackRecordTerms(closeOf(0)) },
  closeOf(0),
);

const runAt = (day: number, universe: number, methodHash: string) =>
  changed(
    runLeaf({ assetClass: "stock", close: closeOf(day), at: closeOf(day), universe, results: 1 }),
    { methodHash },
  );

const thresholds = { exitLong: 50, exitShort: 50 };

/**
 * The entries of a log of 1.1.0 that goes on with 2.0.0: the method is entry 4, its claim 5 and its
 * first run 6.
 */
const ENTRIES: readonly Leaf[] = [
  changed(method, { version: "1.1.0+1111111111111111", methodHash: EARLIER }),
  ...universeLeaves("stock", ["AAA"]).map((leaf) => changed(leaf, {})),
  runAt(0, 1, EARLIER),
  changed(failedLeaf("AAA", { run: 2, close: new Date(closeOf(0)).toISOString() }), {}),
  changed(method, {
    ...{ version: "2.0.0+2222222222222222", methodHash: LATER, departure: DEPARTURE },
    settings: {
      signal: { thresholds: { stock: thresholds, etf: thresholds, crypto: thresholds } },
    },
  }),
  changed(claimLeaf(TERMS, AT), { methodHash: LATER }),
  runAt(1, 1, LATER),
  changed(failedLeaf("AAA", { run: 6, close: new Date(closeOf(1)).toISOString() }), {}),
];

function verifierOf(entries: readonly (Leaf | undefined)[]): EntryVerifier {
  const verifier = new EntryVerifier({ origin: "", sightings: [] });
  for (const leaf of entries) {
    verifier.add(leaf && (canonicalize(leaf) as string), () => Buffer.alloc(32));
  }
  return verifier;
}

const isoLook = (look: (typeof TERMS.looks)[0]) => ({
  ...look,
  at: new Date(look.at).toISOString(),
});

const failuresIn = (entries: readonly (Leaf | undefined)[]) =>
  verifierOf(entries)
    .checks()
    .filter(({ outcome }) => outcome === "failed");

/** The entries with members of one of them changed. */
const forged = (index: number, change: object) =>
  ENTRIES.with(index, { ...(ENTRIES[index] as Leaf), ...change });

describe("a log that goes on with a method that makes a claim", () => {
  it("passes verification", () => {
    const verifier = verifierOf(ENTRIES);
    expect(failuresIn(ENTRIES)).toEqual([]);
    expect(verifier.checks()).toContainEqual(
      expect.objectContaining({ name: "claims", outcome: "proved" }),
    );
    expect([...verifier.claims]).toEqual([[LATER, { index: 5, terms: TERMS }]]);
    // A log without such a method has no such check.
    const names = verifierOf(ENTRIES.slice(0, 4))
      .checks()
      .map(({ name }) => name);
    expect(names).not.toContain("claims");
  });

  it("quotes the rule from which the method departs, and fails without it", () => {
    expect(DEPARTURE).toContain(CANDIDATE.rule.text);
    expect(readFileSync(DOCUMENT, "utf8")).toContain(`\n> ${DEPARTURE}\n`);
    for (const departure of [undefined, "", "It was better so."]) {
      expect(failuresIn(forged(4, { departure }))).toMatchObject([{ name: "methods", entry: 4 }]);
    }
  });

  it("fails if the claim comes after a run that it judges, or not at all", () => {
    const claim = ENTRIES[5] as Leaf;
    const moved = (leaf: Leaf, run: number) => ({ ...leaf, run });
    const [run, result] = ENTRIES.slice(6) as [Leaf, Leaf];
    const after = [...ENTRIES.slice(0, 5), run, moved(result, 5), claim];
    expect(failuresIn(after)).toMatchObject([{ name: "claims", entry: 5 }]);
    // An earlier method of 2.0.0 that made no claim cannot make one later either.
    const quiet = after.map((leaf, index) =>
      index === 4 ? { ...leaf, version: "1.1.0+2222222222222222" } : leaf,
    );
    expect(failuresIn(quiet)).toMatchObject([
      { name: "claims", entry: 7, detail: expect.stringContaining("after a run") },
    ]);
    const without = after.slice(0, -1);
    expect(failuresIn(without)).toMatchObject([{ name: "claims", entry: 5 }]);
  });

  it("fails if the claim is changed later, is of another method, or counts from another time", () => {
    const again = [...ENTRIES, ENTRIES[4], ENTRIES[5]] as Leaf[];
    expect(failuresIn(again)).toEqual([]);
    const eased = { ...(again[9] as Leaf), minDates: 20 };
    expect(failuresIn(again.with(9, eased))).toMatchObject([{ name: "claims", entry: 9 }]);
    expect(failuresIn(forged(5, { methodHash: EARLIER }))[0]).toMatchObject({
      ...{ name: "claims", entry: 5 },
    });
    const registeredAt = new Date(AT - 86_400_000).toISOString();
    expect(failuresIn(forged(5, { registeredAt }))[0]).toMatchObject({ name: "claims", entry: 5 });
  });

  it.each([
    ["no looks", { looks: [] }],
    ["looks out of order", { looks: TERMS.looks.toReversed().map(isoLook) }],
    ["a look before its registration", { registeredAt: "2028-01-01T00:00:00.000Z" }],
    ["looks that share more than its significance", { significance: 0.04 }],
    ["a significance of 1", { significance: 1 }],
    ["a horizon of 0 sessions", { horizon: 0 }],
  ])("fails if the claim has %s", (_what, change) => {
    expect(failuresIn(forged(5, change))[0]).toMatchObject({ name: "entries", entry: 5 });
  });

  it("is not judged by claims that the log no longer keeps", () => {
    const pruned = ENTRIES.map((leaf, index) => (index < 6 ? undefined : leaf));
    expect(failuresIn(pruned)).toEqual([]);
    expect(failuresIn([...pruned, ENTRIES[4], ENTRIES[5]])).toEqual([]);
  });
});

it("a log registers the claim directly after each method, with the terms that it began with", async () => {
  const sessions = new Sessions();
  const store = await openStore(model);
  const folder = dataFolder();
  sessions.close(0, "stock", ["AAA"]);
  await signalLog(store, sessions, { folder }).settle();
  // Another risk table registers the method again, a year later.
  sessions.close(365, "stock", ["AAA"]);
  const riskTable = { ...RISK_TABLE, classes: { ...RISK_TABLE.classes, crypto: [] } };
  const log = signalLog(store, sessions, { folder, riskTable });
  await log.settle();
  const entries = await log.contents();
  const claims = entries.flatMap(({ kind }, index) => (kind === "claim" ? [index] : []));
  const method = { kind: "method", departure: DEPARTURE };
  expect(claims.map((index) => entries[index - 1])).toMatchObject([method, method]);
  const [first, second] = claims.map((index) => ({ ...entries[index], at: undefined }));
  expect(second).toEqual(first);
  const { failures, claims: found } = await verified(log);
  expect(failures).toEqual([]);
  expect(found).toMatchObject([
    { methodHash: runningMethod().methodHash, score: null, verdicts: [] },
  ]);
});

describe("the claims in the answer of a service", () => {
  const [look = 0] = TERMS.looks.map(({ at }) => at);
  const runs = Array.from({ length: 250 }, (_, day) => ({
    ...{ long: 1, short: 1, wait: 1, universe: 0, excess: 0, followed: 0, hits: 0, ic: null },
    ...{ shuffledVariance: 0, forecasts: 0, within: [0, 0, 0], falls: 0, fallErrors: 0 },
    ...{ close: AT + day, exit: AT + day + 6, isLate: false },
    excluded: { failed: 0, unscored: 0, untraded: 0, unsettled: 0, copies: 0 },
    neutralIc: { score: 0.02 + 0.01 * Math.sin(day), candidate: null },
  }));
  const figures = computeTrackRecordFigures("stock", 5, runs, 1);
  const terms = trackRecordTerms(closeOf(0));
  const entries = {
    ...{ skipped: 0, terms, claims: new Map([[LATER, { index: 5, terms: TERMS }]]) },
    records: () => [{ methodHash: LATER, figures, runs, terms }],
  };
  const claim = claimAnswer(
    { methodHash: LATER, ...liveClaimFigures(TERMS, runs, look), openSince: null },
    look,
  );
  const { twins, ...others } = figures;
  const answer = (claims: readonly object[], size = 9) => ({
    ...{ market: "live", simulated: false, origin: "o", size, claims },
    beganAt: "2026-01-01T00:00:00.000Z",
    records: [
      {
        ...others,
        ...{ methodHash: LATER, alwaysLong: twins.alwaysLong, shuffled: twins.shuffled },
        ...{ from: new Date(AT).toISOString(), to: new Date(AT + 249).toISOString() },
        ...{ isHeadline: false, expectedAt: null, verdicts: [], nextVerdictAt: null },
      },
    ],
  });
  const outcomeOf = (claims: readonly object[], size?: number) =>
    checkTrackRecord(entries, 9, answer(claims, size)).outcome;

  it("agree with the entries in every figure and verdict", () => {
    expect(claim).toMatchObject({
      ...{ verdict: "confirmed_live", registeredAt: new Date(AT).toISOString() },
      ...{ score: { dates: 250 }, candidate: null, nextVerdictAt: "2028-01-02T00:00:00.000Z" },
      verdicts: [{ at: "2027-01-02T00:00:00.000Z", verdict: "confirmed_live", isFinal: true }],
    });
    expect(outcomeOf([claim])).toBe("proved");
  });

  it("fail if one is missing, added or changed", () => {
    expect(outcomeOf([])).toBe("failed");
    // A claim after the entries of the answer is none of its claims.
    expect(outcomeOf([], 5)).not.toBe("failed");
    expect(outcomeOf([claim, { ...claim, methodHash: EARLIER }])).toBe("failed");
    for (const change of [
      { score: { ...claim.score, value: 0.03 } },
      { score: null },
      { candidate: claim.score },
      { horizon: 21 },
      { verdict: "not_confirmed_live" },
      { verdicts: [] },
      { verdicts: claim.verdicts.map((one) => ({ ...one, verdict: "insufficient_data" })) },
    ]) {
      expect(outcomeOf([{ ...claim, ...change }]), JSON.stringify(change)).toBe("failed");
    }
  });
});
