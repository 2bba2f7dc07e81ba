import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../../../src/lib/day.ts";
import type { Bar, InstrumentRecords } from "../../../../src/market/records.ts";
import { type ReceivedObservation, RecordBook } from "../../../../src/sources/live/record-book.ts";
import { arraysOf } from "../../../support/records.ts";

const T = Date.UTC(2026, 10, 2);

const coin = {
  ...{ symbol: "AAA-USD", name: "A", assetClass: "crypto" as const },
  ...{ exchange: null, currency: "USD", sector: null },
};

/** The bar of a day, published at the end of the day and observed `lateMs` later. */
function bar(
  day: number,
  lateMs: number,
  { close = 100 + day, split = 1 } = {},
): ReceivedObservation {
  const at = T + day * DAY_MS;
  const session = new Date(at).toISOString().slice(0, 10);
  const availableAt = at + DAY_MS;
  const prices = { open: close, high: close, low: close, close };
  return {
    ...{ feed: "bars", symbol: coin.symbol, at, id: session, provider: "test" },
    observedAt: availableAt + lateMs,
    record: { session, availableAt, ...prices, volume: 1, dividend: 0, split },
  };
}

function mention(at: number, observedAt: number): ReceivedObservation {
  const record = {
    ...{ id: String(at), text: "x", author: null, followers: null, symbolCount: 1, stance: null },
    availableAt: at,
  };
  return {
    feed: "mentions",
    symbol: coin.symbol,
    at,
    id: String(at),
    provider: "test",
    observedAt,
    record,
  };
}

const NEVER = Number.NEGATIVE_INFINITY;

function filled(...all: readonly ReceivedObservation[]) {
  const book = new RecordBook(coin, ["crypto"]);
  for (const one of all) book.add(one, NEVER);
  return arraysOf(book.revise());
}

describe("the time at which a record counts as known", () => {
  it("is the time of its arrival, or the time of publication for history", () => {
    const { bars } = filled(bar(0, 30 * DAY_MS), bar(1, 3_000), bar(2, -5_000));
    expect(bars.map(({ availableAt }) => availableAt)).toEqual([
      T + DAY_MS,
      T + 2 * DAY_MS + 3_000,
      T + 3 * DAY_MS,
    ]);
  });

  it("is never before the time at which the previous record is known", () => {
    const { bars } = filled(bar(1, 0), bar(0, 1.5 * DAY_MS));
    expect(bars.map(({ session }) => session)).toEqual(["2026-11-02", "2026-11-03"]);
    expect(bars.map(({ availableAt }) => availableAt)).toEqual([
      T + 2.5 * DAY_MS,
      T + 2.5 * DAY_MS,
    ]);
  });

  it("is not the time of arrival for a message that arrived days late", () => {
    const { mentions } = filled(mention(T, T + 1_000), mention(T + 5, T + 3 * DAY_MS));
    expect(mentions?.map(({ availableAt }) => availableAt)).toEqual([T + 1_000]);
  });
});

