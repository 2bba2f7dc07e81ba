import { describe, expect, it } from "vitest";
import type { Market } from "../../../src/market/market.ts";
import { classResults } from "../../../src/research/backtest/class-results.ts";
import type { BacktestQuestion } from "../../../src/research/backtest/question.ts";
import { reportPage, setsPage } from "../../../src/research/backtest/report/page.ts";
import { setsLines, summaryLines } from "../../../src/research/backtest/report/summary.ts";
import { coverageSentence, powerSentence } from "../../../src/research/backtest/report/words.ts";
import { runBacktest } from "../../../src/research/backtest/run-backtest.ts";
import { measureTogether } from "../../../src/research/backtest/together.ts";
import type { Trial } from "../../../src/research/backtest/trials.ts";
import { driftingMarket } from "./drifting-market.ts";

const QUESTION: BacktestQuestion = {
  subject: "momentum",
  from: "2013-06-01",
  to: "2016-12-30",
  symbols: [],
  pace: "week",
  seed: 1,
};

function run(
  market: Market,
  change: Partial<BacktestQuestion> = {},
  earlier: readonly Trial[] = [],
) {
  const progress: number[] = [];
  const question = { ...QUESTION, ...change };
  const onProgress = ({ fraction }: { readonly fraction: number }) => progress.push(fraction);
  const result = runBacktest({ market, question, earlier, onProgress });
  return { ...result, stock: result.classes[0], progress };
}

const horizonOf = (result: ReturnType<typeof run>, horizon: number) =>
  result.stock?.horizons.find((one) => one.horizon === horizon);

const skilled = driftingMarket({ names: 40, days: 1_830, drift: 0.004, ending: 2 });
const found = run(skilled);
const nothing = run(driftingMarket({ names: 40, days: 1_830, drift: 0 }));
const composite = run(skilled, { subject: "composite" });

