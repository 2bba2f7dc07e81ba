import { describe, expect, it } from "vitest";
import type { Instrument } from "../../../src/market/instrument.ts";
import { resolveSymbol, searchInstruments } from "../../../src/market/symbols.ts";

const instrument = (symbol: string, name: string): Instrument => ({
  symbol,
  name,
  assetClass: "stock",
  exchange: null,
  currency: "USD",
  sector: null,
});

const instruments = [
  instrument("AAPL", "Apple Inc."),
  instrument("APLE", "Apple Hospitality REIT"),
  instrument("BRK-B", "Berkshire Hathaway"),
  instrument("BTC-USD", "Bitcoin"),
  instrument("IT", "Gartner"),
];

const symbolsOf = (list: readonly Instrument[]) => list.map(({ symbol }) => symbol);

describe("a symbol", () => {
  it.each(["AAPL", "aapl", " AAPL "])("%j is found as it is spelled", (symbol) => {
    expect(resolveSymbol(instruments, symbol)).toMatchObject({
      kind: "found",
      instrument: { symbol: "AAPL" },
    });
  });

  it.each(["BRK-B", "BRK.B", "BRK/B", "brk b"])("%j is one class share", (symbol) => {
    expect(resolveSymbol(instruments, symbol)).toMatchObject({
      kind: "found",
      instrument: { symbol: "BRK-B" },
    });
  });

  it("is never guessed, only suggested", () => {
    const typo = resolveSymbol(instruments, "APPL");
    expect(typo).toMatchObject({ kind: "unknown" });
    expect(symbolsOf("candidates" in typo ? typo.candidates : [])).toEqual(["AAPL", "APLE"]);
    const short = resolveSymbol(instruments, "BTC");
    expect(symbolsOf("candidates" in short ? short.candidates : [])).toEqual(["BTC-USD"]);
  });

  it("has no candidates when nothing is near", () => {
    expect(resolveSymbol(instruments, "ZZZZZZ")).toEqual({ kind: "unknown", candidates: [] });
  });

  it("is ambiguous when two instruments share it", () => {
    const twice = [...instruments, instrument("BRK.B", "Another listing")];
    const resolution = resolveSymbol(twice, "brk-b");
    expect(resolution.kind).toBe("ambiguous");
    expect(symbolsOf("candidates" in resolution ? resolution.candidates : [])).toEqual([
      "BRK-B",
      "BRK.B",
    ]);
  });
});

describe("a search", () => {
  it("finds the beginning of a ticker first, then part of a name", () => {
    expect(symbolsOf(searchInstruments(instruments, "ap"))).toEqual(["APLE", "AAPL"]);
    expect(symbolsOf(searchInstruments(instruments, "hathaway"))).toEqual(["BRK-B"]);
  });

  it("lists everything for an empty query and nothing for a foreign one", () => {
    expect(searchInstruments(instruments, "")).toEqual(instruments);
    expect(searchInstruments(instruments, "%")).toEqual([]);
  });
});