describe("the record history of an instrument", () => {
  it("stores a repeated record once, in its first version", () => {
    const { bars } = filled(bar(0, 0), bar(0, 9_000, { close: 7 }));
    expect(bars.map(({ close }) => close)).toEqual([100]);
  });

  it("computes returns across gaps and splits", () => {
    const { bars } = filled(bar(3, 0, { close: 55, split: 2 }), bar(0, 0), bar(1, 0));
    const returns = bars.map(({ logReturn }) => logReturn);
    expect(returns).toEqual([null, Math.log(101 / 100), Math.log(110 / 101)]);
  });

  it("appends new records to the lists that readers already have", () => {
    const book = new RecordBook(coin, ["crypto"]);
    book.add(bar(0, 0), NEVER);
    const { bars } = book.revise();
    book.add(bar(1, 0), T + DAY_MS);
    expect(book.isOutdated(T)).toBe(false);
    expect(Array.from(bars, (one: Bar) => one.logReturn)).toEqual([null, Math.log(101 / 100)]);
  });

  it("is outdated by a record dated before the records already read, and by the first record of a feed", () => {
    const book = new RecordBook(coin, ["crypto"]);
    book.add(bar(0, 0), NEVER);
    expect(book.isOutdated(T)).toBe(true);
    const first = book.revise();
    book.add(bar(1, 0), T + 5 * DAY_MS);
    expect(book.isOutdated(T)).toBe(true);
    const second = book.revise();
    expect([first.bars.length, second.bars.length]).not.toContain(0);
    expect(second.bars).toHaveLength(2);
    book.add(mention(T + 3 * DAY_MS, T + 3 * DAY_MS), NEVER);
    expect(book.isOutdated(T)).toBe(true);
    expect(second.mentions).toBeUndefined();
    expect(book.revise().mentions).toHaveLength(1);
  });

  it("shows a slightly late record after the records already read, and in order of time after a revision", () => {
    const book = new RecordBook(coin, ["crypto"]);
    const noon = T + DAY_MS / 2;
    book.add(mention(noon, noon), NEVER);
    const first = book.revise();
    const readUntil = noon + 3_600_000;
    book.add(mention(noon + 9, noon + 9), readUntil);
    book.add(mention(noon + 5, noon + 7), readUntil);
    expect(book.isOutdated(readUntil)).toBe(false);
    // The history becomes outdated at the next close, so that all processes score that close from
    // the same records. The close is five minutes after the end of the day.
    const close = T + DAY_MS + 300_000;
    expect(book.isOutdated(close - 1)).toBe(false);
    expect(book.isOutdated(close)).toBe(true);
    const times = (records: InstrumentRecords) =>
      arraysOf(records).mentions?.map((one) => one.availableAt);
    expect(times(first)).toEqual([noon, readUntil + 1, readUntil + 1]);
    expect(times(book.revise())).toEqual([noon, noon + 7, noon + 9]);
    expect(book.isOutdated(close)).toBe(false);
    book.add(mention(noon + 11, noon + 11), readUntil + 11);
    expect(book.isOutdated(T)).toBe(true);
  });

  it("is outdated by any late record if a session has closed without the record", () => {
    // The session of the previous day closes five minutes after midnight.
    const close = T + DAY_MS + 300_000;
    const isOutdatedBy = (late: ReceivedObservation, readUntil: number) => {
      const book = new RecordBook(coin, ["crypto"]);
      for (const one of [bar(-1, 0), mention(T, T)]) book.add(one, NEVER);
      book.revise();
      book.add(late, readUntil);
      return book.isOutdated(readUntil);
    };
    expect(isOutdatedBy(mention(close, close), close)).toBe(true);
    expect(isOutdatedBy(mention(close - 9, close - 9), close + 9)).toBe(true);
    expect(isOutdatedBy(mention(close - 9, close - 9), close - 1)).toBe(false);
    expect(isOutdatedBy(mention(close + 1, close + 1), close + 9)).toBe(false);
    expect(isOutdatedBy(bar(0, 0), T + DAY_MS - 1)).toBe(false);
    expect(isOutdatedBy(bar(0, 0), T + DAY_MS)).toBe(true);
  });

  it("is outdated by a late record at the close of any asset class", () => {
    // The close at 16:45 in New York.
    const close = T + 21.75 * 3_600_000;
    const book = new RecordBook(coin, ["crypto", "stock"]);
    book.add(mention(T, T), NEVER);
    book.revise();
    book.add(mention(close - 9, close - 9), close - 1);
    expect([close - 1, close].map((at) => book.isOutdated(at))).toEqual([false, true]);
    book.revise();
    book.add(mention(close - 5, close - 5), close);
    expect(book.isOutdated(close)).toBe(true);
  });

  it("shows new records on time even if one record is dated far in the future", () => {
    const book = new RecordBook(coin, ["crypto"]);
    const noon = T + DAY_MS / 2;
    book.add(mention(noon, noon), NEVER);
    const { mentions } = book.revise();
    book.add(mention(noon + 299_000, noon + 1_000), noon);
    book.add(mention(noon + 60_000, noon + 60_000), noon + 58_000);
    const times = () => Array.from(mentions ?? [], ({ availableAt }) => availableAt - noon);
    expect(times()).toEqual([0, 1_000, 60_000]);
    // This message was observed by a machine whose clock was a day ahead.
    book.add(mention(noon + 2, noon + DAY_MS), noon + 60_000);
    book.add(mention(noon + 61_000, noon + 61_000), noon + 60_000);
    expect(times()).toEqual([0, 1_000, 60_000, 61_000, DAY_MS]);
    expect(book.isOutdated(T)).toBe(false);
  });

  it("reuses the lists that received no late records", () => {
    const book = new RecordBook(coin, ["crypto"]);
    for (const one of [bar(0, 0), bar(2, 0), mention(T, T)]) book.add(one, NEVER);
    const before = book.revise();
    expect(book.revise()).toBe(before);
    book.add(bar(1, 0), T + 9 * DAY_MS);
    const after = book.revise();
    expect(after.mentions).toBe(before.mentions);
    expect([before.bars.length, after.bars.length]).toEqual([2, 3]);
  });

  it("drops old messages permanently, even if they are repeated", () => {
    const book = new RecordBook(coin, ["crypto"]);
    const old = [bar(0, 0), mention(T, T)];
    for (const one of [...old, mention(T + 5, T + 5)]) book.add(one, NEVER);
    const before = book.revise();
    book.forgetMessages(T);
    expect(book.isOutdated(T)).toBe(false);
    book.forgetMessages(T + 1);
    expect([book.isOutdated(T), book.messageCount()]).toEqual([true, 1]);
    expect(book.messages().map(({ availableAt }) => availableAt)).toEqual([T + 5]);
    const after = book.revise();
    book.forgetMessages(NEVER);
    for (const one of old) book.add(one, T + 7);
    expect(book.isOutdated(T)).toBe(false);
    expect([before.mentions?.length, after.mentions?.length]).toEqual([2, 1]);
    expect(after.bars).toBe(before.bars);
  });

  it("has the same content for any order of arrival", () => {
    // The last two records arrive in one response.
    const all = [bar(0, 0), bar(1, 4_000), bar(2, 0), mention(T, T + 20), mention(T + 9, T + 20)];
    const whole = filled(...all);
    expect(filled(...all.toReversed())).toEqual(whole);
    expect(filled(...[3, 0, 4, 2, 1].map((index) => all[index] as ReceivedObservation))).toEqual(
      whole,
    );
    const [early, late] = [new RecordBook(coin, ["crypto"]), new RecordBook(coin, ["crypto"])];
    for (const book of [early, late]) book.add(mention(T - 1, T - 1), NEVER);
    const lists = [early.revise(), late.revise()];
    for (const one of all.slice(3)) early.add(one, T);
    for (const one of all.slice(3).toReversed()) late.add(one, T);
    expect(arraysOf(lists[1] as InstrumentRecords)).toEqual(
      arraysOf(lists[0] as InstrumentRecords),
    );
  });
});