describe("the backtest of a simulated market in which momentum predicts returns", () => {
  it("has a positive verdict, with matching coefficients, deciles and hit rates", () => {
    const headline = horizonOf(found, 5);
    expect(found.stock).toMatchObject({ verdict: "positive", basis: "neutral", headline: 5 });
    expect(headline?.neutralIc?.mean).toBeGreaterThan(0.05);
    expect(headline?.neutralIc?.interval.low).toBeGreaterThan(0.02);
    expect(headline?.book?.excess.at(-1)).toBeGreaterThan(headline?.book?.excess[0] as number);
    expect(headline?.hits?.long.rate).toBeGreaterThan(headline?.hits?.long.baseRate as number);
    expect(headline?.hits?.short.rate).toBeGreaterThan(headline?.hits?.short.baseRate as number);
    expect(headline?.hits?.median.rate).toBeGreaterThan(0.52);
    expect(found.stock?.probabilities?.skill).toBeGreaterThan(0);
  });

  it("shows no skill for shuffled scores or for an always-long rule", () => {
    const headline = horizonOf(found, 21);
    expect(Math.abs(headline?.shuffledIc?.t ?? 9)).toBeLessThan(3);
    expect(headline?.hits?.alwaysLong.rate).toBe(headline?.hits?.alwaysLong.baseRate);
  });

  it("includes instruments that stopped trading, and grades them until their last session", () => {
    expect(found.stock?.coverage).toMatchObject({ instruments: 40, ended: 2 });
    expect(found.stock?.coverage.names).toMatchObject({ fewest: 38, most: 40 });
    const dates = found.stock?.coverage.history.map(({ date }) => date) ?? [];
    const [first = "", last = ""] = [dates[0], dates.at(-1)];
    const traded = skilled
      .recordsUntil(0)
      .flatMap(({ bars }) =>
        [...bars].filter(({ session }) => session >= first && session <= last),
      );
    expect(found.stock?.signals.sessions).toBe(traded.length);
  });

  it("subtracts costs in proportion to turnover", () => {
    const book = horizonOf(found, 21)?.book;
    const [gross = 0, , ten = 0, twenty = 0] = book?.net.map(({ mean }) => mean) ?? [];
    expect(gross).toBeCloseTo(book?.spread.mean ?? 9, 12);
    expect(gross - ten).toBeCloseTo(4 * (book?.turnover ?? 9) * 0.001, 12);
    expect(gross - twenty).toBeCloseTo(2 * (gross - ten), 12);
  });

  it("earns nothing at the cost at which a book breaks even", () => {
    for (const book of [horizonOf(found, 5)?.book, horizonOf(found, 5)?.quintiles]) {
      const { spread, turnover = 9, breakEvenBp = null } = book ?? {};
      expect((spread?.mean ?? 9) - 4 * turnover * (breakEvenBp ?? 9) * 1e-4).toBeCloseTo(0, 12);
    }
    expect(horizonOf(found, 5)?.quintiles?.excess).toHaveLength(5);
  });

  it("grades every session beside the last ones of the weeks, with the same skill", () => {
    const weekly = horizonOf(found, 5)?.neutralIc;
    const every = found.stock?.everySession?.neutralIc;
    expect(every?.dates).toBeGreaterThan(4.5 * (weekly?.dates ?? 9));
    expect(every?.mean).toBeCloseTo(weekly?.mean ?? 9, 1);
  });

  it("has parts by year whose mean is the whole, and one part for each third of dollar volume", () => {
    const { neutralThirds = [], neutralYears = [], neutralIc } = horizonOf(found, 5) ?? {};
    expect(neutralYears.map(({ label }) => label)).toEqual(["2013", "2014", "2015", "2016"]);
    const sum = neutralYears.reduce((total, { mean, dates }) => total + mean * dates, 0);
    expect(sum / (neutralIc?.dates ?? 9)).toBeCloseTo(neutralIc?.mean ?? 9, 12);
    expect(neutralThirds.map(({ label }) => label)).toEqual(["small", "middle", "large"]);
    for (const { dates } of neutralThirds) expect(dates).toBe(neutralIc?.dates);
  });

  it("finds it with the estimator of the live claim", () => {
    expect(found.stock?.claim?.mean).toBeCloseTo(horizonOf(found, 5)?.neutralIc?.mean ?? 9, 1);
  });

  it("has returns and shares above the median that rise with the tenth of the score", () => {
    const { tenths = [], spread } = found.stock?.tenths ?? {};
    const [lowest, highest] = [tenths[0], tenths.at(-1)];
    expect(tenths).toHaveLength(10);
    expect(lowest?.beatMedian).toBeLessThan(0.45);
    expect(highest?.beatMedian).toBeGreaterThan(0.55);
    const difference = (highest?.neutralReturn ?? 9) - (lowest?.neutralReturn ?? 9);
    expect(spread?.mean).toBeCloseTo(difference, 12);
    expect(difference).toBeGreaterThan(0);
  });

  it("has a lower deflated Sharpe ratio when many variants were tried", { tags: ["full"] }, () => {
    const many = Array.from({ length: 5_000 }, (_, index) => ({
      variant: `other ${index}`,
      sharpePerYear: index / 1_000,
    }));
    const tired = run(skilled, { to: "2014-12-31" }, many);
    expect(tired.stock?.trials.variants).toBe(5_001);
    const fresh = run(skilled, { to: "2014-12-31" });
    const probability = (result: ReturnType<typeof run>) =>
      horizonOf(result, 5)?.deflatedSharpe ?? 9;
    expect(probability(tired)).toBeLessThan(probability(fresh));
  });
});

describe("the backtest of a simulated market in which nothing predicts returns", () => {
  it("has the verdict no_evidence", () => {
    expect(nothing.stock?.verdict).toBe("no_evidence");
    expect(Math.abs(horizonOf(nothing, 21)?.ic?.mean ?? 9)).toBeLessThan(0.05);
  });
});

