import { isDeepStrictEqual } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import type { Market } from "../../../src/market/market.ts";
import { countKnownRecords } from "../../../src/market/point-in-time.ts";
import type { PointInTimeRecord } from "../../../src/market/records.ts";
import { createSandbox } from "../../../src/sources/sandbox/sandbox.ts";
import { arraysOf } from "../../support/records.ts";

const DAY_MS = 60_000;
const YEAR_DAYS = 252;
const WALK_DAYS = 63;
const QUARTER_DAYS = 91;

/** First day of a sandbox year that lies in November 2026 when a day lasts one minute. */
const YEAR_START = Math.floor(Date.UTC(2026, 10, 21) / DAY_MS / YEAR_DAYS) * YEAR_DAYS;

/** An instant within a day, Unix milliseconds. */
const instant = (day: number) => day * DAY_MS + 12_345;

const open = (seed = 7): Market => createSandbox({ seed, sessionSeconds: 60 });

const LAST_DAY = YEAR_START + 250;
const market = open();

type Records = ReturnType<typeof arraysOf>;
const recordsOf = ({ recordsUntil }: Market, at: number): readonly Records[] =>
  recordsUntil(at).map(arraysOf);

const records = recordsOf(market, instant(LAST_DAY));
const stocks = records.filter(({ instrument }) => instrument.assetClass === "stock");
const coins = records.filter(({ instrument }) => instrument.assetClass === "crypto");

const listsOf = ({ instrument: _, ...lists }: Records) =>
  Object.entries(lists) as (readonly [string, readonly PointInTimeRecord[]])[];

const bySymbol = (all: readonly Records[], symbol: string) =>
  all.find(({ instrument }) => instrument.symbol === symbol) as Records;

const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

const ageDays = (
  list: readonly PointInTimeRecord[] | undefined,
  at: number,
): number | undefined => {
  const newest = list?.[countKnownRecords(list, at) - 1];
  return newest && (at - newest.availableAt) / DAY_MS;
};

/** Lengths in days of the gaps between an instrument's bars. */
const haltsOf = ({ bars }: Records) =>
  bars
    .slice(1)
    .map((bar, index) => (bar.availableAt - (bars[index]?.availableAt ?? 0)) / DAY_MS - 1)
    .filter((missed) => missed > 0);

describe("the simulated market", () => {
  it("identifies sessions by date if they are whole days, and otherwise by timestamp", () => {
    const at = Date.UTC(2026, 10, 21, 5, 0, 30);
    const named = [86_400, 86_399, 60].map((sessionSeconds) =>
      createSandbox({ seed: 7, sessionSeconds }).sessionAt(at, "stock"),
    );
    const [day, odd, minute] = named;
    expect([day, minute]).toEqual(["2026-11-21", "2026-11-21T05:00:00.000Z"]);
    expect(odd).toHaveLength("2026-11-21T05:00:00.000Z".length);
  });

  it("states that it is simulated, and the length of its day", () => {
    expect(market).toMatchObject({
      mode: "sandbox",
      dayMs: DAY_MS,
      source: { id: "sandbox", simulated: true },
    });
  });

  it("has 40 stocks, 8 in each of 5 sectors, and 8 coins, all with distinct symbols", () => {
    const sectors = Map.groupBy(stocks, ({ instrument }) => instrument.sector);
    expect([...sectors.values()].map((members) => members.length)).toEqual([8, 8, 8, 8, 8]);
    expect(coins).toHaveLength(8);
    expect(coins.every(({ instrument }) => instrument.sector === null)).toBe(true);
    const symbols = records.map(({ instrument }) => instrument.symbol);
    expect(new Set(symbols).size).toBe(48);
    expect(symbols.every((symbol) => /^[A-Z]{5}(-USD)?\.SIM$/.test(symbol))).toBe(true);
    expect(records.every(({ instrument }) => instrument.currency === "USD")).toBe(true);
  });

  it("has no suspect bars", () => {
    expect(records.flatMap(({ doubtedBars = [] }) => doubtedBars)).toEqual([]);
  });

  it("is scored from one year before the start of the current quarter", () => {
    const start = (YEAR_START - YEAR_DAYS) * DAY_MS;
    const next = YEAR_START + WALK_DAYS;
    expect(market.servedFrom(YEAR_START * DAY_MS)).toBe(start);
    expect(market.servedFrom(next * DAY_MS - 1)).toBe(start);
    expect(market.servedFrom(next * DAY_MS)).toBe((next - YEAR_DAYS) * DAY_MS);
  });

  it("has three years of bars and 70 days of other feeds before the first scored day of the year", () => {
    const start = (YEAR_START - YEAR_DAYS) * DAY_MS;
    const alder = bySymbol(records, "ALDER.SIM");
    expect(alder.bars[0]?.session).toBe(new Date(start - 756 * DAY_MS).toISOString());
    const feedStart = start - 70 * DAY_MS;
    for (const list of [alder.mentions, alder.prints, alder.shortVolumes]) {
      const first = (list?.[0]?.availableAt ?? 0) - feedStart;
      expect(first).toBeGreaterThanOrEqual(0);
      expect(first).toBeLessThan(5 * DAY_MS);
    }
  });
});

