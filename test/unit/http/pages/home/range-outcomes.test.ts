import { expect, it } from "vitest";
import { computeRangeOutcomes } from "../../../../../src/http/pages/home/range-outcomes.ts";
import type { Instrument } from "../../../../../src/market/instrument.ts";
import type { MarketView } from "../../../../../src/market/market-view.ts";
import type { Fundamental } from "../../../../../src/market/records.ts";
import { filedFundamental, weekdayBars } from "../../../risk/bars.ts";

const instrument = { symbol: "AAA", name: "AAA", assetClass: "stock" } as Instrument;

/** Filings after which the next report is expected on 2024-02-01, 364 days after the first. */
const FILINGS = [
  filedFundamental("2022-12-31", "2023-02-02"),
  filedFundamental("2023-03-31", "2023-05-04"),
  filedFundamental("2023-06-30", "2023-08-03"),
  filedFundamental("2023-09-30", "2023-11-02"),
  filedFundamental("2023-12-31", "2024-02-01"),
];

/**
 * On 2024-02-01, when a report is expected, the price leaves the range computed without the report,
 * but not the range that includes the report.
 */
const bars = weekdayBars("2022-01-03", 560).map((bar) => {
  const isReported = bar.session === "2024-02-01";
  return isReported ? { ...bar, logReturn: 0.012 } : bar;
});

const closes = bars.slice(300).map(({ availableAt }) => availableAt);

const keptWith = (fundamentals: readonly Fundamental[]) => {
  const market = {
    source: { simulated: false },
    records: () => ({ instrument, bars, fundamentals }),
  } as unknown as MarketView;
  return computeRangeOutcomes(instrument, closes, market)?.outcomes ?? [];
};

it("a past range is judged with the extra width that an expected report gave it", () => {
  const [plain, known] = [keptWith([]), keptWith(FILINGS)];
  const changed = known.filter(({ isKept }, index) => isKept !== plain[index]?.isKept);
  const sessions = changed.map(({ place }) => bars[300 + place]?.session);
  expect(plain.map(({ place }) => place)).toEqual(known.map(({ place }) => place));
  expect(sessions).toEqual(["2024-02-05"]);
  expect(changed.every(({ isKept }) => isKept)).toBe(true);
});