describe("the verdict on a return horizon", () => {
  /** Returns the verdicts by horizon when every horizon has the same t value. */
  const verdictsAt = (t: number, earlier: readonly Trial[] = []) => {
    const measures = found.stock as NonNullable<typeof found.stock>;
    const horizons = measures.horizons.map((one) => ({
      ...one,
      neutralIc: one.neutralIc && { ...one.neutralIc, t, interval: { low: 0.001, high: 0.1 } },
    }));
    const circumstances = { question: QUESTION, methodVersion: "1.0.0", dataHash: "", earlier };
    const [result] = classResults([{ ...measures, horizons }], circumstances);
    return Object.fromEntries(
      result?.horizons.map(({ horizon, verdict }) => [horizon, verdict]) ?? [],
    );
  };

  it("is corrected for the number of horizons unless the horizon is the headline horizon", () => {
    expect(verdictsAt(2.3)).toMatchObject({ 5: "weak_positive", 21: "no_evidence" });
    expect(verdictsAt(2.6)).toMatchObject({ 5: "weak_positive", 21: "weak_positive" });
  });

  it("is also corrected for the number of variants that were tried before", () => {
    const earlier = Array.from({ length: 9 }, (_, index) => ({
      variant: `other ${index}`,
      sharpePerYear: null,
    }));
    expect(verdictsAt(2.7, earlier)).toMatchObject({ 5: "no_evidence", 21: "no_evidence" });
    expect(verdictsAt(3.1, earlier)).toMatchObject({ 5: "positive", 21: "no_evidence" });
  });
});

