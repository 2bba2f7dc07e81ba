import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { MethodLock } from "../../../src/method/outputs.ts";
import lock from "../../../src/score/method.lock.json" with { type: "json" };

/**
 * The outputs of the method are computed in a copy of the project in which one thing is changed.
 */

const root = fileURLToPath(new URL("../../..", import.meta.url));
const copy = mkdtempSync(join(tmpdir(), "method-"));
afterAll(() => rmSync(copy, { recursive: true }));

type Change = readonly [file: string, from: string, to: string];

/**
 * Returns the method lock (the content of `method.lock.json`) that some changes of the code would
 * produce. The changes are then reverted.
 */
function lockAfter(changes: readonly Change[]): MethodLock {
  const before = new Map<string, string>();
  try {
    for (const [file, from, to] of changes) {
      const path = join(copy, "src", file);
      const text = readFileSync(path, "utf8");
      if (!before.has(path)) before.set(path, text);
      writeFileSync(path, text.replaceAll(from, to));
    }
    const out = execFileSync(process.execPath, ["src/method/lock.ts", "--print"], { cwd: copy });
    return (JSON.parse(out.toString("utf8")) as { readonly method: MethodLock }).method;
  } finally {
    for (const [path, text] of before) writeFileSync(path, text);
  }
}

/** Faults in formulas that do not change a constant of the method. */
const FAULTS: readonly Change[] = [
  ["factors/momentum.ts", "ram: r / Math.sqrt(n * variance)", "ram: r / Math.sqrt(variance)"],
  ["factors/momentum.ts", "(r - b * m) / Math.sqrt(n * left)", "(r - m) / Math.sqrt(n * left)"],
  ["factors/momentum.ts", "missedSessions === 0 ? 1 : 0.5", "missedSessions === 0 ? 1 : 1"],
  ["factors/price-history.ts", "(highs[at] as number) - since", "(highs[at] as number)"],
  ["factors/benchmark.ts", "(returns[closed] as number) / count", "(returns[closed] as number)"],
  ["factors/coin-history.ts", "logReturn ** 2", "Math.abs(logReturn)"],
  ["factors/network-value.ts", "Math.log(value)", "value"],
  ["factors/yields.ts", "marketCapUsd + debt.value - cash.value", "marketCapUsd + debt.value"],
  ["factors/peer-rank.ts", "(own < value ? 1 : 0)", "0"],
  ["factors/peer-rank.ts", "equal / 2 + 1", "equal + 1"],
  ["statistics/ecdf.ts", "/ 2;\n}", "/ 1.99;\n}"],
  ["statistics/statistics.ts", "(values.length - 1)", "values.length"],
  ["messages/message-weight.ts", "/ Math.sqrt(symbolCount)", ""],
  ["messages/message-weight.ts", "* 0.5 ** duplicates", ""],
  ["messages/message-counters.ts", "Math.log((1 + bullish) / (1 + bearish))", "bullish - bearish"],
  ["factors/social.ts", "(value - baseline.mean) ** 2", "value ** 2"],
  ["messages/attention.ts", "Math.max(0, (z ?? 0) -", "Math.max(-1, (z ?? 0) -"],
  ["factors/off-exchange.ts", "Math.abs(sign) < MIN_TRADE_SIGN ? 0 : sign", "sign"],
  ["factors/block-pressure.ts", "signed += side * notional", "signed += side"],
  ["factors/short-pressure.ts", "shortShares / totalShares", "shortShares / (totalShares + 1)"],
  ["factors/darkpool.ts", "isFresh(block.asOf) ? block.z : null", "block.z"],
  ["factors/volatility.ts", "Math.log(fast / slow)", "Math.log(fast / slow + 0.01)"],
  ["score/composite.ts", "squares += weight ** 2", "squares += weight"],
  ["score/stock-score.ts", "weights.parts / knownParts(normals)", "weights.parts / 3"],
  ["score/stock-score.ts", "weights.social * orZero", "weights.parts * orZero"],
  ["score/stock-score.ts", "if (set === 0) return 50;", "if (set === 0) return 49;"],
  ["score/stock-score.ts", "(ORDERS[others] as number)", "1"],
  ["score/stock-score.ts", "reversal: -(raw.monthReturn", "reversal: (raw.monthReturn"],
  [
    "score/stock-score.ts",
    "raw.residualMomentum - peerMean(means.residualMomentum, sector, minSector)",
    "raw.residualMomentum",
  ],
  [
    "score/stock-ranking.ts",
    "before !== undefined && isSame(raw, before.raw)",
    "before !== undefined",
  ],
  ["score/stock-ranking.ts", "before ?? NOT_IN_TABLES", "NOT_IN_TABLES"],
  ["score/stock-ranking.ts", "mean.value, mean.value", "mean.value, Number.NaN"],
  [
    "score/stock-scoring.ts",
    "state.newestBar?.availableAt === at",
    "state.newestBar !== undefined",
  ],
  ["score/stock-scoring.ts", "!Number.isNaN(standing.normals.residualMomentum)", "true"],
  ["score/stock-readings.ts", "(missedSessions === 0 ? 1 : 0.5),", "1,"],
  ["score/stock-readings.ts", "bars - surprise.bars", "bars"],
  ["score/close-tables.ts", "value) * of + 0.5", "value) * of"],
  ["score/close-tables.ts", "values.toSorted()", "values.slice()"],
  ["score/stock-steadiness.ts", "STEADINESS_RULES.weights[name] * normalIn", "normalIn"],
  ["score/stock-steadiness.ts", "100 * normalCdf(-this.riskZ)", "100 * normalCdf(this.riskZ)"],
  ["score/stock-steadiness.ts", "state.turnover ?? Number.NaN", "index"],
  ["score/coin-steadiness.ts", "coin.bars >= COIN_STEADINESS_RULES.minBars", "coin.bars >= 0"],
  ["score/coin-steadiness.ts", "newestBar?.availableAt === at", "newestBar !== undefined"],
  ["score/coin-steadiness.ts", "variances.length >= COIN_STEADINESS_RULES.minCoins", "true"],
  ["score/coin-steadiness.ts", "!Number.isNaN(value)).sort()", "!Number.isNaN(value))"],
  ["score/coin-steadiness.ts", "normalCdf(-riskZ)", "normalCdf(riskZ)"],
  ["score/signal-hysteresis.ts", "smoothed >= exitLong", "smoothed > 60"],
  ["score/signal-hysteresis.ts", 'if (!hasMomentum) return "no_momentum";', ""],
  ["score/shift-and-volatility-events.ts", "move <= rules.rearmWithin", "move < 0"],
  ["statistics/ecdf.ts", "p * sorted.length - 0.5", "p * sorted.length"],
  ["score/close-tables.ts", " && own.count >= minSector", ""],
  ["score/close-tables.ts", "means.all.count >= MIN_PEER_GROUP_SIZE", "means.all.count >= 0"],
];

