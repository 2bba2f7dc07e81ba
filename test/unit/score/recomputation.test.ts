import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { roundToWholePoints } from "../../../src/answers/rounding.ts";
import { runningMethod } from "../../../src/method/running.ts";
import { createSandbox } from "../../../src/sources/sandbox/sandbox.ts";
import { MethodDocument, MethodQuery, methodAnswer } from "../../../src/tool/method.ts";
import type { FullSignal } from "../../../src/tool/signal.ts";
import type { ToolCall } from "../../../src/tool/tool.ts";
import { getFactors } from "../../../tools/get-factors.ts";
import { getSignal } from "../../../tools/get-signal.ts";
import {
  type FactorsAnswer,
  type MethodAnswer,
  momentumConfidence,
  recompute,
} from "../../support/third-party.ts";
import { marketOf, toolContextAt } from "./markets.ts";

const DAY_MS = 60_000;
const START = Math.floor(Date.UTC(2026, 10, 21, 4) / DAY_MS) * DAY_MS;

const CALL = { scopes: new Set() } as unknown as ToolCall;

/** Returns a value after JSON serialization, as a caller receives it. */
const overTheWire = <T>(value: unknown) => JSON.parse(JSON.stringify(value)) as T;

/**
 * Returns the service's answers for a simulated market: the factors of every instrument, and the
 * method.
 */
function answersOf(seed: number) {
  const sandbox = createSandbox({ seed, sessionSeconds: DAY_MS / 1000 });
  // Half a session after a close, so that new messages and prints have arrived.
  const at = START + DAY_MS / 2;
  const market = marketOf(sandbox, sandbox.recordsUntil(at), START - 3 * DAY_MS);
  const { context, tables } = toolContextAt(market, at);
  const inUse = { context, tables: tables() };
  const version = runningMethod().version;
  const newest = MethodDocument.parse(methodAnswer(version, {}, inUse));
  const { reference } = methodAnswer(version, { tables: "reference" }, inUse);
  const method = MethodDocument.parse({ ...newest, reference });
  const factors = context.market.instruments().map(({ symbol }) => {
    const answer = getFactors.run({ symbol, detail: "full" }, context);
    return overTheWire<FactorsAnswer>(getFactors.output.parse(answer));
  });
  return { factors, method: overTheWire<MethodAnswer>(method), inUse };
}

const answers = [1, 2, 3].map(answersOf);

