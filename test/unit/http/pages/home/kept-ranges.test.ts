import { expect, it } from "vitest";
import { keptRanges } from "../../../../../src/http/pages/home/kept-ranges.ts";
import type { Instrument } from "../../../../../src/market/instrument.ts";
import type { MarketView } from "../../../../../src/market/market-view.ts";
import type { Fundamental } from "../../../../../src/market/records.ts";
import { filed, weekdayBars } from "../../../risk/bars.ts";

const instrument = { symbol: "AAA", name: "AAA", assetClass: "stock" } as Instrument;

/** The report after these is expected 364 days after the first. */
const FILINGS = [
  filed("2022-12-31", "2023-02-02"),
  filed("2023-03-31", "2023-05-04"),
  filed("2023-06-30", "2023-08-03"),
  filed("2023-09-30", "2023-11-02"),
  filed("2023-12-31", "2024-02-01"),
];

/** On 2024-02-01, when a report is expected, the price leaves the range that knows of none, but not
 *  the one that does. */
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
  return keptRanges(instrument, closes, market)?.outcomes ?? [];
};

it("a range is judged with the width that the expected report gave it", () => {
  const [plain, known] = [keptWith([]), keptWith(FILINGS)];
  const changed = known.filter(({ isKept }, index) => isKept !== plain[index]?.isKept);
  const sessions = changed.map(({ place }) => bars[300 + place]?.session);
  expect(plain.map(({ place }) => place)).toEqual(known.map(({ place }) => place));
  expect(sessions).toEqual(["2024-02-05"]);
  expect(changed.every(({ isKept }) => isKept)).toBe(true);
});
