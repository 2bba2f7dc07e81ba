import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readInstruments } from "../../../../src/sources/files/instruments.ts";
import { createCashtagReader } from "../../../../src/sources/live/cashtags.ts";
import { currentTicker } from "../../../../src/sources/live/ticker-changes.ts";
import { instrument } from "../../../support/instruments.ts";
import { sharedFolder } from "../../../support/shared.ts";

const SYMBOLS = "AAPL AM ALL BRK-B C CC D DTE IT KO LOW META MSFT NOW PATH T V YOU".split(" ");
const COINS = "BCH-USD BTC-USD ETH-USD LTC-USD NEAR-USD SOL-USD STX-USD".split(" ");
const WRITTEN_AT = Date.parse("2026-11-20T15:00:00Z");

const read = createCashtagReader([...SYMBOLS, ...COINS].map(instrument));
const symbolsIn = (text: string) => read(text, WRITTEN_AT).symbols;
const countIn = (text: string) => read(text, WRITTEN_AT).count;

describe("a cashtag", () => {
  it.each([
    ["$AAPL is up", ["AAPL"]],
    ["bought ($AAPL), sold $MSFT.", ["AAPL", "MSFT"]],
    ["🚀$T $V: $KO's dividend", ["T", "V", "KO"]],
    ["$aapl and $msft", ["AAPL", "MSFT"]],
    ["$BRK.B $BRK/B $brk-b", ["BRK-B"]],
    ["$AAPL.It rose", []],
    ["$AAPL.The end", ["AAPL"]],
    ["$BTC $ETH.X $sol", ["BTC-USD", "ETH-USD", "SOL-USD"]],
    ["$BTC-USD $BTC/USD $BTCUSD", ["BTC-USD"]],
    ["＄ＡＡＰＬ in wide letters", ["AAPL"]],
    ["$AA\u200bPL with a gap nobody sees", ["AAPL"]],
    ["$AAPL-related", ["AAPL"]],
  ])("identifies the right instruments in %j", (text, symbols) => {
    expect(symbolsIn(text)).toEqual(symbols);
  });

  it.each([
    ["a stock on another exchange", "$T.TO"],
    ["a preferred share", "$C-N"],
    ["a future", "$C_F"],
    ["an amount of money", "US$AAPL, A$T, $5T, $T€"],
    ["part of a word", "BO$T, $TAR€, $MSFTx, $AAPLhttp"],
    ["a masked swear word", "S%$T, S!$T, $T@"],
    ["an ordinary word", "$Aapl, $All"],
    ["an S written as a dollar sign", "$low, $now, $it"],
    ["a shell variable", "add it to your $PATH"],
    ["truncated", "selling $V… and $MSF…"],
  ])("identifies no tracked instrument when it is %s", (_, text) => {
    expect(symbolsIn(text)).toEqual([]);
  });

  it("identifies neither the stock nor the coin if both have the same ticker", () => {
    const both = createCashtagReader([instrument("SOL"), instrument("SOL-USD")]);
    expect(both("$SOL", WRITTEN_AT)).toEqual({ symbols: [], count: 1 });
    expect(both("$SOL.X", WRITTEN_AT).symbols).toEqual(["SOL-USD"]);
  });

  it("identifies no coin when a listed company has, or may have, the same ticker", () => {
    expect(symbolsIn("$LTC $BCH $STX $NEAR $stx")).toEqual([]);
    expect(symbolsIn("$STX-USD, $NEAR.X")).toEqual(["STX-USD", "NEAR-USD"]);
    expect(symbolsIn("$LTC.X and bitcoin cash")).toEqual(["LTC-USD", "BCH-USD"]);
  });

  it("is interpreted as of the date of the text", () => {
    const on = (day: string) => Date.parse(`${day}T15:00:00Z`);
    expect(read("$FB", on("2021-03-01")).symbols).toEqual(["META"]);
    expect(read("$META", on("2021-03-01")).symbols).toEqual([]);
    expect(read("$FB", on("2026-03-02")).symbols).toEqual([]);
  });
});

describe("a ticker without a dollar sign", () => {
  it("is ignored, since too many tickers are ordinary words", () => {
    const text = "YOU ARE ALL IN. IT IS NOW AM, CC: T, D, C, V AND KO. DTE 0. AAPL MSFT BRK.B";
    expect(read(text, WRITTEN_AT)).toEqual({ symbols: [], count: 0 });
  });

  it("is recognized in parentheses after its exchange", () => {
    const text = "AT&T (NYSE: T), UiPath (NYSE:PATH), Apple (NASDAQ: AAPL) [NYSE: BRK.B]";
    expect(symbolsIn(text)).toEqual(["T", "PATH", "AAPL", "BRK-B"]);
  });

  it("never refers to a coin, since exchanges list companies and funds", () => {
    const text = "Emeren (NYSE: SOL), a fund (NYSE Arca: BTC), Seagate (NASDAQ: STX) (NYSE: BTC.X)";
    expect(read(text, WRITTEN_AT)).toEqual({ symbols: [], count: 3 });
    const both = createCashtagReader([instrument("SOL"), instrument("SOL-USD")]);
    expect(both("(NYSE: SOL)", WRITTEN_AT).symbols).toEqual(["SOL"]);
    expect(symbolsIn("Emeren (NYSE: SOL) is up, buy $SOL and $ETH")).toEqual(["ETH-USD"]);
  });

  it.each([
    ["(NYSEARCA: BTC)", []],
    ["(OTCQX: BTC) and (OTC Markets: XRP)", []],
    ["(NYSE: SOL; NASDAQ: STX) $SOL", []],
    ["(Nasdaq GS: STX), $STX-USD", ["STX-USD"]],
    ["(NYSE: T, NASDAQ: AAPL) (NASDAQ: MSFT, up 5%)", ["T", "AAPL", "MSFT"]],
    ["(NYSE American: KO)", ["KO"]],
  ])("refers to the right instruments in %j", (text, symbols) => {
    expect(symbolsIn(text)).toEqual(symbols);
  });

  it("is ignored when it follows the name of a non-US exchange", () => {
    expect(symbolsIn("Telus (TSX: T), (NYSE: a day to forget), NASDAQ: IT")).toEqual([]);
  });
});