/** Faults that the fixture does not show, with the reason. */
const SURVIVORS: readonly (readonly [...Change, reason: string])[] = [
  [
    ...([
      "factors/price-history.ts",
      "const isPeak = own >= peak",
      "const isPeak = own > 2",
    ] as const),
    "every close recomputes the running sums",
  ],
];

/** Changes of the source text that do not change behavior. */
const REFACTORINGS: readonly (readonly [title: string, changes: readonly Change[]])[] = [
  ["a function is renamed", [["factors/momentum.ts", "averageZ", "meanOfScores"]]],
  [
    "a comment changes",
    [["statistics/ecdf.ts", "* Minimum size of a peer group", "* Smallest size of a peer group"]],
  ],
  [
    "an expression is extracted into a function",
    [
      ["score/composite.ts", "const score = 100 * normalCdf(z);", "const score = pointsOf(z);"],
      [
        "score/composite.ts",
        "/** The readings of one instrument for the four factors. */",
        "const pointsOf = (z: number): number => 100 * normalCdf(z);\n\n/** The four readings. */",
      ],
    ],
  ],
  ["a private member is renamed", [["score/class-scorer.ts", "#tablesBefore", "#earlierTables"]]],
];

it("every mutation and refactoring replaces text that exists in the code", () => {
  const survivors = SURVIVORS.map(([file, from, to]): Change => [file, from, to]);
  const changes = [...FAULTS, ...survivors, ...REFACTORINGS.flatMap(([, all]) => all)];
  const textOf = (file: string) => readFileSync(join(root, "src", file), "utf8");
  expect(changes.filter(([file, from]) => !textOf(file).includes(from))).toEqual([]);
});

describe("the hash of the method", { timeout: 60_000, tags: ["nightly"] }, () => {
  beforeAll(() => {
    for (const name of ["src", "package.json"]) {
      cpSync(join(root, name), join(copy, name), { recursive: true });
    }
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  });

  it("equals the hash in the lock file for an unchanged copy of the code", () => {
    expect(lockAfter([])).toEqual(lock);
  });

  it.each(FAULTS)("changes when %s has a fault in the expression %j", (...fault) => {
    expect(lockAfter([fault]).methodHash).not.toBe(lock.methodHash);
  });

  it.each(SURVIVORS)(
    "does not change when %s has %j replaced by %j, because in the fixture %s",
    (file, from, to) => {
      expect(lockAfter([[file, from, to]])).toEqual(lock);
    },
  );

  it("changes when a constant changes", () => {
    const { methodHash, constants } = lockAfter([
      ["score/signal-hysteresis.ts", "enterLong: 90", "enterLong: 91"],
    ]);
    expect(constants).not.toBe(lock.constants);
    expect(methodHash).not.toBe(lock.methodHash);
  });

  it.each(REFACTORINGS)("does not change when %s", (_title, changes) => {
    expect(lockAfter(changes)).toEqual(lock);
  });
});
