// @module-tag full

import { describe, expect, it } from "vitest";
import { roundToWholePoints } from "../../src/answers/rounding.ts";
import { getWith, newToken } from "../support/agent.ts";
import { startProcess } from "../support/process.ts";
import { FOLDER, isMissing } from "../support/real-market.ts";
import { LOOSE_LIMITS } from "../support/test-service.ts";

import {
  type FactorsAnswer,
  type MethodAnswer,
  readMethod,
  recompute,
} from "../support/third-party.ts";
import { verifies } from "../support/verifies.ts";

/** A page of the list of instruments. */
interface Page {
  readonly items: readonly { readonly symbol: string }[];
  readonly nextCursor: string | null;
}

/** Minimum number of instruments whose scores must be recomputed correctly in each market. */
const ENOUGH = 100;

/** An answer of get_factors, including members that the recomputation itself does not need. */
interface Answer extends FactorsAnswer {
  readonly methodVersion: string;
  readonly market: string;
}

/** An answer, and the score that an independent client recomputes from it. */
interface Recomputed {
  readonly answer: Answer;
  readonly worked: ReturnType<typeof recompute>;
}

/** Fetches every instrument's factors from a running service and recomputes each score. */
async function recomputeAll(env: Readonly<Record<string, string>>): Promise<readonly Recomputed[]> {
  const { baseUrl } = await startProcess({ RATE_LIMITS: LOOSE_LIMITS, ...env });
  const token = await newToken(baseUrl);
  const read = async <T>(path: string): Promise<T> => {
    const response = await getWith(token, baseUrl + path);
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return (await response.json()) as T;
  };
  const methods = new Map<string, Promise<MethodAnswer>>();
  const methodOf = (answer: Answer) => {
    const method = methods.get(answer.tableVersion) ?? readMethod(answer, read);
    methods.set(answer.tableVersion, method);
    return method;
  };

  const items: { symbol: string }[] = [];
  // A page ends before the answer becomes too long for a model.
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page: Page = await read<Page>(`/api/instruments?limit=500${query}`);
    items.push(...page.items);
    cursor = page.nextCursor;
  }
  const recomputed: Recomputed[] = [];
  for (const { symbol } of items) {
    const answer = await read<Answer>(`/api/factors?detail=full&symbol=${symbol}`);
    recomputed.push({ answer, worked: recompute(answer, await methodOf(answer)) });
  }
  return recomputed;
}

function expectExact(all: readonly Recomputed[]): void {
  expect(all.length).toBeGreaterThanOrEqual(ENOUGH);
  for (const { answer, worked } of all) {
    const { symbol, score, scoreRaw, factors } = answer;
    expect(roundToWholePoints(worked.score), symbol).toBe(score);
    if (scoreRaw === null) expect(worked.score, symbol).toBeNull();
    else expect(worked.score, symbol).toBeCloseTo(scoreRaw, 9);
    for (const [name, { z }] of Object.entries(factors)) {
      if (z === null) expect(worked.z[name], `${symbol} ${name}`).toBeNull();
      else expect(worked.z[name], `${symbol} ${name}`).toBeCloseTo(z, 9);
    }
  }
}

/** Counts the answers that have a value for a factor. */
const measured = (all: readonly Recomputed[], name: string) =>
  all.filter(({ answer }) => answer.factors[name]?.z !== null).length;

describe("an independent client with only a token, the answers of get_factors and the published tables", () => {
  verifies("1/verification", "recomputes every score of simulated markets exactly", async () => {
    const all = [
      ...(await recomputeAll({ SEED: "1" })),
      ...(await recomputeAll({ SEED: "2" })),
      ...(await recomputeAll({ SEED: "3" })),
    ];
    expectExact(all);
    for (const name of ["momentum", "valuation", "social", "darkpool"]) {
      expect(measured(all, name), name).toBeGreaterThan(30);
    }
  });

  it.skipIf(isMissing)("recomputes every score of real history", async () => {
    const all = await recomputeAll({
      MARKET: `files:${FOLDER}`,
      AS_OF: "2015-06-30T21:00:00Z",
    });
    expect(new Set(all.map(({ answer }) => answer.market))).toEqual(new Set(["files"]));
    expectExact(all);
    expect(measured(all, "momentum")).toBeGreaterThan(ENOUGH);
    expect(measured(all, "valuation")).toBeGreaterThan(ENOUGH);
    expect(measured(all, "social")).toBeGreaterThan(20);
  });
});
