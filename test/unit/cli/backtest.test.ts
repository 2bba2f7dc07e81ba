import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { BacktestResult } from "../../../src/backtest/run-backtest.ts";
import { readBacktestCall } from "../../../src/cli/backtest/arguments.ts";
import { createProgressBar } from "../../../src/cli/backtest/progress-bar.ts";
import { logTrials, readTrials } from "../../../src/cli/backtest/trial-log.ts";

const folder = mkdtempSync(join(tmpdir(), "backtest-"));
afterAll(() => rmSync(folder, { recursive: true }));

const read = (line: string) => readBacktestCall(line.split(" "), "/work");

describe("the command line", () => {
  it("asks for the composite by the week when nothing else is said", () => {
    expect(read("--market m --from 2014-01-01 --to 2015-12-31")).toEqual({
      kind: "run",
      market: "/work/m",
      out: "/work/backtest",
      isJson: false,
      question: {
        subject: "composite",
        from: "2014-01-01",
        to: "2015-12-31",
        symbols: [],
        pace: "week",
        seed: 1,
      },
    });
  });

  it("takes symbols, factor, pace and place", () => {
    const line =
      "--market /m --from 2014-01-01 --to 2015-12-31 --symbols A,B --factor darkpool --out o --json";
    expect(read(line)).toMatchObject({
      ...{ market: "/m", out: "/work/o", isJson: true },
      question: { subject: "darkpool", symbols: ["A", "B"], pace: "session" },
    });
    expect(read(`${line} --pace week`)).toMatchObject({ question: { pace: "week" } });
  });

  it("explains one score", () => {
    expect(read("--market m --explain AAPL 2015-06-30")).toEqual({
      ...{ kind: "explain", market: "/work/m", symbol: "AAPL", date: "2015-06-30" },
      isJson: false,
    });
  });

  it.each([
    ["--from 2014-01-01 --to 2015-01-01", "--market: is missing: name a market folder."],
    ["--market m --to 2015-01-01", "--from: is missing: name the first date."],
    ["--market m --from 2014-01-01", "--to: is missing: name the last date."],
    ["--market m --from 2014-02-30 --to 2015-01-01", "--from: is not a date such as 2014-12-31."],
    ["--market m --from 2016-01-01 --to 2015-01-01", "--from: is after --to."],
    ["--market m --from 2014-01-01 --to 2015-01-01 --factor luck", "--factor: is none of momentum"],
    ["--market m --from 2014-01-01 --to 2015-01-01 --pace day", "--pace: is none of week, session"],
    ["--market m --from 2014-01-01 --to 2015-01-01 --symbols A,,B", "--symbols: needs symbols"],
    ["--market m --from 2014-01-01 --to 2015-01-01 extra", "There is nothing to do with extra."],
    ["--market m --explain AAPL", "--explain: needs a symbol and a date."],
    ["--market m --explain AAPL soon", "--explain: is not a date such as 2014-12-31."],
    ["--market m --explain AAPL 2015-01-01 more", "There is nothing to do with more."],
    ["--market m --nonsense", "Unknown option '--nonsense'."],
  ])("is refused: %s", (line, message) => {
    expect(() => read(line)).toThrow(message);
  });
});

describe("the log of variants", () => {
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

  it("is empty before the first variant, and keeps every one after", async () => {
    expect(await readTrials(folder)).toEqual([]);
    await logTrials(folder, tried("a", { mean: 0.01, t: 1, interval: {}, dates: 9 }));
    await logTrials(folder, tried("b", { mean: 0.02, t: 2, interval: {}, dates: 9 }));
    await logTrials(folder, tried("could not be measured", null));
    expect(await readTrials(folder)).toEqual([
      { variant: "a", sharpePerYear: 0.5 },
      { variant: "b", sharpePerYear: 0.5 },
    ]);
    const [line = ""] = readFileSync(join(folder, "variants.jsonl"), "utf8").split("\n");
    expect(JSON.parse(line)).toMatchObject({ variant: "a", verdict: "no_evidence", ic: 0.01 });
  });

  it("is not guessed at when it is damaged", async () => {
    const damaged = mkdtempSync(join(folder, "damaged-"));
    writeFileSync(join(damaged, "variants.jsonl"), '{"variant":"a","sharpePerYear":1}\n{"var');
    await expect(readTrials(damaged)).rejects.toThrow(/variants\.jsonl:2: this is no line/);
  });
});

describe("the progress bar", () => {
  function terminal(isTTY: boolean) {
    const written: string[] = [];
    const clock = { now: 1_000 };
    const output = { isTTY, write: (text: string) => written.push(text) };
    return { written, clock, bar: createProgressBar(output, () => clock.now) };
  }

  it("fills up, at most ten times a second, and is taken away", () => {
    const { written, clock, bar } = terminal(true);
    bar.say("reading");
    bar.show({ session: "2014-01-02", scores: 12_345, fraction: 0.5 });
    clock.now += 99;
    bar.show({ session: "2014-01-03", scores: 12_400, fraction: 0.6 });
    clock.now += 2_001;
    bar.show({ session: "2014-01-06", scores: 12_500, fraction: 1.2 });
    bar.end();
    expect(written).toEqual([
      "\r\u001b[Kreading ...",
      `\r\u001b[K${"█".repeat(15)}${"░".repeat(15)}  50 %  2014-01-02  12,345 scores  0 s`,
      `\r\u001b[K${"█".repeat(30)} 100 %  2014-01-06  12,500 scores  2 s`,
      "\r\u001b[K",
    ]);
  });

  it("is never written to anything but a terminal", () => {
    const { written, bar } = terminal(false);
    bar.say("reading");
    bar.show({ session: "2014-01-02", scores: 1, fraction: 0.5 });
    bar.end();
    expect(written).toEqual([]);
  });
});
