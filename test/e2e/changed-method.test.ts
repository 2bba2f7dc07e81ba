// @module-tag full

import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../../deploy/bundle.ts";
import { runningMethod } from "../../src/method/running.ts";
import { parseCheckpoint } from "../../src/tree/checkpoint.ts";
import { startProcess, temporaryFolder } from "../support/process.ts";
import { smallMarket } from "../support/small-market.ts";

/**
 * A copy of the project is changed, and its programs are run as they stand: nobody runs `npm run
 * method` there.
 */

const copy = temporaryFolder();
const dataFolder = temporaryFolder();
const program = join(copy, "src/cli/market-signal.js");
let market = "";

beforeAll(async () => {
  const parts = ["src", "tools", "wellknown", "deploy", "docs"];
  for (const name of [...parts, "package.json", "package-lock.json"]) {
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  market = await smallMarket();
});

/** Replaces text in a file of the copy. */
function change(file: string, from: string, to: string): void {
  const path = join(copy, "src", file);
  const text = readFileSync(path, "utf8");
  expect(text).toContain(from);
  writeFileSync(path, text.replaceAll(from, to));
}

/** Runs a backtest with the copy. @returns The version that it names, and its standard error. */
function runBacktest() {
  const args = ["backtest", "--market", market, "--from", "2014-01-10", "--to", "2014-03-31"];
  const { stdout, stderr } = spawnSync(process.execPath, [program, ...args, "--json"], {
    cwd: copy,
    encoding: "utf8",
  });
  return { version: JSON.parse(stdout).methodVersion as string, stderr };
}

const backtest = () => runBacktest().version;

const reports = () =>
  readdirSync(join(copy, "backtest"))
    .filter((name) => name.endsWith(".json"))
    .toSorted();

/** First word of each variant that was tried. */
const variants = () =>
  readFileSync(join(copy, "backtest/variants.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).variant.split(" ")[0]);

const modified = /^\d+\.\d+\.\d+\+modified\.[0-9a-f]{16}$/;

describe("a program whose method was changed", () => {
  it("keeps version and report name while code is only renamed and moved", () => {
    expect(backtest()).toBe(runningMethod().version);
    const [report] = reports();
    change("factors/momentum.ts", "averageZ", "meanOfScores");
    change("score/composite.ts", "score = 100 * normalCdf(z);", "score = pointsOf(z);");
    change(
      "score/composite.ts",
      "export const FACTORS_BY_CLASS",
      'import { pointsOf } from "./points.ts";\nexport const FACTORS_BY_CLASS',
    );
    writeFileSync(
      join(copy, "src/score/points.ts"),
      'import { normalCdf } from "../statistics/normal.ts";\nexport const pointsOf = (z: number) => 100 * normalCdf(z);\n',
    );
    expect(backtest()).toBe(runningMethod().version);
    expect(reports()).toEqual([report]);
  });

  it("has another version where a file that was added to the method changes", () => {
    change("score/points.ts", "100 * normalCdf(z)", "99 * normalCdf(z)");
    expect(backtest()).toMatch(modified);
    change("score/points.ts", "99 * normalCdf(z)", "100 * normalCdf(z)");
    expect(backtest()).toBe(runningMethod().version);
  });

  it("reports a changed constant and an added input as other variants, in files of their own", () => {
    const before = reports();
    const content = before.map((name) => readFileSync(join(copy, "backtest", name), "utf8"));
    change("score/signal-hysteresis.ts", "enterLong: 70", "enterLong: 71");
    const constant = backtest();
    change(
      "factors/momentum.ts",
      "=== undefined ? average :",
      "=== undefined ? average - 0.1 * missedSessions :",
    );
    const both = backtest();
    expect([constant, both]).toEqual([
      expect.stringMatching(modified),
      expect.stringMatching(modified),
    ]);
    expect(new Set([constant, both, ...variants()]).size).toBe(4);
    expect(variants()).toEqual(expect.arrayContaining([runningMethod().version, constant, both]));
    expect(reports()).toHaveLength(before.length + 2);
    expect(before.map((name) => readFileSync(join(copy, "backtest", name), "utf8"))).toEqual(
      content,
    );
  });

  it("answers and logs under the hash of what it computes", async () => {
    const { baseUrl } = await startProcess({ DATA_DIR: dataFolder }, program);
    const health = await fetch(`${baseUrl}/api/health`);
    const { methodVersion } = (await health.json()) as Readonly<Record<string, string>>;
    expect(methodVersion).toMatch(modified);
    const checkpoint = async () => (await fetch(`${baseUrl}/log/checkpoint`)).text();
    await expect.poll(checkpoint).toContain("\n");
    const { size } = parseCheckpoint(await checkpoint());
    const entries = await fetch(`${baseUrl}/log/tile/entries/000${size < 256 ? `.p/${size}` : ""}`);
    const text = await entries.text();
    const hashes = [...text.matchAll(/"methodHash":"([0-9a-f]{64})"/g)].map(([, hash]) => hash);
    expect(new Set(hashes).size).toBe(1);
    expect(hashes[0]).not.toBe(runningMethod().methodHash);
    expect(text).toContain(`"version":"${methodVersion}"`);
    expect(hashes[0]?.slice(0, 16)).toBe(methodVersion?.slice(-16));
  });

  it("says modified.unknown, and once why, where its hash cannot be computed", () => {
    change("method/invented-market.ts", "weeklyVolumes: weeklyVolumesOf(index, bars),", "");
    const { version, stderr } = runBacktest();
    expect(version).toMatch(/\+modified\.unknown\.[0-9a-f]{16}$/);
    expect(stderr.match(/.*cannot be computed.*/g)).toEqual([
      expect.stringContaining("The invented market of the method has no weeklyVolumes"),
    ]);
  });

  it("computes no hash for a command that names no version", () => {
    const { status, stderr } = spawnSync(process.execPath, [program, "admin", "status"], {
      env: { PATH: process.env.PATH ?? "", DATA_DIR: dataFolder },
      encoding: "utf8",
    });
    expect([status, stderr]).toEqual([0, ""]);
  });
});
