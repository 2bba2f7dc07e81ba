import { expect, it } from "vitest";
import { snapshotId } from "../../../src/answers/shared-members.ts";
import type { Market } from "../../../src/market/market.ts";
import {
  type Bar,
  FEEDS,
  type InstrumentRecords,
  type PointInTimeRecord,
  type RecordList,
} from "../../../src/market/records.ts";
import { closeOf, DAYS, METHOD_MARKET } from "../../../src/method/invented-market.ts";
import { RecordSeries } from "../../../src/score/record-series.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import { createSnapshotArchive } from "../../../src/score/snapshot-archive.ts";

const END = closeOf(DAYS);

/** The market with `change` applied to its records. */
const changed = (change: (one: InstrumentRecords) => InstrumentRecords): Market => ({
  ...METHOD_MARKET,
  recordsUntil: (at) => METHOD_MARKET.recordsUntil(at).map(change),
});

/** The records of an instrument that became known in (after, until], Unix milliseconds. */
function between(one: InstrumentRecords, after: number, until = END): InstrumentRecords {
  const lists = FEEDS.flatMap((feed) => {
    const list = one[feed];
    if (list === undefined) return [];
    const kept = [...list].filter(({ availableAt }) => availableAt > after && availableAt <= until);
    return [[feed, kept] as const];
  });
  return { ...one, ...Object.fromEntries(lists) };
}

/** Returns the figures of every session by snapshot id. */
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

/** Entries of `one` whose id exists in `other` with different figures. */
const contradictions = (one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>) =>
  [...one].filter(([id, said]) => other.has(id) && other.get(id) !== said);

const withoutSeries = (id: string) => id.slice(0, id.lastIndexOf("/"));

it("when market records begin earlier, snapshot ids differ wherever the figures differ", {
  tags: ["full"],
}, () => {
  const whole = saidBy(METHOD_MARKET);
  const beginnings: readonly ((one: InstrumentRecords) => InstrumentRecords)[] = [
    (one) => between(one, closeOf(700)),
    // The next two functions shorten a single instrument, and every feed except prices.
    (one) => (one.instrument.symbol === "S0" ? between(one, closeOf(700)) : one),
    (one) => ({ ...between(one, closeOf(700)), bars: one.bars }),
  ];
  for (const begin of beginnings) {
    const later = saidBy(changed(begin));
    expect(contradictions(whole, later)).toEqual([]);
    // The test would prove nothing if no figure depended on where the market records begin.
    const bySession = new Map([...whole].map(([id, said]) => [withoutSeries(id), said]));
    const others = [...later].filter(([id, said]) => bySession.get(withoutSeries(id)) !== said);
    expect(others.length).toBeGreaterThan(0);
    for (const [id] of others) expect(whole.has(id)).toBe(false);
  }
});

it("a snapshot id does not depend on where the market records end or on instruments that are listed later", () => {
  const whole = saidBy(METHOD_MARKET);
  const until = closeOf(DAYS - 60);
  const shorter = saidBy(
    changed((one) => between(one, 0, until)),
    until,
  );
  expect(shorter.size).toBeGreaterThan(100);
  for (const [id, said] of shorter) expect(whole.get(id)).toBe(said);
});

const CLOSES = Array.from({ length: DAYS + 1 }, (_, day) => closeOf(day));

/** Returns the series of the given records, which is read up to `END` in one pass. */
function seriesOf(list: readonly InstrumentRecords[]): RecordSeries {
  const series = new RecordSeries();
  for (const _ of series.extend(list, [CLOSES, []], END));
  return series;
}

const nameOf = (...of: Parameters<typeof seriesOf>) => seriesOf(...of).at(END);

it("the series id depends on the instruments and their sectors", () => {
  const records = METHOD_MARKET.recordsUntil(END);
  const name = nameOf(records);
  expect(name).toMatch(/^[0-9a-f]{16}$/);
  const [first, ...rest] = records as [InstrumentRecords, ...InstrumentRecords[]];
  const inSector = (sector: string) => ({ ...first, instrument: { ...first.instrument, sector } });
  const others = [
    nameOf(rest),
    nameOf([inSector("Other"), ...rest]),
    nameOf([inSector(""), ...rest]),
  ];
  expect(new Set([name, ...others]).size).toBe(1 + others.length);
});

it("the series id does not depend on the order of instruments or of the members of a record", () => {
  const records = METHOD_MARKET.recordsUntil(END);
  const name = nameOf(records);
  expect(nameOf([...records].reverse())).toBe(name);
  const turned = records.map((one) => ({
    ...one,
    bars: [...one.bars].map(
      (bar) => Object.fromEntries(Object.entries(bar).reverse()) as unknown as Bar,
    ),
  }));
  expect(nameOf(turned)).toBe(name);
});

/** Days that a process reads at a time, in turn. */
const STEPS = [1, 2, 1, 5, 13, 34];

it("the series id does not depend on how many records a process reads at a time", {
  tags: ["full"],
}, () => {
  const once = seriesOf(METHOD_MARKET.recordsUntil(END));
  const steps = new RecordSeries();
  let read = 0;
  for (let turn = 0; read <= DAYS; turn++) {
    const day = Math.min(read + (STEPS[turn % STEPS.length] ?? 1) - 1, DAYS);
    // Also reads between two closes, each time from a new list.
    for (const at of [closeOf(day) - 7_200_000, closeOf(day)]) {
      const known = METHOD_MARKET.recordsUntil(at).map((one) => between(one, 0, at));
      for (const _ of steps.extend(known, [CLOSES, []], at));
    }
    for (; read <= day; read++) expect(steps.at(closeOf(read))).toBe(once.at(closeOf(read)));
  }
});

