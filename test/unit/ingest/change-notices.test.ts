import { describe, expect, it } from "vitest";
import { type ChangeNotice, mergeNotices, noticesOf } from "../../../src/ingest/change-notices.ts";
import type { Feed } from "../../../src/market/records.ts";
import type { Observation } from "../../../src/sources/live/provider.ts";

const T = Date.UTC(2026, 10, 20);
const HOUR_MS = 3_600_000;

const datum = (feed: Feed, symbol: string, at: number) =>
  ({ feed, symbol, at, id: "x" }) as Observation;

const news = (feed: Feed, symbol: string | null, from: number, to: number): ChangeNotice => ({
  ...{ feed, symbol, from, to },
});

describe("a change notice", () => {
  it("contains the feed, the symbol and the time range of the new records", () => {
    const bars = [5, 1, 3].map((day) => datum("bars", "A", T + 24 * day * HOUR_MS));
    expect(noticesOf([...bars, datum("mentions", "B", T)])).toEqual([
      news("bars", "A", T + 24 * HOUR_MS, T + 120 * HOUR_MS),
      news("mentions", "B", T, T),
    ]);
    expect(noticesOf([])).toEqual([]);
  });

  it("is split so that it does not span the time between a current and a backdated message", () => {
    const at = [T, T - 20 * HOUR_MS, T + 60_000, T - 20 * HOUR_MS + 1];
    expect(noticesOf(at.map((one) => datum("mentions", "A", one)))).toEqual([
      news("mentions", "A", T - 20 * HOUR_MS, T - 20 * HOUR_MS + 1),
      news("mentions", "A", T, T + 60_000),
    ]);
  });

  it("specifies up to 25 symbols, and no symbol when more than 25 have changed", () => {
    const of = (count: number) =>
      noticesOf(Array.from({ length: count }, (_, index) => datum("bars", `S${index}`, T + index)));
    expect(of(25).map(({ symbol }) => symbol)).toHaveLength(25);
    expect(of(26)).toEqual([news("bars", null, T, T + 25)]);
  });

  it("is merged with other queued notices for the same feed and symbol", () => {
    const some = Array.from({ length: 500 }, (_, index) =>
      news("mentions", "A", T + index * 1_000, T + index * 1_000 + 500),
    );
    const others = [news("mentions", "B", T, T), news("prints", "A", T, T)];
    expect(mergeNotices([...some, ...others])).toEqual([
      news("mentions", "A", T, T + 499_500),
      ...others,
    ]);
  });
});
