import { describe, expect, it } from "vitest";
import type { Instrument } from "../../../src/market/instrument.ts";
import {
  matchInstruments,
  resolveSymbol,
  type SymbolResolution,
  searchInstruments,
} from "../../../src/market/symbols.ts";
import { namedInstrument } from "../../support/instruments.ts";

const instruments = [
  namedInstrument("AAPL", "Apple Inc."),
  namedInstrument("APLE", "Apple Hospitality REIT"),
  namedInstrument("BRK-B", "Berkshire Hathaway"),
  namedInstrument("BTC-USD", "Bitcoin", "crypto"),
  namedInstrument("IT", "Gartner"),
];

const symbolsOf = (list: readonly Instrument[]) => list.map(({ symbol }) => symbol);

const candidatesOf = (resolution: SymbolResolution) =>
  symbolsOf("candidates" in resolution ? resolution.candidates : []);

describe("the resolution of a symbol", () => {
  it.each(["AAPL", "aapl", " AAPL "])("finds AAPL for %j", (symbol) => {
    expect(resolveSymbol(instruments, symbol)).toMatchObject({
      kind: "found",
      instrument: { symbol: "AAPL" },
    });
  });

  it.each(["BRK-B", "BRK.B", "BRK/B", "brk b"])("finds the class share BRK-B for %j", (symbol) => {
    expect(resolveSymbol(instruments, symbol)).toMatchObject({
      kind: "found",
      instrument: { symbol: "BRK-B" },
    });
  });

  it("of a coin needs no currency when the coin is quoted in only one currency", () => {
    expect(resolveSymbol(instruments, "btc")).toMatchObject({
      kind: "found",
      instrument: { symbol: "BTC-USD" },
    });
    const euro = namedInstrument("BTC-EUR", "Bitcoin", "crypto");
    const twice = resolveSymbol([...instruments, euro], "BTC");
    expect([twice.kind, candidatesOf(twice)]).toEqual(["ambiguous", ["BTC-USD", "BTC-EUR"]]);
    const fund = namedInstrument("BTC", "Grayscale Bitcoin Mini Trust");
    expect(resolveSymbol([...instruments, fund], "BTC")).toMatchObject({
      kind: "found",
      instrument: { symbol: "BTC" },
    });
    expect(resolveSymbol(instruments, "BRK").kind).toBe("unknown");
  });

  it.each([
    ["APPL", ["AAPL"]],
    ["Apple", ["APLE", "AAPL"]],
    ["BRK", ["BRK-B"]],
    ["BRK.C", ["BRK-B"]],
    ["BTC-EUR", ["BTC-USD"]],
    ["gartner", ["IT"]],
    ["hathaway", ["BRK-B"]],
  ])("of %j suggests candidates without selecting one", (symbol, candidates) => {
    const resolution = resolveSymbol(instruments, symbol);
    expect([resolution.kind, candidatesOf(resolution)]).toEqual(["unknown", candidates]);
  });

  it.each([
    ["VZ", "V", "Visa Inc."],
    ["KO", "KR", "Kroger"],
    ["T", "IT", "Gartner"],
    ["MET", "META", "Meta Platforms"],
    ["ETC-USD", "ETH-USD", "Ethereum"],
  ])("of %s suggests no candidate, since %s is another company", (symbol, other, name) => {
    const list = [namedInstrument(other, name, other.endsWith("USD") ? "crypto" : "stock")];
    expect(candidatesOf(resolveSymbol(list, symbol))).toEqual([]);
  });

  it("suggests no candidates when no symbol or name is similar", () => {
    expect(resolveSymbol(instruments, "ZZZZZZ")).toEqual({ kind: "unknown", candidates: [] });
  });

  it("is ambiguous when two instruments share a symbol", () => {
    const twice = [...instruments, namedInstrument("BRK.B", "Another listing")];
    const resolution = resolveSymbol(twice, "brk-b");
    expect(resolution.kind).toBe("ambiguous");
    expect(candidatesOf(resolution)).toEqual(["BRK-B", "BRK.B"]);
  });
});