describe("the simulated market of one seed", () => {
  it("is the same whether it is read once or day by day across the end of a year", {
    tags: ["full"],
  }, () => {
    const walked = open();
    for (let day = YEAR_START + YEAR_DAYS - 3; day < YEAR_START + YEAR_DAYS + 4; day++) {
      const seen = recordsOf(walked, instant(day));
      const isFresh = isDeepStrictEqual(seen, recordsOf(open(), instant(day) + 3_000));
      expect(isFresh, `day ${day}`).toBe(true);
    }
  });

  it("is the same in every process", () => {
    const all = recordsOf(open(1), Date.UTC(2026, 10, 21, 12));
    const { bars, prints, mentions } = bySymbol(all, "ALDER.SIM");
    expect(bars.at(-1)).toMatchObject({ open: 173.18, close: 174.94, volume: 1_448_723 });
    expect(prints?.at(-1)).toMatchObject({ tradedAt: 1_795_262_454_662, price: 175.0344 });
    expect(mentions?.at(-1)?.text).toBe("$ALDER.SIM opened unchanged this morning 👀");
  });

  it("is the same when an earlier instant is read after a later one", () => {
    const early = instant(YEAR_START + 5);
    const used = open();
    used.recordsUntil(instant(YEAR_START + 9));
    expect(isDeepStrictEqual(recordsOf(used, early), recordsOf(open(), early))).toBe(true);
  });

  it("differs from the market of another seed", () => {
    const at = instant(YEAR_START);
    const one = bySymbol(recordsOf(open(1), at), "ALDER.SIM");
    const other = bySymbol(recordsOf(open(2), at), "ALDER.SIM");
    for (const list of ["bars", "mentions", "prints", "fundamentals"] as const) {
      expect(one[list]?.at(-1), list).not.toEqual(other[list]?.at(-1));
    }
  });

  it("only appends to its lists of records within a year, and never changes the past", () => {
    const growing = open();
    const before = growing.recordsUntil(instant(YEAR_START + WALK_DAYS - 1));
    const copies = before.map(arraysOf);
    const after = growing.recordsUntil(instant(YEAR_START + WALK_DAYS + 2));
    expect(after).toBe(before);
    for (const [index, each] of after.map(arraysOf).entries()) {
      const copy = listsOf(copies[index] as Records);
      for (const [position, [name, list]] of listsOf(each).entries()) {
        const past = copy[position]?.[1] ?? [];
        expect(isDeepStrictEqual(list.slice(0, past.length), past)).toBe(true);
        if (name === "bars") expect(list.length - past.length).toBeLessThanOrEqual(3);
      }
    }
  });

  it("contains everything known at an instant, and nothing known more than a day later", () => {
    const day = YEAR_START + 200;
    const lengthsKnown = (all: readonly Records[], at: number) =>
      all.map((each) => listsOf(each).map(([name, list]) => [name, countKnownRecords(list, at)]));
    for (const at of [day * DAY_MS, instant(day), (day + 1) * DAY_MS - 1]) {
      const now = recordsOf(open(), at);
      expect(lengthsKnown(now, at)).toEqual(lengthsKnown(records, at));
      const newest = now.flatMap(listsOf).map(([, list]) => list.at(-1)?.availableAt ?? 0);
      expect(Math.max(...newest)).toBeLessThanOrEqual(at + DAY_MS);
    }
  });

  it.each([1, 60, 86_400])(
    "sorts records by availability when a session takes %i seconds",
    (seconds) => {
      const at = Date.UTC(2026, 10, 21, 12);
      const all = recordsOf(createSandbox({ seed: 3, sessionSeconds: seconds }), at);
      for (const each of all) {
        for (const [name, list] of listsOf(each)) {
          const isAscending = list.every(
            ({ availableAt }, index) =>
              Number.isInteger(availableAt) && availableAt >= (list[index - 1]?.availableAt ?? 0),
          );
          expect(isAscending, `${each.instrument.symbol} ${name}`).toBe(true);
        }
      }
    },
  );
});