describe("an outsider with get_factors and the published tables", () => {
  it("can recompute the scores of more than 100 instruments", () => {
    const all = answers.flatMap(({ factors, method }) =>
      factors.map((answer) => ({ answer, worked: recompute(answer, method) })),
    );
    expect(all.length).toBeGreaterThan(100);
    for (const { answer, worked } of all) {
      expect(roundToWholePoints(worked.score), answer.symbol).toBe(answer.score);
      expect(worked.score, answer.symbol).toBeCloseTo(answer.scoreRaw ?? Number.NaN, 9);
      for (const [name, { contribution }] of Object.entries(answer.factors)) {
        expect(worked.contributions[name] ?? 0, `${answer.symbol} ${name}`).toBeCloseTo(
          contribution,
          9,
        );
      }
    }
  });

  it("can recompute the z-score of every factor from the values of its inputs", () => {
    const all = answers.flatMap(({ factors, method }) =>
      factors.flatMap((answer) => {
        const { z } = recompute(answer, method);
        return Object.entries(answer.factors).map(([name, factor]) => ({
          ...{ name, label: `${answer.symbol} ${name}` },
          ...{ published: factor.z, worked: z[name] },
        }));
      }),
    );
    for (const { label, published, worked } of all) {
      if (published === null) expect(worked, label).toBeNull();
      else expect(worked, label).toBeCloseTo(published, 9);
    }
    const measured = all.filter(({ published }) => published !== null);
    const counts = [...Map.groupBy(measured, ({ name }) => name).values()].map((m) => m.length);
    expect(counts).toHaveLength(4);
    expect(Math.min(...counts)).toBeGreaterThan(30);
  });

  it("can recompute the confidence of momentum", () => {
    for (const { factors, method } of answers) {
      for (const { symbol, assetClass, factors: each } of factors) {
        const { momentum } = each;
        if (assetClass === "stock") continue;
        if (momentum === undefined || momentum.z === null) continue;
        expect(momentumConfidence(momentum, method), symbol).toBeCloseTo(momentum.confidence, 12);
      }
    }
  });

  it("can recompute the steadiness of every coin from its variance and the published table", () => {
    let ranked = 0;
    for (const { method, inUse } of answers) {
      const tables = method.tables.flatMap(({ content }) => content.coins?.variances ?? []);
      for (const { symbol, assetClass } of inUse.context.market.instruments()) {
        if (assetClass !== "crypto") continue;
        const query = getSignal.input.parse({ symbol, detail: "full" });
        const answer = getSignal.run(query, inUse.context, CALL);
        const { steadiness } = overTheWire<FullSignal>(answer).risk;
        const variance = steadiness.inputs[0]?.value ?? Number.NaN;
        const rank = tables.filter((one) => one < variance).length + 1;
        expect(tables).toContain(variance);
        expect(steadiness.value).toBeCloseTo(100 * (1 - (rank - 0.5) / tables.length), 9);
        ranked++;
      }
    }
    expect(ranked).toBeGreaterThan(20);
  });

  it("finds every input that has a weight in the formulas of the docs", async () => {
    const path = new URL("../../../docs/method-and-backtest.md", import.meta.url);
    const [, formulas = ""] =
      /## Recompute a score\n([\s\S]+?)\n## /.exec(await readFile(path, "utf8")) ?? [];
    const named = new Set([...formulas.matchAll(/\b[a-z]\w+/g)].map(([name]) => name));
    const weighted = answers.flatMap(({ factors }) =>
      factors.flatMap(({ factors: each }) =>
        Object.values(each).flatMap(({ inputs = [] }) =>
          inputs.filter(({ weight }) => weight !== 0).map(({ name }) => name),
        ),
      ),
    );
    const unnamed = [...new Set(weighted)].filter(
      (name) => !named.has(name.replace(/^trend\d+d$/, "trend28d")),
    );
    expect(unnamed).toEqual([]);
    expect(new Set(weighted).size).toBeGreaterThan(10);
  });

  it("detects a modified answer or table", () => {
    const [{ factors, method }] = answers as [(typeof answers)[number]];
    const answer = factors.find(
      ({ assetClass, factors }) => assetClass === "stock" && (factors.momentum?.z ?? 0) > 1,
    ) as FactorsAnswer;
    const inputs = (answer.factors.momentum?.inputs ?? []).map((input) =>
      input.name === "residualMomentum" ? { ...input, value: (input.value ?? 0) - 2 } : input,
    );
    const momentum = { ...answer.factors.momentum, inputs } as FactorsAnswer["factors"][string];
    const changed = { ...answer, factors: { ...answer.factors, momentum } };
    expect(() => recompute(changed, method)).toThrow("not relative to its peers");

    const tables = method.tables.map((table) => ({
      ...table,
      content: { ...table.content, momentum: { changed: [0] } },
    }));
    expect(() => recompute(answer, { ...method, tables })).toThrow("hash");
  });
});

describe("the published scoring method", () => {
  const [{ method, inUse }] = answers as [(typeof answers)[number]];

  it("includes the newest tables of each class, and older tables on request by version", () => {
    expect(method.tables.map(({ version }) => version.split("/")[0])).toEqual(["stock", "crypto"]);
    for (const { version } of method.tables) {
      const query = MethodQuery.parse({ tables: version });
      expect(methodAnswer(runningMethod().version, query, inUse).tables).toHaveLength(1);
    }
    expect(inUse.tables.length).toBeGreaterThan(method.tables.length);
  });

  it("is not found under an unknown version, and reports expired tables as not available", () => {
    expect(() => methodAnswer("0.0.9", {}, inUse)).toThrow("not_found");
    const query = { tables: "stock/2001-01-01T00:00:00.000Z/0123456789abcdef" };
    expect(() => methodAnswer(runningMethod().version, query, inUse)).toThrow("not_available_then");
  });

  it("lists the weights, thresholds and half-lives that the code uses", () => {
    expect(method.parameters).toMatchObject({
      weights: {
        stock: { momentum: 1.6 / 3, valuation: 0.8 / 3, social: 0.1, darkpool: 0.1 },
        etf: { momentum: 0.33, valuation: 0.28, social: 0.21, darkpool: 0.18 },
        crypto: { momentum: 0.42, valuation: 0.24, social: 0.22, darkpool: 0.12 },
      },
      signal: {
        thresholds: {
          stock: { enterLong: 90, exitLong: 50, enterShort: 10, exitShort: 50 },
          crypto: { enterLong: 70, exitLong: 55, enterShort: 30, exitShort: 45 },
        },
        smoothingHalfLifeSessions: { stock: 5, etf: 2, crypto: 0.5 },
      },
      momentum: { gate: { halfLifeSessions: 20, target: { stock: 0.16, crypto: 0.6 } } },
      social: { counters: { halfLifeDays: { stock: 1, crypto: 0.5 } } },
    });
    expect(method.parameters.normalisation.probabilities).toHaveLength(101);
  });
});
