import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../../src/lib/day.ts";
import { RISK_TABLE, SIMULATED_RISK_TABLE } from "../../../src/risk/measured-table.ts";
import { peerSigmas, riskLevel, riskOutlook, samplePeers } from "../../../src/risk/outlook.ts";
import {
  arePriceRangesPublished,
  chanceOfFall,
  isFallProbabilityPublished,
  logReturnRange,
} from "../../../src/risk/ranges.ts";
import type { HorizonRiskTable } from "../../../src/risk/table.ts";
import { ECDF_PROBABILITIES } from "../../../src/statistics/ecdf.ts";
import { normalCdf, normalQuantile } from "../../../src/statistics/normal.ts";
import { madeBars } from "./bars.ts";

const bars = madeBars(700);
const LAST = 699 * DAY_MS;
const at = (list: typeof bars, instant: number) =>
  riskOutlook({ bars: list }, "stock", instant, RISK_TABLE);

/** Quantiles of the standard normal distribution, for which the expected results are known. */
const normal = ECDF_PROBABILITIES.map((p) => normalQuantile(p));

describe("the expected price range", () => {
  it("has limits that are the quantiles times the standard deviation over the horizon", () => {
    const { low, high } = logReturnRange(normal, 0.8, 0.1);
    expect(low).toBeCloseTo(-0.128_155, 6);
    expect(high).toBeCloseTo(0.128_155, 6);
    expect(logReturnRange(normal, 0.95, 0.1).high).toBeCloseTo(0.196, 2);
    expect(logReturnRange(normal, 0.5, 0.1).low).toBeCloseTo(-0.067_449, 6);
  });

  it("is consistent with the probability of a fall", () => {
    expect(chanceOfFall(normal, 5, 0.04)).toBeCloseTo(normalCdf(Math.log(0.95) / 0.04), 3);
    expect(chanceOfFall(normal, 5, 0.001)).toBe(0.005);
  });

  it("starts at the last known close, and widens with the square root of the horizon", () => {
    const outlook = at(bars, LAST + 5);
    expect(outlook?.bar).toBe(bars.at(-1));
    const [week, month] = outlook?.horizons ?? [];
    expect((month?.sigma ?? 0) / (week?.sigma ?? 1)).toBeCloseTo(Math.sqrt(21 / 5), 12);
    const [half, most, nearlyAll] = week?.ranges ?? [];
    expect(half?.low).toBeGreaterThan(most?.low ?? 0);
    expect(most?.low).toBeGreaterThan(nearlyAll?.low ?? 0);
    expect(nearlyAll?.high).toBeGreaterThan(0);
  });
});

describe("a risk outlook at a past instant", () => {
  it.each([300, 512, 698.5])("on day %d does not depend on later data", (day) => {
    const instant = day * DAY_MS;
    const known = bars.filter(({ availableAt }) => availableAt <= instant);
    const other = [...known, ...madeBars(700, 9, 30).slice(known.length)];
    expect(at(bars, instant)).toEqual(at(known, instant));
    expect(at(other, instant)).toEqual(at(known, instant));
    const peers = peerSigmas([other], "stock", { at: instant, newestSince: 0 });
    expect(peers).toEqual([at(known, instant)?.sigma]);
  });

  it("is undefined with less than a year of sessions", () => {
    expect(at(bars, 251 * DAY_MS)).toBeUndefined();
    expect(at(bars, 252 * DAY_MS)?.level).toBeNull();
    expect(at(bars, 377 * DAY_MS)?.level).not.toBeNull();
  });
});

describe("the level of risk", () => {
  it("is calm in the lowest fifth of the peers, and wild in the highest fifth", () => {
    const others = Array.from({ length: 100 }, (_, index) => index);
    expect(riskLevel(19.5, others, 10)).toBe("usual");
    expect(riskLevel(18.5, others, 10)).toBe("calm");
    expect(riskLevel(79.5, others, 10)).toBe("usual");
    expect(riskLevel(80.5, others, 10)).toBe("wild");
    expect(riskLevel(7, others.slice(0, 9), 10)).toBeNull();
    expect(riskLevel(7, Array(50).fill(7), 10)).toBe("usual");
  });

  it("is relative to at most 200 peers that are still traded", () => {
    const known = bars.slice(0, 400);
    const lists = Array.from({ length: 1_000 }, (_, index) => (index < 500 ? bars : known));
    const peers = (newestSince: number) =>
      peerSigmas(samplePeers(lists), "stock", { at: LAST, newestSince: newestSince * DAY_MS })
        .length;
    expect(peers(300)).toBe(200);
    expect(peers(500)).toBe(100);
  });

  it("is also relative to the instrument's own past year", () => {
    const seasons = madeBars(700, 1, 8);
    expect(at(seasons, 500 * DAY_MS)?.level).toBe("wild");
    expect(at(seasons, 590 * DAY_MS)?.level).toBe("calm");
  });
});

describe("the set of published forecasts", () => {
  const shown = (tables: readonly HorizonRiskTable[]) =>
    tables.map(({ evidence }) => [
      arePriceRangesPublished(evidence),
      isFallProbabilityPublished(evidence),
    ]);

  it("excludes forecasts that failed out of sample: every forecast for funds, one-month forecasts for coins, and one-month fall probabilities for stocks", () => {
    const { stock, etf, crypto } = RISK_TABLE.classes;
    expect(shown(stock)).toEqual([
      [true, true],
      [true, false],
    ]);
    expect(shown(etf)).toEqual([
      [false, false],
      [false, false],
    ]);
    expect(shown(crypto)).toEqual([
      [true, true],
      [false, false],
    ]);
  });

  it("uses tables of 101 increasing quantiles", () => {
    for (const { classes } of [RISK_TABLE, SIMULATED_RISK_TABLE]) {
      for (const { quantiles } of Object.values(classes).flat()) {
        expect(quantiles.length).toBe(ECDF_PROBABILITIES.length);
        expect(quantiles).toEqual([...quantiles].sort((a, b) => a - b));
      }
    }
  });
});