describe("simulated bars", () => {
  const bars = records.flatMap((each) => each.bars);

  it("are consistent and become known at the end of their session", () => {
    const isConsistent = bars.every(
      (bar) =>
        bar.low > 0 &&
        bar.low <= Math.min(bar.open, bar.close) &&
        bar.high >= Math.max(bar.open, bar.close) &&
        bar.volume > 0 &&
        Date.parse(bar.session) + DAY_MS === bar.availableAt,
    );
    expect(isConsistent).toBe(true);
  });

  it("have returns adjusted for dividends, splits and halts", () => {
    for (const each of records) {
      expect(each.bars[0]?.logReturn ?? null).toBeNull();
      for (const [index, bar] of each.bars.slice(1).entries()) {
        const previous = each.bars[index]?.close ?? 0;
        const total = ((bar.close + bar.dividend) * bar.split) / previous;
        expect(Math.abs(Math.exp(bar.logReturn ?? 0) - total)).toBeLessThan(1e-12);
      }
    }
  });

  it("include splits, which lower the price, and quarterly dividends", () => {
    const splits = stocks.flatMap(({ bars: own }) =>
      own.slice(1).flatMap((bar, index) => {
        const fall = (own[index]?.close ?? 0) / bar.close;
        return bar.split === 1 ? [] : [{ ratio: bar.split, fall }];
      }),
    );
    expect(splits.length).toBeGreaterThanOrEqual(5);
    for (const { ratio, fall } of splits) {
      expect([2, 3]).toContain(ratio);
      expect(Math.abs(Math.log(fall / ratio))).toBeLessThan(0.5);
    }
    const payers = stocks.filter(({ bars: own }) => own.some(({ dividend }) => dividend > 0));
    expect(payers.length).toBeGreaterThan(10);
    const paid = payers[0]?.bars.filter(({ dividend }) => dividend > 0) ?? [];
    const gaps = paid
      .slice(1)
      .map((bar, index) => bar.availableAt - (paid[index]?.availableAt ?? 0));
    expect(gaps.every((gap) => gap % (QUARTER_DAYS * DAY_MS) === 0)).toBe(true);
  });

  it("have occasional jumps of at most .8", () => {
    const sizes = bars.map(({ logReturn }) => Math.abs(logReturn ?? 0));
    const jumps = sizes.filter((size) => size > 0.1).length;
    expect(jumps).toBeGreaterThan(30);
    expect(jumps / sizes.length).toBeLessThan(0.02);
    expect(sizes.every((size) => size < 0.8)).toBe(true);
  });

  it("have trends that last for months", () => {
    const yearly = stocks
      .filter(({ bars: own }) => own.length > 252)
      .map(({ bars: own }) => {
        const returns = own.slice(-251, -20).map(({ logReturn }) => logReturn ?? 0);
        const spread = mean(returns.map((value) => value ** 2)) - mean(returns) ** 2;
        return mean(returns) * Math.sqrt(returns.length / spread);
      });
    expect(yearly.filter((trend) => trend > 1).length).toBeGreaterThan(3);
    expect(yearly.filter((trend) => trend < -1).length).toBeGreaterThan(3);
  });
});