describe("a backtest", () => {
  it("returns the same result every time", { tags: ["full"] }, () => {
    expect(run(skilled)).toEqual(found);
  });

  it("uses no data after its last date", { tags: ["full"] }, () => {
    const whole = driftingMarket({ names: 40, days: 1_830, drift: 0.004, ending: 2 });
    const other = driftingMarket({
      ...{ names: 40, days: 1_830, drift: 0.004, ending: 2 },
      otherFrom: "2014-10-01",
    });
    const until = { to: "2014-09-30" };
    expect(run(other, until)).toEqual(run(whole, until));
    expect(run(other).stock).not.toEqual(found.stock);
  });

  it("returns the same result for a date as if history had ended soon afterwards", () => {
    const known = new Map(horizonOf(found, 5)?.history.map(({ date, value }) => [date, value]));
    const early = horizonOf(run(skilled, { to: "2014-09-30" }), 5)?.history ?? [];
    expect(early.length).toBeGreaterThan(50);
    for (const { date, value } of early) expect(known.get(date)).toBe(value);
  });

  it("includes only returns that end by the last date", () => {
    const last = (horizon: number) => horizonOf(found, horizon)?.history.at(-1)?.date ?? "";
    expect(last(1) <= "2016-12-28").toBe(true);
    expect(last(63) <= "2016-10-01").toBe(true);
    expect(last(1) > last(21)).toBe(true);
  });

  it("reports progress that never decreases and reaches the end", () => {
    expect(found.progress.length).toBeGreaterThan(500);
    expect(found.progress).toEqual(found.progress.toSorted((a, b) => a - b));
    expect(found.progress.at(-1)).toBeGreaterThan(0.99);
    expect(Math.max(...found.progress)).toBeLessThanOrEqual(1);
  });

  it("grades neither duplicate instruments nor constant prices, even when requested, and fails when no other instrument remains", () => {
    const market = driftingMarket({ names: 12, days: 900, drift: 0.002 });
    const records = market.recordsUntil(0);
    const [first] = records;
    if (!first) throw new Error("The market is empty.");
    const copy = { ...first, instrument: { ...first.instrument, symbol: "COPY" } };
    const doubled: Market = { ...market, recordsUntil: () => [...records, copy] };
    const period = { from: "2013-06-01", to: "2014-05-30" };
    const { stock } = run(doubled, period);
    expect(stock?.leftOut).toEqual({ copies: ["COPY"], still: [] });
    expect(stock?.coverage.instruments).toBe(12);
    const named = run(doubled, { ...period, symbols: ["S00", "S01", "COPY"] });
    expect(named.stock?.leftOut).toEqual({ copies: ["COPY"], still: [] });
    expect(named.stock?.coverage.instruments).toBe(2);
    expect(reportPage(named)).toContain("Not graded: COPY (moving like an older one).");
    const again = { ...copy, instrument: { ...copy.instrument, symbol: "AGAIN" } };
    const tripled: Market = { ...market, recordsUntil: () => [...records, copy, again] };
    expect(() => run(tripled, { ...period, symbols: ["COPY", "AGAIN"] })).toThrow(
      "COPY, AGAIN: copies of older instruments",
    );
    const alone = run(doubled, { ...period, symbols: ["COPY"] }).stock;
    expect(alone?.comparison).toBe("through_time");
  });

  it("can grade a single instrument over time", { tags: ["full"] }, () => {
    const single = run(skilled, { symbols: ["S39"], pace: "session" });
    expect(single.stock?.comparison).toBe("through_time");
    expect(horizonOf(single, 1)?.book).toBeNull();
    expect(horizonOf(single, 1)?.neutralIc).toBeNull();
    const { ic, history = [] } = horizonOf(single, 1) ?? {};
    expect(history.length).toBe(ic?.dates);
    expect(Math.abs(ic?.mean ?? 9)).toBeLessThan(1);
  });

  it("states which measure of a single factor is omitted, and why", { tags: ["full"] }, () => {
    const social = run(skilled, { subject: "social" });
    expect(social.stock?.sameDay).toBeNull();
    for (const text of [reportPage(social), summaryLines(social).join("\n")]) {
      expect(text).toContain("Same day: left out, because fewer than two sessions have 20 names");
    }
    const darkpool = run(skilled, { subject: "darkpool" });
    expect(reportPage(darkpool)).toContain(
      "Short ratio and the session after its publication: left",
    );
    expect(reportPage(found)).not.toContain("left out, because");
  });

  it("has no verdict for a handful of instruments", () => {
    const few = run(skilled, { symbols: ["S01", "S02", "S03"] });
    expect(few.stock?.verdict).toBe("insufficient_data");
    expect(horizonOf(few, 21)?.ic).toBeNull();
  });

  it("omits an asset class without a date to grade", () => {
    expect(run(skilled, { from: "2030-01-01", to: "2031-01-01" }).classes).toEqual([]);
  });

  it("grades the composite score, and reports the shares of the published signals LONG, SHORT and WAIT", {
    tags: ["full"],
  }, () => {
    const funds = driftingMarket({ names: 40, days: 1_830, drift: 0.002, areFunds: true });
    const graded = run(funds, { subject: "composite" });
    expect(graded.stock?.signals.shares.LONG).toBeGreaterThan(0);
    expect(graded.stock?.verdict).toBe("positive");
    const shares = Object.values(graded.stock?.signals.shares ?? {});
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 12);
    const books = graded.stock?.riskAdjusted?.books ?? [];
    const [deciles, , signals] = books;
    expect(signals?.name).toMatch(
      /^Published LONG less SHORT \(\d+\.\d and \d+\.\d names on average\)$/,
    );
    for (const book of [deciles, signals]) {
      expect(book?.equalWeight?.perYear).toBeGreaterThan(0.05);
      expect(book?.equalWeight?.t).toBeGreaterThan(3);
    }
    expect(reportPage(graded)).toContain("Return and risk a year, session by session");
  });

  it("grades the risk forecast only together with the composite score", () => {
    const { risk = [] } = composite.stock ?? {};
    expect(risk.map(({ horizon }) => horizon)).toEqual([5, 21]);
    for (const { evidence, years, fitted } of risk) {
      // This market ends before the quantiles of the method were fitted.
      expect(evidence).toMatchObject({ verdict: "insufficient_data", forecasts: 0 });
      expect(evidence.qlike.before?.forecast).toBeGreaterThan(0);
      expect(years).toEqual([]);
      expect(fitted?.length).toBe(101);
    }
    expect(found.stock?.risk).toEqual([]);
  });
});

