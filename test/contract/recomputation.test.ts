import { execFile, spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { roundToWholePoints } from "../../src/answers/rounding.ts";
import type { FullSignal } from "../../src/tool/signal.ts";
import { getWith, newToken } from "../support/agent.ts";
import { FOLDER, isMissing } from "../support/real-market.ts";
import { smallMarket } from "../support/small-market.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import {
  type FactorsAnswer,
  type MethodAnswer,
  momentumConfidence,
  readMethod,
  recompute,
} from "../support/third-party.ts";
import { verifies } from "../support/verifies.ts";

/** An answer of get_factors, including members that the recomputation itself does not need. */
interface Answer extends FactorsAnswer {
  readonly methodVersion: string;
  readonly market: string;
}

/** An answer, with the method and the table that it names. */
interface Named {
  readonly answer: Answer;
  readonly method: MethodAnswer;
}

const readerOf = async ({ base }: TestService) => {
  const token = await newToken(base);
  return async <T>(path: string): Promise<T> => {
    const response = await getWith(token, base + path);
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return (await response.json()) as T;
  };
};

/** Reads the factors of every instrument, as an agent does that has only a token. */
async function answersOf(read: Awaited<ReturnType<typeof readerOf>>): Promise<readonly Named[]> {
  const symbols: string[] = [];
  // A page ends before the answer becomes too long for a model.
  for (let cursor: string | null = ""; cursor !== null; ) {
    const next: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page = await read<{
      readonly items: readonly { readonly symbol: string }[];
      readonly nextCursor: string | null;
    }>(`/api/instruments?limit=500${next}`);
    symbols.push(...page.items.map(({ symbol }) => symbol));
    cursor = page.nextCursor;
  }
  const methods = new Map<string, MethodAnswer>();
  const named: Named[] = [];
  for (const symbol of symbols) {
    const answer = await read<Answer>(`/api/factors?detail=full&symbol=${symbol}`);
    const method = methods.get(answer.tableVersion) ?? (await readMethod(answer, read));
    methods.set(answer.tableVersion, method);
    named.push({ answer, method });
  }
  return named;
}

/** Simulated markets, which know nothing that is newer than their last close. */
const markets = await Promise.all(
  ["1", "2", "3"].map(async (SEED) => {
    const read = await readerOf(await startTestService({ SEED }));
    return { read, answers: await answersOf(read) };
  }),
);
const all = markets.flatMap(({ answers }) => answers);

/** Reads the factors of every instrument of a market folder as of an instant. */
async function answersAt(folder: string, asOf: string): Promise<readonly Named[]> {
  const market = { kind: "files", folder, asOf: new Date(asOf) } as const;
  return answersOf(await readerOf(await startTestService({}, { market })));
}

/** A market in a session: since the last close, messages and prints have arrived. */
const betweenCloses = await answersAt(await smallMarket(), "2014-02-24T17:00:00Z");

/** The factors that have a value, each with its z-score as it was answered and recomputed. */
const factorsOf = (named: readonly Named[]) =>
  named.flatMap(({ answer, method }) => {
    const { z } = recompute(answer, method);
    return Object.entries(answer.factors).map(([name, factor]) => ({
      ...{ name, label: `${answer.symbol} ${name}` },
      ...{ answered: factor.z, worked: z[name] },
    }));
  });

function expectExact(named: readonly Named[]): void {
  for (const { answer, method } of named) {
    const { symbol, score, scoreRaw, factors } = answer;
    const worked = recompute(answer, method);
    expect(roundToWholePoints(worked.score), symbol).toBe(score);
    if (scoreRaw === null) expect(worked.score, symbol).toBeNull();
    else expect(worked.score, symbol).toBeCloseTo(scoreRaw, 9);
    for (const [name, { contribution }] of Object.entries(factors)) {
      expect(worked.contributions[name] ?? 0, `${symbol} ${name}`).toBeCloseTo(contribution, 9);
    }
  }
  for (const { label, answered, worked } of factorsOf(named)) {
    if (answered === null) expect(worked, label).toBeNull();
    else expect(worked, label).toBeCloseTo(answered, 9);
  }
}

/** Counts the answers that have a value for a factor. */
const measured = (named: readonly Named[], name: string) =>
  named.filter(({ answer }) => answer.factors[name]?.z !== null).length;

