import { describe, expect, it } from "vitest";
import { steadinessAnswer } from "../../../src/answers/steadiness.ts";
import type { Snapshot } from "../../../src/score/snapshot.ts";
import { STEADINESS_INPUTS } from "../../../src/score/steadiness.ts";
import { createSandbox } from "../../../src/sources/sandbox/sandbox.ts";
import { normalCdf, normalQuantile } from "../../../src/statistics/normal.ts";
import type { FullSignal } from "../../../src/tool/signal.ts";
import type { ToolCall } from "../../../src/tool/tool.ts";
import { getSignal } from "../../../tools/get-signal.ts";
import { namedInstrument } from "../../support/instruments.ts";
import { marketOf, toolContextAt } from "../score/markets.ts";

const DAY_MS = 60_000;
const NOW = Math.floor(Date.UTC(2026, 10, 21, 4) / DAY_MS) * DAY_MS;

const sandbox = createSandbox({ seed: 7, sessionSeconds: DAY_MS / 1_000 });
const market = marketOf(sandbox, sandbox.recordsUntil(NOW), NOW - 60 * DAY_MS);
const { context } = toolContextAt(market, NOW);
const call = { scopes: new Set() } as unknown as ToolCall;

const ask = <T>(query: object) =>
  getSignal.run(getSignal.input.parse(query), context, call) as unknown as T;

const full = (symbol: string, asOf?: string) =>
  ask<FullSignal>({ symbol, detail: "full", ...(asOf && { asOf }) });

interface Items {
  readonly items: readonly { readonly symbol: string; readonly steadiness?: number | null }[];
  readonly total: number;
  readonly counts: object;
}

const newest = context.snapshots.allNewest();
const ranked = newest.filter(({ steadiness }) => steadiness !== undefined);
const steadinessOf = (symbol: string) =>
  newest.find(({ instrument }) => instrument.symbol === symbol)?.steadiness?.value;
const ofClass = (wanted: string) =>
  newest.filter(({ instrument }) => instrument.assetClass === wanted);

const INPUTS_BY_CLASS = { stock: STEADINESS_INPUTS, etf: [], crypto: ["variance"] };

describe("the steadiness of an instrument", () => {
  it("is recomputed from the ranks of a full answer", () => {
    const normalScore = (rank: number, of: number) => normalQuantile((rank - 0.5) / of);
    expect(ranked.length).toBeGreaterThan(30);
    for (const { instrument } of ranked) {
      const { steadiness, risk } = full(instrument.symbol);
      const { value, rank, peers, risk: sum, inputs, reason } = risk.steadiness;
      expect(inputs.map(({ name }) => name)).toEqual(INPUTS_BY_CLASS[instrument.assetClass]);
      let total = 0;
      for (const { value: measured, z, weight, rank: place, of } of inputs) {
        expect([z, place, of].map((one) => one === null)).toEqual(
          new Array(3).fill(measured === null),
        );
        if (z === null || place === null || of === null) continue;
        expect(z).toBeCloseTo(normalScore(place, of), 12);
        total += weight * z;
      }
      expect(sum).toBeCloseTo(total, 12);
      expect(value).toBeCloseTo(
        100 * normalCdf(-normalScore(rank ?? Number.NaN, peers ?? Number.NaN)),
        10,
      );
      expect(steadiness).toBe(Math.round(value ?? Number.NaN));
      expect(reason).toBeNull();
    }
    const ranks = ranked.map(({ instrument }) => full(instrument.symbol).risk.steadiness.rank);
    expect(Math.min(...ranks.map(Number))).toBe(1);
    expect(ofClass("crypto").every(({ steadiness }) => steadiness !== undefined)).toBe(true);
  });

  it("is one number in whole points in a brief answer", () => {
    const [{ instrument, steadiness }] = ranked as [(typeof ranked)[number]];
    const { symbol } = instrument;
    expect(ask<FullSignal>({ symbol }).steadiness).toBe(Math.round(steadiness?.value ?? -1));
  });

  it("comes without a chance, and says why", () => {
    const [{ instrument }] = ranked as [(typeof ranked)[number]];
    const { worstFifth } = full(instrument.symbol).risk.steadiness;
    expect(worstFifth.map(({ sessions, probability }) => [sessions, probability])).toEqual([
      [21, null],
      [63, null],
    ]);
    for (const { reason } of worstFifth)
      expect(reason).toContain("after its calibration is measured");
  });

  it("is null with the reason for a fund, a young coin, few coins, and where none was kept", () => {
    const [coin] = ofClass("crypto") as [Snapshot];
    const unranked = { ...coin, steadiness: undefined };
    const reasonOf = (changes: object) => {
      const { value, inputs, reason } = steadinessAnswer({ ...unranked, ...changes });
      expect([value, inputs]).toEqual([null, []]);
      return reason;
    };
    expect(reasonOf({ instrument: namedInstrument("F", "Fund", "etf") })).toBe(
      "Funds are not ranked.",
    );
    expect(reasonOf({})).toBe("It did not trade at the last close, or has fewer than 30 prices.");
    const tables = { ...coin.tables, coins: { at: NOW, variances: Float64Array.of(1, 2, 3) } };
    expect(reasonOf({ tables })).toBe(
      "Coins are ranked from 5 on, and 3 traded at the last close with 30 prices.",
    );
    const then = new Date(NOW - 40 * DAY_MS).toISOString();
    const past = full(ranked[0]?.instrument.symbol ?? "", then);
    expect([past.steadiness, past.risk.steadiness.reason]).toEqual([
      null,
      "It is not kept for sessions this far back.",
    ]);
  });
});

