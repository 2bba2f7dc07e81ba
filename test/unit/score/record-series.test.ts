import { expect, it } from "vitest";
import { snapshotId } from "../../../src/answers/common.ts";
import type { Market } from "../../../src/market/market.ts";
import { type Bar, FEEDS, type InstrumentRecords } from "../../../src/market/records.ts";
import { RecordSeries } from "../../../src/score/record-series.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import { createSnapshotArchive } from "../../../src/score/snapshot-archive.ts";
import { closeOf, DAYS, METHOD_MARKET } from "../../method/market.ts";

const END = closeOf(DAYS);

/** Records of a market, changed. */
const changed = (change: (one: InstrumentRecords) => InstrumentRecords): Market => ({
  ...METHOD_MARKET,
  recordsUntil: (at) => METHOD_MARKET.recordsUntil(at).map(change),
});

/** The records of an instrument that became known in (after, until]. */
function between(one: InstrumentRecords, after: number, until = END): InstrumentRecords {
  const lists = FEEDS.flatMap((feed) => {
    const list = one[feed];
    if (list === undefined) return [];
    const kept = [...list].filter(({ availableAt }) => availableAt > after && availableAt <= until);
    return [[feed, kept] as const];
  });
  return { ...one, ...Object.fromEntries(lists) };
}

/** What is said of every session by the id that it is said under. */
function saidBy(market: Market, at = END): ReadonlyMap<string, string> {
  const archive = createSnapshotArchive();
  const engine = new ScoringEngine({ ...market, servedFrom: () => 0 }, archive);
  engine.refresh(at);
  const list = archive
    .allNewest()
    .flatMap(({ instrument }) => [...archive.history(instrument.symbol, 0, at)]);
  return new Map(
    list.map((one) => {
      const { score, confidence, coverage, signal, status, price } = one;
      return [
        snapshotId(one),
        JSON.stringify([score, confidence, coverage, signal, status, price]),
      ];
    }),
  );
}

/** Ids of both under which different things are said. */
const contradictions = (one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>) =>
  [...one].filter(([id, said]) => other.has(id) && other.get(id) !== said);

const withoutSeries = (id: string) => id.slice(0, id.lastIndexOf("/"));

it("the ids of a record that begins earlier differ wherever its content differs", () => {
  const whole = saidBy(METHOD_MARKET);
  const beginnings: readonly ((one: InstrumentRecords) => InstrumentRecords)[] = [
    (one) => between(one, closeOf(150)),
    // A single instrument, or a feed other than prices.
    (one) => (one.instrument.symbol === "S0" ? between(one, closeOf(150)) : one),
    (one) => ({ ...between(one, closeOf(150)), bars: one.bars }),
  ];
  for (const begin of beginnings) {
    const later = saidBy(changed(begin));
    expect(contradictions(whole, later)).toEqual([]);
    // The test would say nothing if no figure depended on the beginning.
    const bySession = new Map([...whole].map(([id, said]) => [withoutSeries(id), said]));
    const others = [...later].filter(([id, said]) => bySession.get(withoutSeries(id)) !== said);
    expect(others.length).toBeGreaterThan(0);
    for (const [id] of others) expect(whole.has(id)).toBe(false);
  }
});

it("an id does not depend on the end of the record, nor on instruments that are listed later", () => {
  const whole = saidBy(METHOD_MARKET);
  const until = closeOf(DAYS - 60);
  const shorter = saidBy(
    changed((one) => between(one, 0, until)),
    until,
  );
  expect(shorter.size).toBeGreaterThan(100);
  for (const [id, said] of shorter) expect(whole.get(id)).toBe(said);
});

it("the series differs by first record, reader of texts and sector", () => {
  const records = METHOD_MARKET.recordsUntil(END);
  const named = (list: readonly InstrumentRecords[], reader = "lexicon") => {
    const series = new RecordSeries("files", reader);
    series.extend(list, END);
    return series.at(END);
  };
  const name = named(records);
  expect(name).toMatch(/^[0-9a-f]{16}$/);
  // In whatever order the instruments stand.
  expect(named([...records].reverse())).toBe(name);
  const [first, ...rest] = records as [InstrumentRecords, ...InstrumentRecords[]];
  const [bar, ...bars] = first.bars;
  if (bar === undefined) throw new Error("there is no bar");
  const withBar = (other: Partial<Bar>) =>
    named([{ ...first, bars: [{ ...bar, ...other }, ...bars] }, ...rest]);
  const withFirst = (feed: "fundamentals" | "mentions", other: object) => {
    const at = records.findIndex((one) => one[feed] !== undefined);
    const [record, ...later] = [...(records[at]?.[feed] ?? [])];
    const changed = { ...records[at], [feed]: [{ ...record, ...other }, ...later] };
    return named(records.with(at, changed as InstrumentRecords));
  };
  const others = [
    named(records, "a model"),
    named(rest),
    withBar({ close: bar.close + 0.01 }),
    // The count of shares depends on every split, and a return on the dividend.
    withBar({ split: 2 }),
    withBar({ dividend: 0.1 }),
    withFirst("fundamentals", { value: 1 }),
    withFirst("mentions", { text: "other words" }),
    named([{ ...first, instrument: { ...first.instrument, sector: "Other" } }, ...rest]),
  ];
  expect(new Set([name, ...others]).size).toBe(1 + others.length);
});

it("the series does not depend on the order in which a source writes the members of a record", () => {
  const records = METHOD_MARKET.recordsUntil(END);
  const turned = records.map((one) => ({
    ...one,
    bars: [...one.bars].map(
      (bar) => Object.fromEntries(Object.entries(bar).reverse()) as unknown as Bar,
    ),
  }));
  const [name, other] = [records, turned].map((list) => {
    const series = new RecordSeries("files", "lexicon");
    series.extend(list, END);
    return series.at(END);
  });
  expect(other).toBe(name);
});

it("the series differs by the source of the signals", () => {
  const bars = METHOD_MARKET.recordsUntil(END).map(({ instrument, bars }) => ({
    instrument,
    bars,
  }));
  const [recorded, live] = (["files", "live"] as const).map((mode) => {
    const series = new RecordSeries(mode, "lexicon");
    series.extend(bars, END);
    return series.at(END);
  });
  // A live market of the same prices may have messages too, which its series does not tell.
  expect(live).not.toBe(recorded);
});

it("the series does not depend on how many records a process reads at a time", () => {
  const records = METHOD_MARKET.recordsUntil(END);
  const [steps, once] = [0, 1].map(() => new RecordSeries("files", "lexicon"));
  once?.extend(records, END);
  for (let day = 0; day <= DAYS; day++) {
    steps?.extend(records, closeOf(day));
    expect(steps?.at(closeOf(day))).toBe(once?.at(closeOf(day)));
  }
});