it("the series id of an instant between two closes depends on what became known since the close", () => {
  const at = closeOf(DAYS) - METHOD_MARKET.dayMs / 4;
  const idOf = (change: (one: InstrumentRecords) => InstrumentRecords) => {
    const series = new RecordSeries();
    for (const _ of series.extend(METHOD_MARKET.recordsUntil(at).map(change), [CLOSES, []], at));
    return [series.at(closeOf(DAYS - 1)), series.at(at)];
  };
  const [closed, since] = idOf((one) => between(one, 0, at));
  const [same, other] = idOf((one) => between(one, 0, closeOf(DAYS - 1)));
  expect(same).toBe(closed);
  expect(other).not.toBe(since);
});

/** The records of the last 30 days. */
const recent = METHOD_MARKET.recordsUntil(END).map((one) => between(one, closeOf(DAYS - 30)));
const recentCloses = CLOSES.slice(-30);

/**
 * Replaces the content of a list with the records of `whole` that are known at `at`, and four in
 * five of those that become known in the next two days. Every fifth record is added only when it is
 * known, so it may be inserted before records that are not known yet.
 */
function grow(
  list: RecordList<PointInTimeRecord> | undefined,
  whole: RecordList<PointInTimeRecord> | undefined,
  at: number,
): void {
  const present = [...(whole ?? [])].filter(
    ({ availableAt }, index) => availableAt <= at + (index % 5 === 0 ? 0 : 2 * METHOD_MARKET.dayMs),
  );
  (list as PointInTimeRecord[] | undefined)?.splice(0, Number.POSITIVE_INFINITY, ...present);
}

it("the series id does not depend on whether the lists of records grow while they are read", () => {
  const growing = recent.map((one) => between(one, END));
  const series = new RecordSeries();
  const once = seriesOf(recent);
  for (const at of recentCloses) {
    for (const [place, one] of growing.entries()) {
      for (const feed of FEEDS) grow(one[feed], recent[place]?.[feed], at);
    }
    for (const _ of series.extend(growing, [CLOSES, []], at));
    expect(series.at(at)).toBe(once.at(at));
  }
});

/** The feeds that are scored. */
const SCORED = FEEDS.filter((feed) => feed !== "weeklyVolumes");

/** For each feed, the records of the last 120 days of one instrument that has it. */
const examples = SCORED.map((feed) => {
  const has = (one: InstrumentRecords) => (one[feed]?.length ?? 0) > 2;
  const all = METHOD_MARKET.recordsUntil(END).map((one) => between(one, closeOf(DAYS - 120)));
  const records = all.find(has) as InstrumentRecords;
  return { feed, records, list: [...(records[feed] as RecordList<PointInTimeRecord>)] };
});

/** Each member of each feed, of which `logReturn` follows from the bar before. */
const members = examples.flatMap(({ feed, list }) =>
  [...new Set(list.flatMap((record) => Object.keys(record)))]
    .filter((member) => member !== "logReturn")
    .map((member) => ({ feed, member })),
);

/** A record with another value in one of its members. */
const corrected = (record: PointInTimeRecord, member: string): PointInTimeRecord => {
  const value = (record as unknown as Readonly<Record<string, unknown>>)[member];
  return { ...record, [member]: otherThan(value) } as PointInTimeRecord;
};

function otherThan(value: unknown): unknown {
  if (typeof value === "number") return value + 1;
  if (typeof value === "string") return `${value}.`;
  return value === null ? "1" : !value;
}

/** Expects a list of a feed to have another series id from the time of a changed record on. */
function expectChange(
  feed: (typeof SCORED)[number],
  at: number,
  put: (record: PointInTimeRecord) => readonly PointInTimeRecord[],
): void {
  const { records, list } = examples.find((one) => one.feed === feed) ?? expect.fail();
  const record = list[at] as PointInTimeRecord;
  const closes = CLOSES.slice(-120);
  const [before, after] = [list, list.toSpliced(at, 1, ...put(record))].map((known) =>
    seriesOf([{ ...records, [feed]: known }]),
  );
  for (const close of closes) {
    expect(after?.at(close) === before?.at(close)).toBe(close < record.availableAt);
  }
}

it.each(members)(
  "a changed $member in a record of $feed changes the series id, but only from the time at which the record is known",
  ({ feed, member }) => {
    const { list } = examples.find((one) => one.feed === feed) ?? expect.fail();
    const at = list.findIndex((record, index) => index > 0 && Object.hasOwn(record, member));
    expectChange(feed, at, (record) => [corrected(record, member)]);
  },
);

it.each(SCORED)(
  "a removed or added record of %s changes the series id, but only from its time on",
  (feed) => {
    expectChange(feed, 1, () => []);
    expectChange(feed, 1, (record) => [record, record]);
  },
);

it("the series id does not depend on weekly volumes, which are never scored", () => {
  const week = { weekStart: "2001-01-01", atsShares: 1, otcShares: 2, availableAt: closeOf(50) };
  const records = METHOD_MARKET.recordsUntil(END);
  const shown = records.map((one) => ({ ...one, weeklyVolumes: [week] }));
  expect(nameOf(shown)).toBe(nameOf(records));
});

it("the series id depends on the calendar", () => {
  const records = METHOD_MARKET.recordsUntil(END);
  const holiday = new RecordSeries();
  for (const _ of holiday.extend(records, [CLOSES.toSpliced(DAYS - 10, 1), []], END));
  const usual = seriesOf(records);
  expect(holiday.at(closeOf(DAYS - 11))).toBe(usual.at(closeOf(DAYS - 11)));
  expect(holiday.at(closeOf(DAYS - 9))).not.toBe(usual.at(closeOf(DAYS - 9)));
});
