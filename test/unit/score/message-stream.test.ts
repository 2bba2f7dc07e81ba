import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { Bar, InstrumentRecords, Mention } from "../../../src/market/records.ts";
import { createMessageTextAnalyzer } from "../../../src/score/message-stream.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import { createSnapshotArchive } from "../../../src/score/snapshot-archive.ts";
import { dailyMarket } from "./markets.ts";

const AT = 40 * DAY_MS;

const bars = Array.from(
  { length: 40 },
  (_, day): Bar => ({
    session: String(day).padStart(3, "0"),
    availableAt: (day + 1) * DAY_MS,
    ...{ open: 10, high: 10, low: 10, close: 10, volume: 1, dividend: 0, split: 1 },
    logReturn: day === 0 ? null : 0,
  }),
);

const said = (author: string | null, hours: number, text = `buy ${author} ${hours}`): Mention => ({
  id: `${author} ${hours}`,
  availableAt: AT - DAY_MS / 2 + hours * 3_600_000,
  ...{ text, author, followers: 0, symbolCount: 1, stance: null },
});

/** Returns the effective messages and the bullishness of each instrument. */
function sentimentOf(mentions: Readonly<Record<string, readonly Mention[]>>) {
  const records = Object.entries(mentions).map(
    ([symbol, list]): InstrumentRecords => ({
      instrument: {
        symbol,
        name: symbol,
        assetClass: symbol.startsWith("COIN") ? "crypto" : "stock",
        ...{ exchange: null, currency: "USD", sector: null },
      },
      bars,
      mentions: list,
    }),
  );
  const archive = createSnapshotArchive();
  new ScoringEngine(dailyMarket(records, AT - DAY_MS), archive).refresh(AT);
  const inputOf = (symbol: string, name: string) =>
    archive.newest(symbol)?.factors.social.inputs.find((input) => input.name === name)?.value;
  return (symbol: string) => ({
    messages: inputOf(symbol, "effectiveMessages") ?? 0,
    bullish: inputOf(symbol, "bullishWeight") ?? 0,
    value: inputOf(symbol, "bullishness") ?? 0,
  });
}

const five = ["a", "b", "c", "d", "e"].map((author, hour) => said(author, hour, `rally ${author}`));

describe("the message stream of an instrument", () => {
  it("gives less weight to an author who wrote about another instrument of any class on the same day", () => {
    const busy = five.map(({ author }, hour) => said(author, hour - 3));
    const alone = sentimentOf({ B: five })("B");
    for (const others of [{ A: busy }, { COIN: busy }, { A: busy, COIN: busy }]) {
      const { bullish } = sentimentOf({ ...others, B: five })("B");
      expect(bullish).toBeCloseTo(alone.bullish / 2, 9);
      expect(sentimentOf({ B: five, ...others })("B").bullish).toBe(bullish);
    }
    const nameless = busy.map((mention) => ({ ...mention, author: null }));
    expect(sentimentOf({ A: nameless, B: five })("B").bullish).toBe(alone.bullish);
  });

  it("counts a message that mentions two instruments only once for its author", () => {
    const both = sentimentOf({ A: five, B: five });
    expect(both("B")).toEqual(sentimentOf({ B: five })("B"));
  });

  it("ignores an author with more than 50 messages a day", () => {
    const flood = Array.from({ length: 60 }, (_, index) => said("z", -3 + index / 60));
    const loud = [...flood, said("z", 5, "rally z")];
    const quiet = sentimentOf({ B: five })("B");
    const { messages, bullish } = sentimentOf({ A: flood, B: [...five, ...loud.slice(-1)] })("B");
    expect(messages).toBeCloseTo(quiet.messages, 9);
    expect(bullish).toBeCloseTo(quiet.bullish, 9);
  });

  it("counts no messages when they come only from bots", () => {
    const early = five.map((mention) => ({
      ...mention,
      availableAt: mention.availableAt - 3 * DAY_MS,
    }));
    const bot = Array.from({ length: 12 }, (_, hour) => ({ ...said("z", hour), symbolCount: 9 }));
    expect(sentimentOf({ B: [...early, ...bot] })("B").messages).toBe(0);
    expect(sentimentOf({ B: [...early, ...five] })("B").messages).toBeGreaterThan(3);
  });
});

it("a text is classified only once, even if 20,000 other messages come in between", () => {
  let readings = 0;
  const read = createMessageTextAnalyzer(() => ++readings);
  const messages = Array.from({ length: 20_001 }, (_, index) => ({ text: `text ${index}` }));
  const first = messages.map((message) => read(message).polarity);
  expect(messages.map((message) => read(message).polarity)).toEqual(first);
  expect(read({ text: "text 20000" }).polarity).toBe(20_001);
  expect(readings).toBe(20_001);
});