describe("missing data in the simulated market", () => {
  it("includes whole feeds that some instruments lack", () => {
    const without = (list: keyof Records) =>
      stocks.filter((each) => each[list] === undefined).length;
    expect(without("mentions")).toBeGreaterThanOrEqual(2);
    expect(without("prints")).toBeGreaterThanOrEqual(2);
    expect(without("shortVolumes")).toBeGreaterThanOrEqual(1);
    expect(without("fundamentals")).toBeGreaterThanOrEqual(2);
    expect(stocks.every(({ onChain }) => onChain === undefined)).toBe(true);
    expect(coins.filter(({ onChain }) => onChain === undefined)).toHaveLength(1);
    expect(coins.every((each) => !(each.prints || each.shortVolumes || each.fundamentals))).toBe(
      true,
    );
  });

  const years = [YEAR_START, YEAR_START + YEAR_DAYS];
  const daysOfYear = [0, 9, 10, 11, 60, 75, 110, 160, 209, 210, 251];
  const instants = years.flatMap((year) => daysOfYear.map((day) => instant(year + day)));

  /** What one market contains at each of the instants, read in order. */
  let walked: readonly {
    /** Number of known bars of each instrument. */
    readonly known: readonly number[];
    /** Number of instruments with a record dated before their listing. */
    readonly early: number;
    /** Number of instruments with a message feed but no recent messages. */
    readonly silent: number;
  }[];
  beforeAll(() => {
    const market = open();
    walked = instants.map((at) => {
      const all = recordsOf(market, at);
      const known = all.map(({ bars }) => countKnownRecords(bars, at));
      const early = all.filter(({ bars }) => bars.length < 60).filter(startsBeforeItsListing);
      const silent = all.filter(({ mentions, bars }) => {
        const age = ageDays(mentions, at);
        return mentions !== undefined && bars.length > 60 && (age === undefined || age > 10);
      });
      return { known, early: early.length, silent: silent.length };
    });
  });

  function startsBeforeItsListing(each: Records): boolean {
    const first = Date.parse(each.bars[0]?.session ?? "2999-01-01");
    return listsOf(each).some(([, list]) => (list[0]?.availableAt ?? first) < first);
  }

  it("always includes an instrument listed for fewer than 60 sessions, without data before its listing", () => {
    for (const { known, early } of walked) {
      expect(known.filter((count) => count > 0 && count < 60).length).toBeGreaterThan(0);
      expect(known.filter((count) => count >= 252).length).toBeGreaterThan(34);
      expect(early).toBe(0);
    }
  });

  it("always includes an instrument whose messages are observed but that is not mentioned", () => {
    for (const { silent } of walked) expect(silent).toBeGreaterThan(0);
  });

  it("includes stocks whose filings stopped, sometimes for 100 to 200 days, sometimes for longer", () => {
    const ages = Array.from({ length: 720 }, (_, index) => instant(LAST_DAY - index)).flatMap(
      (at) =>
        ["BORUN.SIM", "CRANO.SIM"].map((symbol) =>
          ageDays(bySymbol(records, symbol).fundamentals, at),
        ),
    );
    expect(ages.some((age) => age !== undefined && age < 90)).toBe(true);
    expect(ages.some((age) => age !== undefined && age > 100 && age < 200)).toBe(true);
    expect(ages.some((age) => age !== undefined && age > 200)).toBe(true);
  });

  it("includes trading halts of one to four days, about one instrument at a time", () => {
    const halts = records.flatMap(haltsOf);
    expect(new Set(halts)).toEqual(new Set([1, 2, 3, 4]));
    const haltedPerDay = halts.reduce((sum, days) => sum + days, 0) / (5 * YEAR_DAYS);
    expect(haltedPerDay).toBeGreaterThan(0.9);
    expect(haltedPerDay).toBeLessThan(1.1);
  });
});

