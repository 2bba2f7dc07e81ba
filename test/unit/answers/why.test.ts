import { describe, expect, it } from "vitest";
import {
  factorContributionsAnswer,
  factorStatusAnswer,
  scoreAttributionAnswer,
} from "../../../src/answers/why.ts";
import { FACTORS, type FactorStatus } from "../../../src/factors/reading.ts";
import { summarizeReading } from "../../../src/factors/summary.ts";
import { createSignalRecords } from "../../../src/score/signal-records.ts";
import type { PastSnapshot, Snapshot } from "../../../src/score/snapshot.ts";
import { createSandbox } from "../../../src/sources/sandbox/sandbox.ts";
import type { ToolCall } from "../../../src/tool/tool.ts";
import { getFactors } from "../../../tools/get-factors.ts";
import { getSignal } from "../../../tools/get-signal.ts";
import { snapshotOf } from "../../support/scripted-market.ts";
import { marketOf, toolContextAt } from "../score/markets.ts";

const DAY_MS = 60_000;
const SESSIONS = 50;
const NOW = Math.floor(Date.UTC(2026, 10, 21, 4) / DAY_MS) * DAY_MS;

const sandbox = createSandbox({ seed: 7, sessionSeconds: DAY_MS / 1_000 });
const market = marketOf(sandbox, sandbox.recordsUntil(NOW), NOW - (SESSIONS + 5) * DAY_MS);
const { context } = toolContextAt(market, NOW);

/**
 * The latest snapshots of each instrument. Older snapshots have evidence, but no stored factors.
 */
const histories = context.market
  .instruments()
  .map(({ symbol }) => [...context.snapshots.history(symbol, 0, NOW)].slice(-SESSIONS))
  .filter(({ length }) => length === SESSIONS)
  .slice(0, 40);

const instruments = histories.flatMap(([first]) => first?.instrument ?? []);

const full = { detail: "full", showsFactors: true } as const;

/** A call with the scope factor:read. */
const call = { scopes: new Set(["factor:read"]) } as unknown as ToolCall;

describe("the reason why a factor has no value", () => {
  const absent = (status: FactorStatus, asOf: number | null = null) => ({ z: null, status, asOf });

  it("is no lack of a feed if the feed shows only trades whose side is unknown", () => {
    expect(factorStatusAnswer(absent("not_observed"))).toBe("no_feed");
    expect(factorStatusAnswer(absent("not_observed", NOW))).toBe("insufficient_data");
    const summary = summarizeReading("darkpool", absent("not_observed", NOW), "stock");
    expect(summary).toBe("Off-exchange pressure cannot be told: no block trade has a known side.");
  });

  it("stays no lack of a feed when the snapshot is packed, and packed again", () => {
    const { instrument } = snapshotOf("A", 0);
    const whole = snapshotOf("A", NOW);
    const { darkpool } = whole.factors;
    const missingFactors = ["darkpool"] as const;
    const reasons = [null, NOW - 1].map((asOf) => {
      const factors = { ...whole.factors, darkpool: { ...darkpool, asOf } };
      const snapshot = { ...whole, missingFactors, factors };
      const packed = createSignalRecords(instrument);
      packed.push(snapshot);
      const again = createSignalRecords(instrument);
      again.push(packed.at(0) as PastSnapshot as Snapshot);
      return [snapshot, packed.at(0), again.at(0)].map(
        (one) => factorContributionsAnswer(one as PastSnapshot, "full")?.darkpool,
      );
    });
    expect(reasons).toEqual([
      ["no_feed", "no_feed", "no_feed"],
      ["insufficient_data", "insufficient_data", "insufficient_data"],
    ]);
  });

  it.each([
    ["stock", "The earnings surprise cannot be formed yet"],
    ["crypto", "Valuation cannot be formed yet"],
  ] as const)("of a %s names what its valuation is made from", (assetClass, begin) => {
    const summary = summarizeReading("valuation", absent("insufficient_data", NOW), assetClass);
    expect(summary).toBe(`${begin}: history or peer group is too short.`);
  });
});

