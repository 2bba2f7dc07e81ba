// @module-tag full

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { sessionsBetween } from "../../src/market/calendar.ts";
import { runningMethod } from "../../src/method/running.ts";
import type { BacktestResult } from "../../src/research/backtest/run-backtest.ts";
import type { SetsResult } from "../../src/research/backtest/together.ts";
import { randomAt } from "../../src/statistics/random.ts";
import { startBrowser } from "../support/browser.ts";
import { accessibilityFaults } from "../support/look.ts";
import { PROGRAM } from "../support/program.ts";
import { FOLDER, isMissing, reducedMarketFolder } from "../support/real-market.ts";

/** Ten years of a whole market take about 30 s, and longer on a busy machine. */
vi.setConfig({ testTimeout: 240_000 });

const root = mkdtempSync(join(tmpdir(), "backtest-"));
afterAll(() => rmSync(root, { recursive: true }));

/** Runs the backtest command to completion. */
const backtest = (...args: readonly string[]) => runWith({}, "backtest", ...args);

/** Runs a command to completion. */
async function runWith(settings: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd: root,
    env: { PATH: process.env.PATH ?? "", ...settings },
  });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text) => {
      said[name] += text;
    });
  }
  const [code] = await once(child, "close");
  return { code, ...said };
}

/** Writes a synthetic market folder: twelve stocks with permanently different drifts. */
function writeMarket(called: string, seed: number): string {
  const folder = join(root, called);
  mkdirSync(join(folder, "bars"), { recursive: true });
  const names = Array.from({ length: 12 }, (_, name) => `S${String(name).padStart(2, "0")}`);
  const rows = names.map((symbol) => `${symbol},Stock ${symbol},stock,NYSE,USD,Things`);
  const header = "symbol,name,assetClass,exchange,currency,sector";
  writeFileSync(join(folder, "instruments.csv"), `${[header, ...rows].join("\n")}\n`);
  const sessions = sessionsBetween("2012-01-01", "2014-12-31");
  for (const [name, symbol] of names.entries()) {
    let close = 100;
    const bars = sessions.map((date, day) => {
      close *= Math.exp(0.002 * (name / 11 - 0.5) + 0.02 * (randomAt(seed + name, day) - 0.5));
      const price = close.toFixed(4);
      return `${date},${price},${price},${price},${price},1000000,0,1`;
    });
    const columns = "date,open,high,low,close,volume,dividend,split";
    writeFileSync(join(folder, "bars", `${symbol}.csv`), `${[columns, ...bars].join("\n")}\n`);
  }
  return folder;
}

const PERIOD = ["--from", "2013-06-01", "--to", "2014-12-31"] as const;

/** Expression for pairs of labels of a chart that touch, in the browser. */
const OVERLAPPING_LABELS = `[...document.querySelectorAll(".plot")].flatMap((plot) => {
  const boxes = [...plot.querySelectorAll("text")]
    .map((text) => ({ text: text.textContent, box: text.getBoundingClientRect() }))
    .filter(({ box }) => box.width > 0);
  return boxes.flatMap((one, index) => boxes.slice(index + 1)
    .filter(({ box }) => box.left < one.box.right && one.box.left < box.right
      && box.top < one.box.bottom && one.box.top < box.bottom)
    .map((other) => one.text + " on " + other.text));
})`;