describe("the backtest report", () => {
  const page = reportPage(found);

  it("is one HTML document without scripts or external resources", () => {
    expect(page).toMatch(/^<!doctype html>/);
    expect(page).not.toMatch(/<script|<link|<img|<iframe|@import|url\((?!#)|javascript:/i);
    expect(page.replaceAll("http://www.w3.org/", "")).not.toMatch(/https?:/);
    expect(page).not.toMatch(/NaN|Infinity|undefined|\[object/);
  });

  it("contains its charts, and a caption for every table", () => {
    expect(page.match(/<figure class="chart">/g)?.length).toBe(8);
    expect(page.match(/<div class="plot" role="img" aria-label="[^"]{40}/g)?.length).toBe(8);
    expect(page.match(/<table>/g)?.length).toBe(page.match(/<caption>/g)?.length);
    expect(page).toContain("prefers-color-scheme: dark");
    expect(page).not.toMatch(/stroke="#|fill="#| style="/);
  });

  it("states how many years of data would be needed to detect an effect of the measured size", () => {
    const [measured] = nothing.classes;
    const { neutralIc: ic } = horizonOf(nothing, 5) ?? {};
    if (!measured || !ic) throw new Error("Nothing was measured.");
    const years = (ic.dates * 5) / 252;
    const needed = Math.round(years * (2.8016 / ic.t) ** 2);
    const text = powerSentence(measured);
    expect(text).toContain(`there are ${years.toFixed(1)}.`);
    expect(text).toContain(needed > 1_000 ? "more than 1,000 years" : `about ${needed} years`);
    expect(found.stock && powerSentence(found.stock)).toBeUndefined();
  });

  it("says how much was tried before the method was chosen, for the score and its candidate", {
    tags: ["full"],
  }, () => {
    expect(found.stock?.methodTrials).toBeNull();
    const subject = "method-2";
    const candidate = run(skilled, { subject });
    expect(candidate.stock?.methodTrials?.tThreshold).toBeCloseTo(3.56, 2);
    expect(reportPage(candidate)).toContain("about 133 signals and composites were tried");
    expect(candidate.stock?.compared).toMatchObject({ subject: "composite" });
    expect(composite.stock?.compared).toMatchObject({
      subject,
      neutralIc: horizonOf(candidate, 5)?.neutralIc,
      ic: horizonOf(candidate, 5)?.ic,
    });
  });

  it("lists what was not graded, and why", () => {
    const [measured] = found.classes;
    if (!measured) throw new Error("Nothing was measured.");
    const leftOut = { copies: ["WETH-USD"], still: ["USDT-USD", "USDC-USD"] };
    expect(coverageSentence({ ...measured, leftOut })).toMatch(
      /Not graded: WETH-USD \(moving like an older one\); USDT-USD, USDC-USD \(hardly moving\)\.$/,
    );
    expect(coverageSentence(measured)).not.toContain("Not graded");
  });

  it("states which results are implausibly good, what is not shown, and that it is not advice", () => {
    expect(page).toContain("the coefficient is above 0.05");
    expect(page).toContain("Survivorship");
    expect(page).toContain("stocks: 2 of 40");
    expect(page).toContain("It is not advice.");
  });

  it("escapes text from users and data", () => {
    const hostile = { ...found, question: { ...found.question, symbols: ["<script>x</script>"] } };
    expect(reportPage(hostile)).not.toContain("<script>");
  });

  it("shows the quality of the risk forecasts for the composite score", () => {
    const compositePage = reportPage(composite);
    expect(compositePage).toContain("QLIKE of the volatility forecast and its rivals");
    expect(compositePage).toContain("Shares within the ranges over 21 sessions");
    expect(compositePage).not.toMatch(/NaN|Infinity|undefined|\[object/);
    expect(page).not.toContain("Shares within the ranges");
  });

  it("shows an asset class that could not be measured", { tags: ["full"] }, () => {
    const few = run(skilled, { symbols: ["S01", "S02"] });
    expect(reportPage(few)).toContain("Not enough data");
  });

  it("shows no decile of one or two instruments, and says why", { tags: ["full"] }, () => {
    const symbols = Array.from({ length: 29 }, (_, name) => `S${String(name + 10)}`);
    const few = run(skilled, { symbols });
    expect(few.stock?.horizons.map(({ book }) => book)).toEqual([null, null, null, null]);
    expect(few.stock?.riskAdjusted).toBeNull();
    expect(horizonOf(few, 21)?.ic?.mean).toBeGreaterThan(0.1);
    for (const text of [reportPage(few), summaryLines(few).join("\n")]) {
      expect(text).toContain(
        "at least 30 instruments on a date, three in each; there are at most 29",
      );
      expect(text).not.toContain("Top minus bottom decile, per holding period");
    }
    expect(page).not.toContain("Deciles: left out");
  });

  it("marks windows that overlap, and shows the number of variants that a verdict allows for", () => {
    const { independentDates, looks, neutralIc } = horizonOf(found, 21) ?? {};
    expect(independentDates).toBe(Math.floor((neutralIc?.dates ?? 0) / 5));
    expect([looks, horizonOf(found, 5)?.looks]).toEqual([4, 1]);
    expect(page).toContain('<th scope="row">21*</th>');
    expect(page).toContain('<th scope="row">5</th>');
    expect(page).toContain("* Windows overlap those of the next dates, 5 sessions apart.");
    expect(page).toContain("Variants allowed for");
    const rows = summaryLines(found).filter((line) => typeof line === "string");
    expect(rows.some((line) => /^ +21\* .* 4$/.test(String(line)))).toBe(true);
  });
});

describe("several market folders in one report", () => {
  const sets = [
    { set: "with skill", ...found },
    { set: "without", ...nothing },
  ];
  const together = measureTogether(sets);
  const neutralOf = (result: ReturnType<typeof run>) =>
    new Map(horizonOf(result, 5)?.neutralHistory.map(({ date, value }) => [date, value]));

  it("are taken together date by date, weighted by their numbers of instruments", () => {
    const [first, second] = [neutralOf(found), neutralOf(nothing)];
    const namesOf = (result: ReturnType<typeof run>, at: string) =>
      result.stock?.coverage.history.find(({ date }) => date === at)?.value ?? 0;
    const means = [...first].map(([date, value]) => {
      const [a, b] = [namesOf(found, date), namesOf(nothing, date)];
      return (a * value + b * (second.get(date) ?? 0)) / (a + b);
    });
    const [stocks] = together;
    expect(stocks).toMatchObject({ assetClass: "stock", horizon: 5, basis: "neutral" });
    expect(stocks?.instruments).toBe(80);
    expect(stocks?.neutralIc?.dates).toBe(means.length);
    const mean = means.reduce((sum, value) => sum + value, 0) / means.length;
    expect(stocks?.neutralIc?.mean).toBeCloseTo(mean, 12);
    expect(stocks?.everySession?.neutralIc?.mean).toBeCloseTo(mean, 1);
  });

  it("have nothing together without a common class", () => {
    expect(measureTogether([found])).toEqual([]);
  });

  it("are shown each apart, then together, without a name that appears twice in the page", () => {
    const page = setsPage({ sets, together });
    const ids = Array.from(page.matchAll(/ id="([^"]+)"/g), ([, id]) => id);
    expect(ids).toEqual(expect.arrayContaining(["set-1-stock", "set-2-stock", "together"]));
    for (const [, id] of page.matchAll(/ href="#([^"]+)"/g)) expect(ids).toContain(id);
    expect(page).toContain("each set apart and together");
    expect(page).not.toMatch(/NaN|Infinity|undefined|\[object/);
    const lines = setsLines({ sets, together }).flat();
    expect(JSON.stringify(lines)).toContain("Stocks, all sets together: ");
  });
});