describe("the attribution of a score change", () => {
  it("adds up to the change of the score, for every pair of 50 sessions of each of 40 instruments", () => {
    let pairs = 0;
    let largest = 0;
    const check = (from: PastSnapshot, to: PastSnapshot) => {
      const { change, factors } = scoreAttributionAnswer(from, to, full);
      if (change === null || from.score === null || to.score === null) expect.fail();
      const sum = Object.values(factors ?? {}).reduce((total, one) => total + one.change, 0);
      largest = Math.max(largest, Math.abs(sum - change), Math.abs(change - to.score + from.score));
      pairs++;
    };
    for (const history of histories) {
      for (const [place, to] of history.entries()) {
        for (const from of history.slice(0, place)) check(from, to);
      }
    }
    expect(pairs).toBe((40 * SESSIONS * (SESSIONS - 1)) / 2);
    expect(largest).toBeLessThan(1e-9);
  });

  it("gives a factor without a value the reason that it had then, however long ago", () => {
    const [{ at } = { at: 0 }] = histories.map(([first]) => first).flatMap((first) => first ?? []);
    const then = toolContextAt(market, at).context.snapshots;
    const reasons = new Set<unknown>();
    for (const { symbol } of instruments) {
      const past = context.snapshots.lastAt(symbol, at) as PastSnapshot;
      const why = factorContributionsAnswer(past, "full");
      expect(past.factors, symbol).toBeUndefined();
      expect(why, symbol).toEqual(factorContributionsAnswer(then.newest(symbol), "full"));
      const { factors } = scoreAttributionAnswer(past, then.newest(symbol), full);
      for (const factor of past.missingFactors) {
        expect(factors?.[factor], symbol).toEqual({
          from: why?.[factor],
          to: why?.[factor],
          change: 0,
        });
        reasons.add(why?.[factor]);
      }
    }
    const all = ["no_feed", "no_activity", "stale", "insufficient_data"];
    expect(reasons).toEqual(new Set(all));
  });

  it("says of a past that was recorded without reasons that a factor is missing", () => {
    const measured = { z: 1, confidence: 0.5, contribution: 3 };
    const evidence = { momentum: measured, valuation: measured, social: measured };
    const darkpool = { z: null, confidence: 0, contribution: 0 };
    const [past] = histories.flat();
    const recorded = { ...past, evidence: { ...evidence, darkpool }, missingFactors: ["darkpool"] };
    const why = factorContributionsAnswer(recorded as unknown as PastSnapshot, "full");
    expect(why).toMatchObject({ social: expect.any(Number), darkpool: "missing" });
  });

  it("is returned by get_signal for a query with the argument `since`, and contains contributions only with the scope factor:read", () => {
    const [{ symbol } = { symbol: "" }] = instruments;
    const since = new Date(NOW - 40 * DAY_MS).toISOString();
    const query = getSignal.input.parse({ symbol, since, detail: "full" });
    expect(getSignal.run(query, context, call)).toMatchObject({
      attribution: { from: since, change: expect.any(Number), factors: expect.any(Object) },
    });
    const plain = getSignal.run(query, context, { ...call, scopes: new Set() });
    expect((plain as { attribution: object }).attribution).not.toHaveProperty("factors");
  });
});

describe("the explanation of a score", () => {
  it("adds up to the score minus 50, and agrees with get_factors", () => {
    for (const { symbol } of instruments) {
      const query = { symbol, detail: "full" };
      const { why, scoreRaw = 0 } = getSignal.run(getSignal.input.parse(query), context, call) as {
        why: Record<string, number | string>;
        scoreRaw: number;
      };
      const { factors } = getFactors.run(getFactors.input.parse(query), context);
      let sum = 0;
      for (const factor of FACTORS) {
        const { contribution, status, z } = factors[factor];
        const told = why[factor];
        if (z === null) expect(told).toBe(status);
        else expect(told).toBeCloseTo(contribution, 12);
        sum += typeof told === "number" ? told : 0;
      }
      expect(sum, symbol).toBeCloseTo(scoreRaw - 50, 9);
    }
  });
});

/**
 * Whether a value of a brief answer is part of the full answer, where numbers may be rounded and
 * members may be omitted.
 */
function isPartOf(brief: unknown, whole: unknown): boolean {
  if (typeof brief === "number" && typeof whole === "number") {
    return Math.abs(brief - whole) <= Math.max(1e-2, 1e-4 * Math.abs(whole));
  }
  if (Array.isArray(brief) && Array.isArray(whole)) {
    return brief.every((item) => whole.some((other) => isPartOf(item, other)));
  }
  if (typeof brief === "object" && brief !== null && typeof whole === "object" && whole !== null) {
    const members = new Map(Object.entries(whole));
    return Object.entries(brief).every(
      ([name, value]) => members.has(name) && isPartOf(value, members.get(name)),
    );
  }
  return brief === whole;
}

describe("a brief answer of a tool", () => {
  const [{ symbol } = { symbol: "" }] = instruments;
  it.each([
    { symbol },
    {},
    { sort: "fall", limit: 7 },
    { symbol, last: 20 },
    { asOf: new Date(NOW - 10 * DAY_MS).toISOString() },
  ])("from get_signal with %j contains only members that the full answer contains", (query) => {
    const ask = (detail: string) =>
      getSignal.run(getSignal.input.parse({ ...query, detail }), context, call);
    const [brief, whole] = [ask("brief"), ask("full")] as [object, object];
    const { nextCursor: _, ...rest } = brief as { nextCursor?: string | null };
    expect(isPartOf(rest, whole)).toBe(true);
  });

  it("from get_factors contains only members that the full answer contains", () => {
    for (const one of instruments) {
      const ask = (detail: string) =>
        getFactors.run(getFactors.input.parse({ symbol: one.symbol, detail }), context);
      expect(isPartOf(ask("brief"), ask("full")), one.symbol).toBe(true);
    }
  });
});