describe("simulated prints", () => {
  const quoted = stocks.flatMap((each) => {
    const bars = new Map(each.bars.map((bar) => [bar.session, bar]));
    return (each.prints ?? []).map((print) => ({ print, bar: bars.get(print.session) }));
  });
  const prints = quoted.map(({ print }) => print);
  const share = (matching: (print: (typeof prints)[number]) => boolean) =>
    prints.filter(matching).length / prints.length;

  it("have quotes within the day's range, and a price between the quotes unless the print has no side", () => {
    for (const { print, bar } of quoted) {
      const [bid, ask] = [print.bid ?? 0, print.ask ?? 0];
      const isPlausible =
        bar !== undefined &&
        bid < ask &&
        ask - bid <= Math.max(0.02, bid * 0.002) &&
        (bid + ask) / 2 >= bar.low - 0.01 &&
        (bid + ask) / 2 <= bar.high + 0.01 &&
        (!print.signable || (print.price >= bid - 1e-9 && print.price <= ask + 1e-9)) &&
        print.price > 0;
      if (!isPlausible) expect.fail(JSON.stringify({ print, bar }));
    }
  });

  it("include prices at the midpoint, at a quote and between the quotes, and include blocks, prints without a side and canceled prints", () => {
    const place = ({ price, bid, ask }: (typeof prints)[number]) =>
      (price - (bid ?? 0)) / ((ask ?? 0) - (bid ?? 0));
    expect(share((print) => Math.abs(place(print) - 0.5) < 1e-6)).toBeGreaterThan(0.2);
    expect(share((print) => [0, 1].includes(Math.round(place(print) * 1e6) / 1e6))).toBeGreaterThan(
      0.2,
    );
    expect(share(({ conditions }) => conditions !== "")).toBeCloseTo(0.08, 2);
    expect(prints.every(({ conditions, signable }) => signable === (conditions === ""))).toBe(true);
    expect(share(({ canceled }) => canceled)).toBeCloseTo(0.01, 2);
    const blocks = share(
      ({ price, sizeShares }) => sizeShares >= 10_000 || sizeShares * price >= 200_000,
    );
    expect(blocks).toBeGreaterThan(0.2);
    expect(blocks).toBeLessThan(0.6);
    expect(prints.every(({ sizeShares }) => sizeShares >= 100 && sizeShares <= 60_000)).toBe(true);
  });

  it("are known shortly after the trade, within their session", () => {
    for (const print of prints) {
      const start = Date.parse(print.session);
      const delay = print.availableAt - print.tradedAt;
      const isPrompt = delay > 0 && delay <= 30;
      const isInside = print.tradedAt >= start && print.availableAt < start + DAY_MS;
      if (!(isPrompt && isInside)) expect.fail(JSON.stringify(print));
    }
    expect(new Set(prints.map(({ id }) => id)).size).toBe(prints.length);
  });

  it("occur several times a day for most stocks", () => {
    const perDay = stocks
      .filter(({ prints: own, bars }) => own !== undefined && bars.length > 1000)
      .map(({ prints: own }) => (own?.length ?? 0) / (70 + YEAR_DAYS + 250));
    expect(perDay.filter((rate) => rate > 4.5 && rate < 12).length).toBeGreaterThan(25);
    expect(perDay.filter((rate) => rate < 0.5)).toHaveLength(1);
  });

  it("come with short volumes of about 47 %, published after the close", () => {
    const volumes = stocks.flatMap(({ shortVolumes }) => shortVolumes ?? []);
    const ratios = volumes.map(({ shortShares, totalShares }) => shortShares / totalShares);
    const average = mean(ratios);
    const spread = Math.sqrt(mean(ratios.map((ratio) => (ratio - average) ** 2)));
    expect(average).toBeGreaterThan(0.44);
    expect(average).toBeLessThan(0.5);
    expect(spread).toBeGreaterThan(0.06);
    expect(spread).toBeLessThan(0.1);
    expect(
      volumes.every(({ availableAt, session }) => availableAt - Date.parse(session) === 64_800),
    ).toBe(true);
  });
});

describe("simulated messages", () => {
  const mentions = records.flatMap((each) => each.mentions ?? []);

  it("are drawn from at most eighty different sentences, each with the cashtag of the instrument", () => {
    const own = bySymbol(records, "ALDER.SIM").mentions ?? [];
    const sentences = new Set(own.map(({ text }) => text.replace(/ \p{Emoji_Presentation}$/u, "")));
    expect(sentences.size).toBeGreaterThan(70);
    expect(sentences.size).toBeLessThanOrEqual(80);
    expect(own.every(({ text }) => text.includes("$ALDER.SIM"))).toBe(true);
    expect(new Set(mentions.map(({ id }) => id)).size).toBe(mentions.length);
  });

  it("are posted two to six times a day by authors with 10 to 50,000 followers", () => {
    const rates = records
      .filter(({ mentions: own, bars }) => own !== undefined && bars.length > 1000)
      .map(({ mentions: own }) => (own?.length ?? 0) / (70 + YEAR_DAYS + 250));
    expect(rates.filter((rate) => rate >= 1.9 && rate <= 6.5).length).toBeGreaterThan(28);
    const followers = mentions.flatMap((mention) => mention.followers ?? []);
    expect(Math.min(...new Set(followers))).toBeGreaterThanOrEqual(10);
    expect(Math.max(...new Set(followers))).toBeLessThanOrEqual(50_000);
    expect(Math.max(...new Set(followers))).toBeGreaterThan(40_000);
    expect(new Set(mentions.map(({ symbolCount }) => symbolCount))).toEqual(new Set([1, 2, 3]));
    expect(mentions.some(({ author }) => author === null)).toBe(true);
  });

  it("include floods of the same sentence by one author", () => {
    const floods = mentions.filter(({ author }) => author === "sim-promoter");
    expect(floods.length).toBeGreaterThan(24);
    expect(floods.length / mentions.length).toBeLessThan(0.05);
  });

  it("are bullish more often after a rise than after a fall", () => {
    const bullishShare = (low: number, high: number) => {
      const stances = records.flatMap(({ mentions: own, bars }) => {
        const rises = new Set(
          bars
            .filter(({ logReturn }) => logReturn !== null && logReturn > low && logReturn < high)
            .map(({ session }) => Date.parse(session)),
        );
        return (own ?? []).filter(
          ({ stance, author, availableAt }) =>
            stance !== null &&
            author !== "sim-promoter" &&
            rises.has(Math.floor(availableAt / DAY_MS) * DAY_MS),
        );
      });
      return stances.filter(({ stance }) => stance === "bullish").length / stances.length;
    };
    expect(bullishShare(0.03, 1) - bullishShare(-1, -0.03)).toBeGreaterThan(0.1);
  });
});