describe("a list by steadiness", () => {
  const symbolsOf = ({ items }: Items) => items.map(({ symbol }) => symbol);

  it("begins with the steadiest or the riskiest, and ends with what is not ranked", () => {
    const steadiest = ask<Items>({ sort: "steadiness" });
    const values = symbolsOf(steadiest).map(steadinessOf);
    const known = values.slice(0, ranked.length).map(Number);
    expect(known).toEqual([...known].sort((a, b) => b - a));
    expect(values.slice(ranked.length)).toEqual(
      new Array(newest.length - ranked.length).fill(undefined),
    );
    const riskiest = symbolsOf(ask<Items>({ sort: "lowest_steadiness" })).map(steadinessOf);
    expect(riskiest.slice(0, ranked.length)).toEqual([...known].reverse());
    expect(riskiest.slice(ranked.length)).toEqual(values.slice(ranked.length));
  });

  it("shows it in its items, brief and full, and other lists do not", () => {
    for (const detail of ["brief", "full"]) {
      const { items } = ask<Items>({ sort: "steadiness", limit: 5, detail });
      expect(items.map(({ symbol, steadiness }) => [symbol, steadiness])).toEqual(
        items.map(({ symbol }) => [symbol, Math.round(steadinessOf(symbol) ?? -1)]),
      );
      expect(ask<Items>({ limit: 5, detail }).items[0]).not.toHaveProperty("steadiness");
    }
  });

  it("has what is at least as steady as minSteadiness in whole points, and nothing unranked", () => {
    const wanted = ranked.filter(({ steadiness }) => Math.round(steadiness?.value ?? -1) >= 60);
    const found = ask<Items>({ minSteadiness: 60 });
    expect(symbolsOf(found)).toEqual(wanted.map(({ instrument }) => instrument.symbol));
    expect(found.total).toBe(wanted.length);
    expect(ask<Items>({ minSteadiness: 0, limit: 0 }).total).toBe(ranked.length);
    expect(ask<Items>({ limit: 0 }).total).toBe(newest.length);
  });

  it("can be asked for as a column, of a list and of a history", () => {
    const { rows } = ask<{ rows: readonly unknown[] }>({ fields: ["symbol", "steadiness"] });
    const rounded = (symbol: string) => {
      const value = steadinessOf(symbol);
      return value === undefined ? null : Math.round(value);
    };
    expect(rows).toEqual(newest.map(({ instrument: { symbol } }) => [symbol, rounded(symbol)]));
    const symbol = ranked[0]?.instrument.symbol ?? "";
    const { history } = ask<{ history: Record<string, readonly unknown[]> }>({
      ...{ symbol, last: 40, fields: ["session", "steadiness"] },
    });
    const kept = history.steadiness ?? [];
    expect(kept).toHaveLength(40);
    expect(kept.at(-1)).toBe(rounded(symbol));
    expect(kept.filter((value) => value === null).length).toBeLessThan(40);
  });
});
