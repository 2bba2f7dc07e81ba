import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { commands } from "../../../src/cli/all-commands.ts";
import { readCommandLine } from "../../../src/cli/command-line.ts";
import type { BacktestResult } from "../../../src/research/backtest/run-backtest.ts";
import { appendTrials, readTrials } from "../../../src/research/backtest/trial-log.ts";

const folder = mkdtempSync(join(tmpdir(), "backtest-"));
afterAll(() => rmSync(folder, { recursive: true }));

const read = (line: string) => readCommandLine(line.split(" "), commands, { folder, env: {} });

describe("the command line of a backtest", () => {
  it("evaluates the composite score of all instruments by default", () => {
    expect(read("backtest --market m --from 2014-01-01 --to 2015-12-31")).toMatchObject({
      kind: "run",
      isJson: false,
      args: {
        market: ["m"],
        from: "2014-01-01",
        to: "2015-12-31",
        symbols: [],
        factor: "composite",
        out: "backtest",
      },
    });
  });

  it("accepts symbols, a factor, a speed and directories", () => {
    const line =
      "backtest --market /m --from 2014-01-01 --to 2015-12-31 --symbols A,B --factor darkpool --out o --json";
    expect(read(`${line} --pace week`)).toMatchObject({
      isJson: true,
      args: { market: ["/m"], out: "o", factor: "darkpool", symbols: ["A", "B"], pace: "week" },
    });
  });

  it("accepts several market folders", () => {
    const line = "backtest --market a --market b --from 2014-01-01 --to 2015-12-31";
    expect(read(line)).toMatchObject({ args: { market: ["a", "b"] } });
  });

  it.each([
    ["backtest --from 2014-01-01 --to 2015-01-01", "--market: is missing: name a market folder."],
    ["backtest --market m --to 2015-01-01", "--from: is missing: name the first date."],
    ["backtest --market m --from 2014-01-01", "--to: is missing: name the last date."],
    [
      "backtest --market m --from 2014-02-30 --to 2015-01-01",
      "--from: is not a date such as 2014-12-31.",
    ],
    ["backtest --market m --from 2016-01-01 --to 2015-01-01", "--from: is after --to."],
    [
      "backtest --market m --from 2014-01-01 --to 2015-01-01 --factor luck",
      "--factor: is none of momentum",
    ],
    [
      "backtest --market m --from 2014-01-01 --to 2015-01-01 --pace day",
      "--pace: is none of week, session",
    ],
    [
      "backtest --market m --from 2014-01-01 --to 2015-01-01 --symbols A,,B",
      "--symbols: needs symbols",
    ],
    [
      "backtest --market m --from 2014-01-01 --to 2015-01-01 extra",
      "There is nothing to do with extra.",
    ],
    ["backtest --market m --nonsense", "Unknown option '--nonsense'."],
  ])("is rejected with an error for the option or argument: %s", (line, message) => {
    expect(() => read(line)).toThrow(message);
  });
});

describe("the log of backtest variants", () => {
  const tried = (variant: string, ic: object | null) =>
    ({
      classes: [
        {
          trial: { variant, sharpePerYear: 0.5 },
          verdict: "no_evidence",
          headline: 5,
          horizons: [{ horizon: 5, ic }],
        },
      ],
    }) as unknown as BacktestResult;

  it("is empty before the first variant, and keeps every variant that was measured", async () => {
    expect(await readTrials(folder)).toEqual([]);
    await appendTrials(folder, tried("a", { mean: 0.01, t: 1, interval: {}, dates: 9 }));
    await appendTrials(folder, tried("b", { mean: 0.02, t: 2, interval: {}, dates: 9 }));
    await appendTrials(folder, tried("could not be measured", null));
    expect(await readTrials(folder)).toEqual([
      { variant: "a", sharpePerYear: 0.5 },
      { variant: "b", sharpePerYear: 0.5 },
    ]);
    const [line = ""] = readFileSync(join(folder, "variants.jsonl"), "utf8").split("\n");
    expect(JSON.parse(line)).toMatchObject({ variant: "a", verdict: "no_evidence", ic: 0.01 });
  });

  it("is rejected when the file is damaged", async () => {
    const damaged = mkdtempSync(join(folder, "damaged-"));
    writeFileSync(join(damaged, "variants.jsonl"), '{"variant":"a","sharpePerYear":1}\n{"var');
    await expect(readTrials(damaged)).rejects.toThrow(/variants\.jsonl:2: this is no line/);
  });
});