describe("a coin mentioned by name", () => {
  it("is recognized if the name has no other meaning", () => {
    expect(symbolsIn("Bitcoin and ETHEREUM, #bitcoin, bitcoin's price")).toEqual([
      "BTC-USD",
      "ETH-USD",
    ]);
  });

  it("is not confused with a coin whose name starts the same way", () => {
    expect(read("bitcoin cash", WRITTEN_AT).symbols).toEqual(["BCH-USD"]);
    expect(read("Ethereum Classic", WRITTEN_AT)).toEqual({ symbols: [], count: 1 });
  });

  it("is not recognized within a URL, a handle or a word", () => {
    expect(symbolsIn("bitcoin.org @bitcoin bitcoiners x.com/bitcoin")).toEqual([]);
  });

  it("is not confused with a place, surname or university", () => {
    expect(symbolsIn("Solana Beach, Javier Solana, ETH Zürich, a stellar ripple")).toEqual([]);
  });
});

describe("the number of instruments mentioned in a text", () => {
  it("includes instruments that are not tracked", () => {
    expect(countIn("$AAPL $ZZZ $ZZY and bitcoin")).toBe(4);
  });

  it("includes each instrument once, however it is spelled", () => {
    expect(countIn("$AAPL $aapl (NASDAQ: AAPL) $BTC bitcoin $BTC.X $DOGE $DOGE.X dogecoin")).toBe(
      3,
    );
  });

  it("is exact even for a long list", () => {
    const many = Array.from({ length: 26 }, (_, index) => `Q${String.fromCharCode(65 + index)}Q`);
    const text = many.map((symbol) => `$${symbol}`).join(" ");
    const named = createCashtagReader(many.map(instrument))(text, WRITTEN_AT);
    expect(named.symbols).toEqual(many);
    expect(named.count).toBe(26);
  });
});

describe("cashtag reading of arbitrary text", () => {
  const piece = fc.constantFrom(
    ...[
      "$",
      "$$",
      "AAPL",
      ".",
      "-",
      "/",
      "USD",
      "(NYSE:",
      ")",
      " ",
      "…",
      "bitcoin",
      "cash",
      "\u200b",
    ],
    ...["\u0301", "ﷺ", "\ud800", "$T", "€", "\n", "🚀", "ſ", "K"],
  );

  it("returns only known symbols, each once, and a count of at least that many", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 400 }),
      fc.array(piece, { maxLength: 200 }).map((pieces) => pieces.join("")),
    );
    fc.assert(
      fc.property(text, (any) => {
        const { symbols, count } = read(any, WRITTEN_AT);
        expect(new Set(symbols).size).toBe(symbols.length);
        expect(count).toBeGreaterThanOrEqual(symbols.length);
        for (const symbol of symbols) expect([...SYMBOLS, ...COINS]).toContain(symbol);
      }),
      { numRuns: 1_000, seed: 8 },
    );
  });

  it("reads only the first 2,000 characters, before and after normalization", () => {
    expect(symbolsIn(`${"x ".repeat(990)}$AAPL`)).toEqual(["AAPL"]);
    expect(symbolsIn(`${"x ".repeat(1_000)}$AAPL`)).toEqual([]);
    expect(symbolsIn(`${"ﷺ ".repeat(200)}$AAPL`)).toEqual([]);
  });
});

const market = sharedFolder("market", "cashtags of real messages");

describe.skipIf(market.isMissing)("real messages (SKIPPED without ../shared/market)", () => {
  it("are assigned to the same symbols as by their platform, except for slang and the platform's omissions", () => {
    const path = join(market.path, "instruments.csv");
    const instruments = readInstruments({ path, content: readFileSync(path, "utf8") });
    const known = new Set(instruments.map(({ symbol }) => symbol));
    const reader = createCashtagReader(instruments);
    const counts = { both: 0, ours: 0, theirs: 0 };
    for (const { text, at, symbols } of realMessages()) {
      const present = symbols.map((ticker) =>
        currentTicker(ticker.replace(".", "-"), at.slice(0, 10)),
      );
      const theirs = new Set(present.filter((symbol) => symbol !== undefined && known.has(symbol)));
      const ours = new Set(reader(text, Date.parse(at)).symbols);
      const both = [...ours].filter((symbol) => theirs.has(symbol)).length;
      counts.both += both;
      counts.ours += ours.size - both;
      counts.theirs += theirs.size - both;
    }
    expect(counts.both).toBeGreaterThan(10_000);
    expect(counts.ours / counts.both).toBeLessThan(0.02);
    expect(counts.theirs / counts.both).toBeLessThan(0.02);
  });
});

interface RealMessage {
  readonly text: string;
  readonly at: string;
  readonly symbols: readonly string[];
}

/**
 * Messages about four stocks. The ticker of one stock is a single letter, and another ticker is a
 * word.
 */
const realMessages = (): RealMessage[] =>
  readdirSync(join(market.path, "mentions"))
    .filter((name) => ["GOOG.jsonl", "T.jsonl", "LOW.jsonl", "MSFT.jsonl"].includes(name))
    .flatMap((name) =>
      readFileSync(join(market.path, "mentions", name), "utf8")
        .trim()
        .split("\n"),
    )
    .map((line) => JSON.parse(line) as RealMessage);
