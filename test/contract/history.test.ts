// @module-tag full

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newToken } from "../support/agent.ts";
import { FOLDER, isMissing, reducedMarketFolder } from "../support/real-market.ts";
import { startTestService } from "../support/test-service.ts";

/** Test timeout in milliseconds, since reading years of a whole market takes many seconds. */
const timeout = 180_000;

/**
 * Stocks of four sectors, each with enough peers for its own valuation table. Together with the
 * instruments that `SAMPLE` adds, they cover every class and feed. Most have few messages, so that
 * their files are short.
 */
const STOCKS = [
  ...["AAPL", "ACN", "ADBE", "AMAT", "CTSH", "EA", "EBAY", "IBM", "QCOM", "TXN"],
  ...["ABT", "BAX", "BIIB", "BMY", "BSX", "CNC", "LLY", "UNH"],
  ...["AXP", "BK", "CB", "KEY", "MS", "PNC", "TFC", "USB"],
  ...["AEE", "AES", "CNP", "DTE", "ED", "NI", "SRE", "XEL"],
];
const SAMPLE = [...STOCKS, "IWM", "SPY", "BTC-USD", "ETH-USD"];

async function serve(folder: string, asOf: string) {
  const market = { kind: "files", folder, asOf: new Date(asOf) } as const;
  const { base } = await startTestService({}, { market });
  const token = await newToken(base);
  const read = async (path: string) => {
    const headers = { authorization: `Bearer ${token}`, "x-request-id": "same" };
    const response = await fetch(`${base}${path}`, { headers });
    return { status: response.status, text: await response.text() };
  };
  const json = async <T>(path: string): Promise<T> => JSON.parse((await read(path)).text) as T;
  return { read, json };
}

/** All tests share one copy of the sample and one service for each instant. */
let sample: Promise<string> | undefined;
const services = new Map<string, ReturnType<typeof serve>>();
async function serveSample(asOf: string) {
  sample ??= reducedMarketFolder({ symbols: SAMPLE });
  const service = services.get(asOf) ?? serve(await sample, asOf);
  services.set(asOf, service);
  return service;
}

/** Serves the sample without data that became known after a date. */
const servePast = async (lastDate: string, asOf: string) =>
  serve(await reducedMarketFolder({ symbols: SAMPLE, lastDate }), asOf);

interface Factors {
  readonly status: string;
  readonly tableVersion: string;
  readonly factors: Readonly<
    Record<
      string,
      {
        readonly status: string;
        readonly z: number | null;
        readonly inputs: readonly { readonly name: string; readonly value: number }[];
      }
    >
  >;
}

const inputOf = ({ factors }: Factors, factor: string, name: string) =>
  factors[factor]?.inputs.find((input) => input.name === name)?.value ?? Number.NaN;

describe.skipIf(isMissing)("real history", { timeout }, () => {
  it("has momentum, valuation and social factors for AAPL on 2015-06-30", async () => {
    const { json } = await serveSample("2015-06-30T21:00:00Z");
    const { factors } = await json<Factors>("/api/factors?detail=full&symbol=AAPL");
    for (const name of ["momentum", "valuation", "social"]) {
      expect(factors[name], name).toMatchObject({ status: "ok", z: expect.any(Number) });
    }
    expect(factors.darkpool).toMatchObject({ status: "no_feed", z: null });

    const signal = await json<object>("/api/signals?detail=full&symbol=AAPL");
    expect(signal).toMatchObject({
      market: "files",
      asOf: "2015-06-30T21:00:00.000Z",
      missingFactors: ["darkpool"],
      price: { value: 125.4299, currency: "USD", at: "2015-06-30T20:15:00.000Z" },
    });
    const { items } = await json<{ items: object[] }>("/api/signals?detail=full&limit=500");
    expect(items.length).toBe(SAMPLE.length - 1);
  });

  it("has the same momentum as an independent calculation from the bars in the files", async () => {
    const service = await serveSample("2015-06-30T21:00:00Z");
    const expected = naiveMomentum(await adjustedBars(STOCKS), "2015-06-30");
    for (const symbol of STOCKS) {
      const factors = await service.json<Factors>(`/api/factors?detail=full&symbol=${symbol}`);
      for (const [name, value] of Object.entries(expected(symbol))) {
        expect(inputOf(factors, "momentum", name), `${symbol} ${name}`).toBeCloseTo(value, 6);
      }
    }
  });

  it("has IBM's 7,458 off-exchange prints of 2013-10-07 as of 2013-10-11", async () => {
    const { json } = await serveSample("2013-10-11T21:00:00Z");
    const { days } = await json<{ days: { session: string }[] }>(
      "/api/darkpool?detail=full&symbol=IBM&view=days",
    );
    const day = days.find(({ session }) => session === "2013-10-07") as unknown as {
      prints: number;
      shares: number;
      shareOfVolume: number;
    };
    expect(day).toMatchObject({ prints: 7_458, shares: 1_228_746 });
    expect(day.shareOfVolume).toBeCloseTo(0.31, 3);
    const signal = await json<object>("/api/signals?detail=full&symbol=IBM");
    expect(signal).toMatchObject({ signal: "WAIT", status: "partial" });
  });

  it("is continuous for AAPL across the 7-for-1 split of 2014-06-09", async () => {
    const { json } = await serveSample("2014-06-09T21:00:00Z");
    const before = await json<Factors>(
      "/api/factors?detail=full&symbol=AAPL&asOf=2014-06-06T21:00:00Z",
    );
    const after = await json<Factors>("/api/factors?detail=full&symbol=AAPL");
    const capBefore = inputOf(before, "valuation", "marketCapUsd");
    const capAfter = inputOf(after, "valuation", "marketCapUsd");
    expect(capAfter / capBefore).toBeCloseTo((93.7 * 7) / 645.57, 6);
    const change =
      inputOf(after, "momentum", "return12m1") - inputOf(before, "momentum", "return12m1");
    expect(Math.abs(change)).toBeLessThan(0.05);
  });

  it("has IWM's short ratio and Bitcoin's network value on 2020-06-30", async () => {
    const { json } = await serveSample("2020-06-30T23:00:00Z");
    const { factors } = await json<Factors>("/api/factors?detail=full&symbol=IWM");
    expect(factors.darkpool?.status).toBe("ok");
    const btc = await json<Factors>("/api/factors?detail=full&symbol=BTC-USD");
    expect(btc.factors.valuation?.status).toBe("ok");
    expect(btc.factors.momentum?.status).toBe("ok");
  });

  it("gives byte-identical answers for a past instant after later data are deleted", async () => {
    const asOf = "2015-06-30T21:00:00Z";
    const whole = await serveSample(asOf);
    const past = await servePast("2015-06-30", asOf);
    const paths = [
      "/api/instruments?limit=500",
      "/api/signals?detail=full&limit=500",
      ...SAMPLE.flatMap((symbol) => [
        `/api/signals?detail=full&symbol=${symbol}`,
        `/api/signals?detail=full&symbol=${symbol}&from=2014-01-01T00:00:00Z&limit=500`,
        `/api/factors?detail=full&symbol=${symbol}`,
        `/api/darkpool?detail=full&symbol=${symbol}`,
      ]),
    ];
    const answers = [];
    for (const path of paths) {
      const answer = await past.read(path);
      expect(answer, path).toEqual(await whole.read(path));
      answers.push(answer);
    }
    // Every answer succeeds except the four about the coin that is listed after this instant.
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(paths.length - 4);
  });

  it("excludes later prints, filings and messages for a past instant", async () => {
    const asOf = "2013-12-30T21:15:00Z";
    const whole = await serveSample("2014-02-07T21:15:00Z");
    const past = await servePast("2013-12-30", "2014-02-07T21:15:00Z");
    for (const symbol of SAMPLE) {
      for (const tool of ["signals", "factors", "darkpool"]) {
        const path = `/api/${tool}?detail=full&symbol=${symbol}&asOf=${asOf}`;
        expect(await whole.read(path), path).toEqual(await past.read(path));
      }
    }
  });
});

