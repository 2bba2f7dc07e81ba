import { beforeAll, describe, expect, it } from "vitest";
import { BarFilter } from "../../../src/market/bar-quality.ts";
import { withLogReturn } from "../../../src/market/bar-return.ts";
import type { Market } from "../../../src/market/market.ts";
import type {
  Bar,
  BarFault,
  BarVerdict,
  InstrumentRecords,
  ReportedBar,
} from "../../../src/market/records.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import { readMarketFolder } from "../../../src/sources/files/market-folder.ts";
import { sharedFolder } from "../../support/shared.ts";
import { driftingMarket } from "../research/drifting-market.ts";

const real = sharedFolder("market", "corrupted bars in real history");

/** An error of a faulty feed, in a single bar or in all bars from one bar on. */
interface Corruption {
  readonly name: string;
  readonly fault: BarFault;
  readonly verdict: BarVerdict;
  readonly spoil: (bar: ReportedBar, before: ReportedBar) => ReportedBar;
  /**
   * Divisor of the prices and multiplier of the volumes from the corrupted bar on, without an
   * announced split.
   */
  readonly ratio?: number;
}

const TICK = 1e6;
const divided = (ratio: number) => (bar: ReportedBar) => ({
  ...bar,
  open: bar.open / ratio,
  high: bar.high / ratio,
  low: bar.low / ratio,
  close: bar.close / ratio,
  volume: bar.volume * ratio,
});

const CORRUPTIONS: readonly Corruption[] = [
  {
    name: "a high a million times too high",
    fault: "spike",
    verdict: "dropped",
    spoil: (bar) => ({ ...bar, high: bar.high * TICK }),
  },
  {
    name: "a low a million times too low",
    fault: "spike",
    verdict: "dropped",
    spoil: (bar) => ({ ...bar, low: bar.low / TICK }),
  },
  {
    name: "a close a million times too high",
    fault: "jump",
    verdict: "dropped",
    spoil: (bar) => ({ ...bar, close: bar.close * TICK, high: bar.close * TICK }),
  },
  {
    name: "an open a million times too high",
    fault: "jump",
    verdict: "dropped",
    spoil: (bar) => ({ ...bar, open: bar.open * TICK, high: bar.open * TICK }),
  },
  {
    name: "high and low swapped",
    fault: "impossible",
    verdict: "dropped",
    spoil: (bar) => ({ ...bar, high: bar.low, low: bar.high * (1 + 1e-9) }),
  },
  {
    name: "an open under the low",
    fault: "impossible",
    verdict: "dropped",
    spoil: (bar) => ({ ...bar, open: bar.low * 0.99 }),
  },
  {
    name: "a close of 0",
    fault: "impossible",
    verdict: "dropped",
    spoil: (bar) => ({ ...bar, close: 0, low: 0 }),
  },
  {
    name: "a negative low",
    fault: "impossible",
    verdict: "dropped",
    spoil: (bar) => ({ ...bar, low: -bar.low }),
  },
  {
    name: "the bar before once more",
    fault: "repeat",
    verdict: "dropped",
    spoil: ({ session, availableAt }, before) => ({
      ...before,
      session,
      availableAt,
      dividend: 0,
      split: 1,
    }),
  },
  {
    name: "a split of 3 for 2",
    fault: "split",
    verdict: "adjusted",
    spoil: divided(1.5),
    ratio: 1.5,
  },
  { name: "a split of 2 for 1", fault: "split", verdict: "adjusted", spoil: divided(2), ratio: 2 },
  { name: "a split of 4 for 1", fault: "split", verdict: "adjusted", spoil: divided(4), ratio: 4 },
  {
    name: "a reverse split of 1 for 10",
    fault: "split",
    verdict: "adjusted",
    spoil: divided(0.1),
    ratio: 0.1,
  },
];

/** An instrument with one corrupted bar. */
interface Case {
  readonly records: InstrumentRecords;
  readonly corruption: Corruption;
  /** Index of the corrupted bar. */
  readonly place: number;
}

const bare = ({ logReturn: _, ...bar }: Bar): ReportedBar => bar;

function corrupted({ records, corruption, place }: Case): readonly ReportedBar[] {
  const bars = [...records.bars].map(bare);
  const { spoil, ratio } = corruption;
  return bars.map((bar, index) => {
    if (index === place) return spoil(bar, bars[index - 1] as ReportedBar);
    return ratio !== undefined && index > place ? divided(ratio)(bar) : bar;
  });
}

/**
 * The bars expected after the checks: without a dropped bar, or with the split inserted and known
 * one session late.
 */
function expected({ records, corruption, place }: Case): readonly ReportedBar[] {
  const { ratio } = corruption;
  if (ratio === undefined) return [...records.bars].map(bare).filter((_, at) => at !== place);
  const all = corrupted({ records, corruption, place });
  const next = all[place + 1] as ReportedBar;
  return all.map((bar, at) =>
    at === place ? { ...bar, split: ratio, availableAt: next.availableAt } : bar,
  );
}