describe("simulated fundamentals and network figures", () => {
  it("are filed each quarter, 20 to 50 days after the end of the quarter", () => {
    const filings = stocks.flatMap(({ fundamentals }) => fundamentals ?? []);
    const lags = filings.map(({ availableAt, periodEnd }) => (availableAt - periodEnd) / DAY_MS);
    expect(Math.min(...lags)).toBeGreaterThanOrEqual(20);
    expect(Math.max(...lags)).toBeLessThan(50);
    const alder = bySymbol(records, "ALDER.SIM").fundamentals ?? [];
    const ends = [...new Set(alder.map(({ periodEnd }) => periodEnd / DAY_MS))];
    expect(ends.length).toBeGreaterThan(12);
    expect(ends.slice(1).every((end, index) => end - (ends[index] ?? 0) === QUARTER_DAYS)).toBe(
      true,
    );
  });

  it("include earnings of a few percent of market value, and some losses", () => {
    const yields = stocks.flatMap(({ fundamentals, bars }) => {
      const of = (metric: string) => (fundamentals ?? []).filter((each) => each.metric === metric);
      const shares = of("shares").at(-1)?.value;
      if (shares === undefined) return [];
      const income = of("netIncome").slice(-4);
      if (income.length < 4) return [];
      const value = shares * (bars.at(-1)?.close ?? 0);
      return [income.reduce((sum, each) => sum + each.value, 0) / value];
    });
    const middle = yields.toSorted((one, other) => one - other)[Math.floor(yields.length / 2)] ?? 0;
    expect(yields.length).toBeGreaterThanOrEqual(30);
    expect(middle).toBeGreaterThan(0.02);
    expect(middle).toBeLessThan(0.09);
    expect(yields.filter((each) => each < 0).length).toBeGreaterThanOrEqual(2);
  });

  it("include share counts that are adjusted after a split", () => {
    const split = stocks.flatMap(({ bars, fundamentals }) =>
      bars.flatMap((bar) => {
        const counts = (fundamentals ?? []).filter(({ metric }) => metric === "shares");
        const at = counts.findIndex(({ periodEnd }) => periodEnd >= Date.parse(bar.session));
        const [before, after] = [counts[at - 1], counts[at]];
        return bar.split > 1 && before && after
          ? [{ ratio: bar.split, growth: after.value / before.value }]
          : [];
      }),
    );
    expect(split.length).toBeGreaterThan(2);
    for (const { ratio, growth } of split) {
      expect(growth / ratio).toBeGreaterThan(0.85);
      expect(growth / ratio).toBeLessThan(1);
    }
  });

  it("include a coin's network valuation for each day, published a quarter of a day after that day ends", () => {
    const figures = coins.flatMap(({ onChain }) => onChain ?? []);
    expect(figures.length).toBeGreaterThan(1000);
    expect(
      figures.every(({ availableAt, session }) => availableAt - Date.parse(session) === 75_000),
    ).toBe(true);
    const values = figures.flatMap(({ mvrv }) => mvrv ?? []);
    expect(values.length).toBeLessThan(figures.length);
    expect(values.every((value) => value > 0.1 && value < 10)).toBe(true);
  });
});