describe("an agent with only a token, the answers of get_factors and the published tables", () => {
  verifies(
    "1/verification",
    "recomputes every score, contribution and z-score of simulated markets",
    () => {
      expect(all.length).toBeGreaterThanOrEqual(100);
      expectExact(all);
      for (const name of ["momentum", "valuation", "social", "darkpool"]) {
        expect(measured(all, name), name).toBeGreaterThan(30);
      }
    },
  );

  it("recomputes every score between two closes from what came since the last", () => {
    expect(betweenCloses).toHaveLength(4);
    expectExact(betweenCloses);
  });

  it.skipIf(isMissing)(
    "recomputes every score of real history",
    { tags: ["full"], timeout: 180_000 },
    async () => {
      const named = await answersAt(FOLDER, "2015-06-30T21:00:00Z");
      expect(new Set(named.map(({ answer }) => answer.market))).toEqual(new Set(["files"]));
      expectExact(named);
      expect(measured(named, "momentum")).toBeGreaterThan(100);
      expect(measured(named, "valuation")).toBeGreaterThan(100);
      expect(measured(named, "social")).toBeGreaterThan(20);
    },
  );

  it("recomputes the confidence of momentum", () => {
    let confidences = 0;
    for (const { answer, method } of all) {
      const { momentum } = answer.factors;
      if (answer.assetClass === "stock" || !momentum || momentum.z === null) continue;
      const worked = momentumConfidence(momentum, method);
      expect(worked, answer.symbol).toBeCloseTo(momentum.confidence, 12);
      confidences++;
    }
    expect(confidences).toBeGreaterThan(20);
  });

  it("recomputes the steadiness of every coin from its variance and the published table", async () => {
    let ranked = 0;
    for (const { read, answers } of markets) {
      for (const { answer, method } of answers) {
        if (answer.assetClass !== "crypto") continue;
        const table = method.tables[0]?.content.coins?.variances ?? [];
        const path = `/api/signals?detail=full&symbol=${answer.symbol}`;
        const { steadiness } = (await read<FullSignal>(path)).risk;
        const variance = steadiness.inputs[0]?.value ?? Number.NaN;
        const rank = table.filter((one) => one < variance).length + 1;
        expect(table).toContain(variance);
        expect(steadiness.value).toBeCloseTo(100 * (1 - (rank - 0.5) / table.length), 9);
        ranked++;
      }
    }
    expect(ranked).toBeGreaterThan(20);
  });

  it("finds every input that has a weight in the formulas of the docs", async () => {
    const path = new URL("../../docs/method-and-backtest.md", import.meta.url);
    const [, formulas = ""] =
      /## Recompute a score\n([\s\S]+?)\n## /.exec(await readFile(path, "utf8")) ?? [];
    const named = new Set([...formulas.matchAll(/\b[a-z]\w+/g)].map(([name]) => name));
    const weighted = all.flatMap(({ answer }) =>
      Object.values(answer.factors).flatMap(({ inputs = [] }) =>
        inputs.filter(({ weight }) => weight !== 0).map(({ name }) => name),
      ),
    );
    const unnamed = [...new Set(weighted)].filter(
      (name) => !named.has(name.replace(/^trend\d+d$/, "trend28d")),
    );
    expect(unnamed).toEqual([]);
    expect(new Set(weighted).size).toBeGreaterThan(10);
  });

  it("detects a modified answer or table", () => {
    const { answer, method } = all.find(
      ({ answer: { assetClass, factors } }) =>
        assetClass === "stock" && (factors.momentum?.z ?? 0) > 1,
    ) as Named;
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

const script = fileURLToPath(new URL("../independent/stock_scores.py", import.meta.url));

/** What the Python program finds for answers; it is given the JSON that a caller receives. */
async function foundInPython(named: readonly Named[]): Promise<Readonly<Record<string, number>>> {
  const stocks = named.filter(({ answer }) => answer.assetClass === "stock");
  const method = stocks[0]?.method;
  const run = promisify(execFile)("python3", [script]);
  const answers = stocks.map(({ answer }) => answer);
  run.child.stdin?.end(JSON.stringify({ method, reference: method, answers }));
  return JSON.parse((await run).stdout);
}

const hasPython = spawnSync("python3", ["--version"]).status === 0;
if (!hasPython) {
  process.stderr.write("\nSKIPPED: scores recomputed in Python: there is no python3\n\n");
}

it.skipIf(!hasPython)(
  "a program in another language recomputes every score and contribution to 1e-9, between two closes and at a close",
  { tags: ["full"] },
  async () => {
    let scores = 0;
    for (const named of [...markets.map(({ answers }) => answers), betweenCloses]) {
      const found = await foundInPython(named);
      expect(found.scoreError).toBeLessThan(1e-9);
      expect(found.contributionError).toBeLessThan(1e-9);
      expect(found.contributions).toBe(4 * (found.scores ?? 0));
      scores += found.scores ?? 0;
    }
    expect(scores).toBeGreaterThanOrEqual(100);
  },
);