/** The records of a case with other bars. Filings after a split contain the new share count. */
function withBars(
  { records, corruption: { ratio = 1 }, place }: Case,
  bars: readonly ReportedBar[],
): InstrumentRecords {
  const returns = bars.map((bar, index) => withLogReturn(bar, bars[index - 1]?.close));
  const splitAt = records.bars.at(place)?.availableAt ?? 0;
  const fundamentals = [...(records.fundamentals ?? [])].map((one) =>
    one.metric === "shares" && one.availableAt > splitAt
      ? { ...one, value: one.value * ratio }
      : one,
  );
  return { ...records, bars: returns, ...(records.fundamentals && { fundamentals }) };
}

function filtered(one: Case): InstrumentRecords {
  const filter = new BarFilter();
  const accepted = corrupted(one).flatMap((bar) => filter.add(bar));
  return { ...withBars(one, accepted), doubtedBars: filter.doubts };
}

/** Runs the engine, and returns the decision about every instrument at every close. */
function decisions(market: Market, records: readonly InstrumentRecords[]) {
  const found = new Map<string, { readonly direction: string; readonly text: string }>();
  const sink = {
    clear: () => {},
    setNewest: () => {},
    addClosed({ instrument, at, score, confidence, signal }: Parameters<Sink>[0]) {
      const text = JSON.stringify([score, confidence, signal]);
      found.set(`${instrument.symbol} ${at}`, { direction: signal.direction, text });
    },
  };
  type Sink = ConstructorParameters<typeof ScoringEngine>[1]["addClosed"];
  const last = Math.max(...records.map(({ bars }) => bars.at(-1)?.availableAt ?? 0));
  const whole = { ...market, recordsUntil: () => records, servedFrom: () => 0 };
  new ScoringEngine(whole, sink).refresh(last);
  return found;
}

const NAMES = 50;

/** Tests a market in which each of 50 instruments has one corruption. */
function prove(title: string, load: () => Promise<{ market: Market; cases: readonly Case[] }>) {
  describe(title, () => {
    let market: Market;
    let cases: readonly Case[];
    let spoiled: readonly InstrumentRecords[];
    let found: ReturnType<typeof decisions>;
    let clean: ReturnType<typeof decisions>;

    // A hook, because the body also runs in the tiers that leave the tests out.
    beforeAll(async () => {
      ({ market, cases } = await load());
      spoiled = cases.map(filtered);
      found = decisions(market, spoiled);
      clean = decisions(
        market,
        cases.map(({ records }) => records),
      );
    }, 600_000);

    it("each suspect bar is reported with its fault and its outcome", () => {
      expect(cases).toHaveLength(NAMES);
      for (const [index, { records, corruption, place }] of cases.entries()) {
        const doubts = [...(spoiled[index]?.doubtedBars ?? [])];
        const own = doubts.filter(({ session }) => session === records.bars.at(place)?.session);
        expect(own, `${records.instrument.symbol}: ${corruption.name}`).toMatchObject([
          { fault: corruption.fault, outcome: { verdict: corruption.verdict } },
        ]);
        expect(doubts).toHaveLength(1 + (records.doubtedBars?.length ?? 0));
      }
    });

    it("decisions are bit for bit the same as if dropped bars were absent and inferred splits were announced", () => {
      const without = cases.map((one) => withBars(one, expected(one)));
      expect(found).toEqual(decisions(market, without));
    });

    it("no signal changes direction at the close of a suspect bar", () => {
      const closes = [...new Set([...clean.keys()].map((key) => Number(key.split(" ")[1])))];
      closes.sort((a, b) => a - b);
      for (const { records, corruption, place } of cases) {
        const { symbol } = records.instrument;
        const at = records.bars.at(place)?.availableAt ?? 0;
        const before = closes[closes.indexOf(at) - 1];
        expect(found.get(`${symbol} ${at}`)?.direction, `${symbol}: ${corruption.name}`).toBe(
          found.get(`${symbol} ${before}`)?.direction,
        );
      }
    });

    it("signals differ in direction from the clean history at fewer than 1.5 % of the closes", () => {
      const others = [...clean].filter(([key, one]) => found.get(key)?.direction !== one.direction);
      expect(others.length / clean.size).toBeLessThan(0.015);
    });
  });
}

prove("a simulated market with corrupted bars", async () => {
  const market = driftingMarket({ names: NAMES, days: 640, drift: 0.004 });
  const cases = market.recordsUntil(0).map((records, index) => {
    const corruption = CORRUPTIONS[index % CORRUPTIONS.length] as Corruption;
    return { records, corruption, place: 300 + 2 * index };
  });
  return { market, cases };
});

describe.skipIf(real.isMissing)("real history", { tags: ["nightly"] }, () => {
  if (real.isMissing) return;
  prove("of 50 stocks with corrupted bars", async () => {
    const market = await readMarketFolder(real.path);
    const records = market
      .recordsUntil(0)
      .filter(({ instrument, bars }) => instrument.assetClass === "stock" && bars.length > 2_900)
      .filter((_, index) => index % 5 === 0)
      .slice(0, NAMES);
    const cases = records.map((one, index) => {
      const corruption = CORRUPTIONS[index % CORRUPTIONS.length] as Corruption;
      return { records: one, corruption, place: 1_000 + 20 * index };
    });
    return { market, cases };
  });
});