describe("a suspect bar in the record history", () => {
  const shown = ({ bars, doubtedBars = [] }: InstrumentRecords) => ({
    closes: Array.from(bars, ({ close }: Bar) => close),
    doubts: Array.from(doubtedBars, ({ fault, outcome }) => [fault, outcome?.verdict ?? "held"]),
  });
  const far = (day: number, close: number) => bar(day, 0, { close });

  it("is held back, and dropped when the next bar returns to the earlier price", () => {
    const book = new RecordBook(coin, ["crypto"]);
    for (const one of [far(0, 10), far(1, 900)]) book.add(one, NEVER);
    const records = book.revise();
    expect(shown(records)).toEqual({ closes: [10], doubts: [["jump", "held"]] });
    book.add(far(2, 11), T + 2 * DAY_MS);
    expect(book.isOutdated(T)).toBe(false);
    expect(shown(records)).toEqual({ closes: [10, 11], doubts: [["jump", "dropped"]] });
    expect(shown(book.revise())).toEqual(shown(records));
  });

  it("is shown together with the next bar when the price stays at the new level", () => {
    const book = new RecordBook(coin, ["crypto"]);
    for (const one of [far(0, 10), far(1, 27)]) book.add(one, NEVER);
    const records = book.revise();
    book.add(far(2, 27.5), T + 2 * DAY_MS);
    expect(shown(records)).toEqual({ closes: [10, 27, 27.5], doubts: [["jump", "confirmed"]] });
    expect(Array.from(records.bars, ({ availableAt }: Bar) => availableAt)).toEqual([
      T + DAY_MS,
      T + 3 * DAY_MS,
      T + 3 * DAY_MS,
    ]);
  });

  it("is checked again when an earlier bar arrives", () => {
    const book = new RecordBook(coin, ["crypto"]);
    for (const one of [far(0, 10), far(2, 28)]) book.add(one, NEVER);
    expect(shown(book.revise()).closes).toEqual([10]);
    book.add(far(1, 17), T + 3 * DAY_MS);
    expect(book.isOutdated(T)).toBe(true);
    expect(shown(book.revise())).toEqual({ closes: [10, 17, 28], doubts: [] });
  });
});
