import { expect, it } from "vitest";
import { rejectedRow, rejectedSubject } from "../../../src/ingest/market-rows.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import { START } from "../../support/stores.ts";

const TODAY = Date.UTC(2026, 10, 21);

const rowAt = (at: number) =>
  rejectedRow(
    { feed: "mentions", symbol: "AAA", at, id: "m1", reason: "why" },
    { provider: "one", observedAt: START },
  );

it("a quarantined record is stored at its own timestamp if possible", () => {
  expect(rowAt(START - 400 * DAY_MS).at).toBe(START - 400 * DAY_MS);
  expect(rowAt(START).at).toBe(START);
});

it.each([
  ["in the future", START + 1],
  ["in the year 3000", Date.UTC(3000, 0)],
  ["in the year 1000", Date.UTC(1000, 0)],
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
])(
  "a quarantined record with an unusable timestamp (%s) is stored under the day on which it was received",
  (_, at) => {
    expect(rowAt(at).at).toBe(TODAY);
  },
);

it("quarantined records can be read separately for each feed", () => {
  expect(rowAt(START).subject).toBe(rejectedSubject({ feed: "mentions", symbol: "AAA" }));
  expect(rejectedSubject({ feed: "bars", symbol: "AAA" })).not.toBe(rowAt(START).subject);
});