/**
 * A bar with its prices as traded, and with the log return since the previous bar, adjusted for
 * dividends and splits.
 */
interface AdjustedBar {
  readonly date: string;
  readonly high: number;
  readonly close: number;
  readonly logReturn: number | null;
}

/** Reads the bars of each stock without the project's own reader. */
async function adjustedBars(symbols: readonly string[]) {
  const bars = new Map<string, readonly AdjustedBar[]>();
  for (const symbol of symbols) {
    const text = await readFile(join(FOLDER, "bars", `${symbol}.csv`), "utf8");
    let before: number | undefined;
    const rows = text.trimEnd().split(/\r?\n/).slice(1);
    const list = rows.map((row): AdjustedBar => {
      const [date = "", , high, , close, , dividend, split] = row.split(",");
      const value = (Number(close) + Number(dividend)) * Number(split);
      const logReturn = before === undefined ? null : Math.log(value / before);
      before = Number(close);
      return { date, high: Number(high), close: Number(close), logReturn };
    });
    bars.set(symbol, list);
  }
  return bars;
}

/**
 * Momentum computed directly from its formulas: every sum runs over the whole window, and the
 * market return is the mean over these stocks with equal weights.
 */
function naiveMomentum(bars: ReadonlyMap<string, readonly AdjustedBar[]>, last: string) {
  const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);
  const usable = [...bars.values()].flat().filter(({ logReturn }) => isUsable(logReturn));
  const byDate = Map.groupBy(usable, ({ date }) => date);
  const marketOn = (date: string) => {
    const returns = (byDate.get(date) ?? []).map(({ logReturn }) => logReturn ?? 0);
    return sum(returns) / returns.length;
  };
  return (symbol: string) => {
    const known = (bars.get(symbol) ?? []).filter(({ date }) => date <= last);
    const window = known.slice(-252, -21).filter(({ logReturn }) => isUsable(logReturn));
    const r = window.map(({ logReturn }) => logReturn ?? 0);
    const m = window.map(({ date }) => marketOn(date));
    const mean = (values: readonly number[]) => sum(values) / values.length;
    const covariance = (a: readonly number[], b: readonly number[]) =>
      mean(a.map((value, index) => (value - mean(a)) * ((b[index] ?? 0) - mean(b))));
    const beta = covariance(r, m) / covariance(m, m);
    const b = 0.66 * Math.max(-1, Math.min(4, beta)) + 0.34;
    const rest = r.map((value, index) => value - b * (m[index] ?? 0));
    let since = 0;
    const highs = known
      .slice(-252)
      .reverse()
      .map(({ high, close, logReturn }) => {
        const level = Math.log(high / close) - since;
        since += logReturn ?? 0;
        return level;
      });
    return {
      return12m1: sum(r),
      residualMomentum: sum(rest) / Math.sqrt(rest.length * covariance(rest, rest)),
      high52w: -Math.max(...highs),
    };
  };
}

const isUsable = (logReturn: number | null): boolean =>
  logReturn !== null && Math.abs(logReturn) <= 0.8;