describe("market-signal backtest", () => {
  let market = "";
  beforeAll(() => {
    market = writeMarket("market", 0);
  });

  it("evaluates a market, prints the result, and writes the report, the figures and the log of tested variants", async () => {
    const { code, stdout, stderr } = await backtest("--market", market, ...PERIOD);
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Backtest of the composite score, 2013-06-01 to 2014-12-31\n/);
    expect(stdout).toContain("95 % interval");
    expect(stdout).not.toContain("\u001b");
    const place = join(root, "backtest");
    const [figures = "", report = ""] = readdirSync(place)
      .filter((name) => !name.endsWith(".jsonl"))
      .toSorted()
      .reverse();
    const result = JSON.parse(readFileSync(join(place, figures), "utf8")) as BacktestResult;
    expect(result.classes.map(({ assetClass }) => assetClass)).toEqual(["stock"]);
    expect(readFileSync(join(place, report), "utf8")).toContain("<svg ");
    const name = `composite-all-2013-06-01-2014-12-31-week-${runningMethod().version}-${result.dataHash.slice(0, 8)}`;
    expect([figures, report]).toEqual([`${name}.json`, `${name}.html`]);
    const log = () => readFileSync(join(root, "backtest", "variants.jsonl"), "utf8").split("\n");
    expect(log().length).toBe(2);
    const again = await backtest("--market", market, ...PERIOD, "--factor", "momentum", "--json");
    const { classes } = JSON.parse(again.stdout) as BacktestResult;
    expect(classes[0]?.trials.variants).toBe(2);
    expect(log().length).toBe(3);
  });

  it("reports on several market folders, each apart and then together", async () => {
    const other = writeMarket("other", 100);
    const folders = ["--market", market, "--market", other, "--out", "several"];
    const { code, stdout, stderr } = await backtest(...folders, ...PERIOD, "--factor", "momentum");
    expect([code, stderr]).toEqual([0, ""]);
    for (const text of ["Set market", "Set other", "Stocks, all sets together: "]) {
      expect(stdout).toContain(text);
    }
    const names = readdirSync(join(root, "several"));
    const figures = names.find((name) => name.endsWith(".json")) ?? "";
    const { sets, together } = JSON.parse(
      readFileSync(join(root, "several", figures), "utf8"),
    ) as SetsResult;
    expect(sets.map(({ set }) => set)).toEqual(["market", "other"]);
    expect(together).toMatchObject([{ assetClass: "stock", instruments: 24 }]);
    const twice = await backtest("--market", market, "--market", market, ...PERIOD);
    expect(twice).toMatchObject({ code: 2, stdout: "" });
    expect(twice.stderr).toContain("names the same folder twice");
  });

  it("prints colors when they are enabled", async () => {
    const settings = { FORCE_COLOR: "1" };
    const { stdout } = await runWith(settings, "backtest", "--market", market, ...PERIOD);
    // ECMA-48 SGR sequence for bold.
    expect(stdout).toContain("\u001b[1mBacktest of the composite score");
  });

  it("writes a report that is readable on a phone and a desktop, in light and dark mode", async () => {
    const browser = await startBrowser();
    const file = readdirSync(join(root, "backtest")).find((name) => name.endsWith(".html"));
    for (const [width, colorScheme, ...colors] of [
      [320, "light", "rgb(245, 245, 241)", "rgb(90, 99, 96)"],
      [390, "dark", "rgb(16, 20, 19)", "rgb(160, 170, 166)"],
      [1280, "dark", "rgb(16, 20, 19)", "rgb(160, 170, 166)"],
    ] as const) {
      const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
      const url = `file://${join(root, "backtest", file ?? "")}`;
      const noticed: string[] = [];
      page.on("request", (request) => noticed.push(request.url()));
      page.on("console", (message) => noticed.push(message.text()));
      await page.goto(url);
      expect(noticed).toEqual([url]);
      const element = "document.documentElement";
      expect(await page.evaluate(`${element}.scrollWidth - ${element}.clientWidth`)).toBe(0);
      const ground = await page.evaluate("getComputedStyle(document.body).backgroundColor");
      const label = "getComputedStyle(document.querySelector('.panel text')).fill";
      expect([ground, await page.evaluate(label)]).toEqual(colors);
      expect(await page.evaluate(OVERLAPPING_LABELS)).toEqual([]);
      await page.evaluate(
        "for (const one of document.querySelectorAll('details')) one.open = true",
      );
      expect(await accessibilityFaults(page)).toEqual([]);
      await page.close();
    }
  });

  it("explains an error, and exits with the code for that error", async () => {
    const usage = await backtest("--market", market, "--from", "2013-06-01");
    expect(usage).toMatchObject({ code: 2, stdout: "" });
    expect(usage.stderr).toContain("--to: is missing");
    const stranger = await backtest("--market", market, ...PERIOD, "--symbols", "S10-A");
    expect(stranger).toMatchObject({ code: 2, stdout: "" });
    expect(stranger.stderr).toMatch(/no instrument S10-A .* Did you mean S10\?/);
    const nowhere = await backtest("--market", join(root, "nowhere"), ...PERIOD);
    expect(nowhere).toMatchObject({ code: 1, stdout: "" });
    expect(nowhere.stderr).toContain("there is no such file");
    const empty = await backtest("--market", market, "--from", "2020-01-01", "--to", "2021-01-01");
    expect(empty).toMatchObject({ code: 1, stdout: "" });
    expect(empty.stderr).toContain("the folder has bars from 2012-01-03 to 2014-12-31");
    expect((await backtest("--help")).stdout).toContain("market-signal backtest --market <folder>");
  });
});

describe.skipIf(isMissing)("market-signal backtest on real history", { tags: ["nightly"] }, () => {
  it("finds that messages correlate with the return of the same day", async () => {
    const spoken = readdirSync(join(FOLDER, "mentions")).map((name) => name.slice(0, -6));
    const folder = await reducedMarketFolder({ symbols: spoken, lastDate: "2015-12-31" });
    const period = ["--from", "2014-01-02", "--to", "2015-12-31", "--factor", "social"];
    const { stdout } = await backtest("--market", folder, ...period, "--json");
    const { sameDay, verdict } = (JSON.parse(stdout) as BacktestResult).classes[0] ?? {};
    expect(sameDay?.mean).toBeGreaterThanOrEqual(0.03);
    expect(sameDay?.t).toBeGreaterThanOrEqual(3);
    expect(verdict).toBe("no_evidence");
  });

  it("agrees with an independent backtest on the score of stocks", async () => {
    const period = ["--from", "2014-07-01", "--to", "2024-12-06"];
    const { stdout } = await backtest("--market", FOLDER, ...period, "--json");
    const [stock] = (JSON.parse(stdout) as BacktestResult).classes;
    const at = (length: number) => stock?.horizons.find(({ horizon }) => horizon === length);
    expect(stock?.verdict).toBe("positive");
    // Measured elsewhere for surprise, residual momentum and reversal alone, 2014-07 to 2018 and
    // 2019 to 2024, here weighted by their years.
    for (const [mean, independent] of [
      [at(5)?.ic?.mean, 0.0128],
      [at(5)?.neutralIc?.mean, 0.017],
      [at(21)?.neutralIc?.mean, 0.0137],
    ] as const) {
      expect(Math.abs((mean ?? Number.NaN) - independent)).toBeLessThan(0.002);
    }
    for (const { ic } of stock?.horizons ?? []) expect(ic?.mean).toBeLessThan(0.05);
  });
});