describe("an instrument search", () => {
  it("ranks a ticker that starts with the query higher than a name that contains it", () => {
    expect(symbolsOf(searchInstruments(instruments, "ap"))).toEqual(["APLE"]);
    expect(symbolsOf(searchInstruments(instruments, "app"))).toEqual(["AAPL", "APLE"]);
    expect(symbolsOf(searchInstruments(instruments, "hathaway"))).toEqual(["BRK-B"]);
  });

  it.each([
    ["berk", ["BRK-B"]],
    ["hath berk", ["BRK-B"]],
    ["apple reit", ["APLE"]],
    ["bank america", ["BAC"]],
    ["mcdonalds", ["MCD"]],
    ["estee", ["EL"]],
    ["coin", ["BTC-USD"]],
  ])("for %j matches the beginnings of words in a name", (query, found) => {
    const list = [
      ...instruments,
      namedInstrument("BAC", "Bank of America Corp."),
      namedInstrument("MCD", "McDonald's Corporation"),
      namedInstrument("EL", "Estée Lauder"),
    ];
    expect(symbolsOf(searchInstruments(list, query))).toEqual(found);
  });

  it.each([
    ["f", ["F symbol", "FRD prefix", "FOX prefix"]],
    ["z", []],
    ["3m", ["MMM word"]],
    ["Fordham University", ["FRD some"]],
    ["bitcoin", ["BTC-USD word"]],
    ["ether", []],
    ["constructor", []],
    ["ford", ["F word", "FRD prefix", "HIG substring"]],
    ["Motor Co.", ["F word"]],
    ["btc", ["BTC-USD symbol", "GBTC word"]],
    ["hart", ["HIG prefix"]],
    ["artfor", ["HIG substring"]],
    ["'", []],
    ["", ["HIG", "FRD", "F", "FOX", "GBTC", "MMM", "BTC-USD"]],
  ])("for %j says how each instrument matches, best first", (query, found) => {
    const list = [
      namedInstrument("HIG", "The Hartford Insurance Group"),
      namedInstrument("FRD", "Fordham Bank"),
      namedInstrument("F", "Ford Motor Co."),
      namedInstrument("FOX", "Fox Corp."),
      namedInstrument("GBTC", "Grayscale BTC Trust"),
      namedInstrument("MMM", "3M Company"),
      namedInstrument("BTC-USD", "BTC", "crypto"),
    ];
    const matches = matchInstruments(list, query).map(({ instrument, match }) =>
      match === undefined ? instrument.symbol : `${instrument.symbol} ${match}`,
    );
    expect(matches).toEqual(found);
  });

  it("finds no instrument by one word of a query that most names have", () => {
    const list = [..."ABCDEFGHIJKLMNOPQRSTU"].map((letter) =>
      namedInstrument(letter.repeat(3), `${letter}land Corp.`),
    );
    expect(searchInstruments(list, "Unknown Corp.")).toEqual([]);
    expect(symbolsOf(searchInstruments(list.slice(1), "Unknown Corp."))).toHaveLength(20);
  });

  it("lists every instrument for an empty query, and none for a query without a match", () => {
    expect(searchInstruments(instruments, "")).toEqual(instruments);
    expect(searchInstruments(instruments, "%")).toEqual([]);
  });
});

it("overlong text is not compared with names, because that would be too expensive", () => {
  expect(candidatesOf(resolveSymbol(instruments, `AAPL-${"X".repeat(50)}`))).toEqual(["AAPL"]);
  expect(candidatesOf(resolveSymbol(instruments, `AAPL-${"X".repeat(5_000)}`))).toEqual([]);
  expect(symbolsOf(searchInstruments(instruments, "Apple "))).toEqual(["AAPL", "APLE"]);
  expect(symbolsOf(searchInstruments(instruments, "Apple ".repeat(1_000)))).toEqual([]);
});
