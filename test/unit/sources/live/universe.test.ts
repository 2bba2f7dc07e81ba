import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readUniverse } from "../../../../src/sources/live/universe.ts";
import { temporaryFolder } from "../../../support/process.ts";

const file = (...lines: readonly string[]): string =>
  join(temporaryFolder({ "instruments.csv": `${lines.join("\n")}\n` }), "instruments.csv");

const HEADER = "symbol,name,assetClass,exchange,currency,sector";

describe("the list of tracked instruments", () => {
  it("contains by default large stocks, six of each sector, and some funds and coins", async () => {
    const all = await readUniverse(undefined);
    const count = (wanted: string) => all.filter(({ assetClass }) => assetClass === wanted).length;
    expect([count("stock"), count("etf"), count("crypto")]).toEqual([66, 3, 12]);
    expect(new Set(all.map(({ symbol }) => symbol)).size).toBe(all.length);
    const isComplete = all.every(
      ({ assetClass, sector }) => (assetClass === "stock") === (sector !== null),
    );
    expect(isComplete).toBe(true);
    const stocks = all.filter(({ assetClass }) => assetClass === "stock");
    const sizes = [...Map.groupBy(stocks, ({ sector }) => sector).values()].map(
      ({ length }) => length,
    );
    expect(sizes).toEqual(Array.from({ length: 11 }, () => 6));
  });

  it("can be a list of symbols, which uses each symbol once and adds built-in details", async () => {
    const all = await readUniverse("AAPL, SPY BTC-USD,AAPL NEWX,NEWX-USD brk".toUpperCase());
    expect(all.map(({ symbol, name, assetClass }) => [symbol, name, assetClass])).toEqual([
      ["AAPL", "Apple Inc.", "stock"],
      ["SPY", "SPDR S&P 500 ETF Trust", "etf"],
      ["BTC-USD", "Bitcoin", "crypto"],
      ["NEWX", "NEWX", "stock"],
      ["NEWX-USD", "NEWX-USD", "crypto"],
      ["BRK", "BRK", "stock"],
    ]);
    expect(all[3]).toEqual({
      ...{ symbol: "NEWX", name: "NEWX", assetClass: "stock" },
      ...{ exchange: null, sector: null, currency: "USD" },
    });
  });

  it("normalizes the spelling of class shares", async () => {
    const all = await readUniverse("BRK.B BRK-B");
    expect(all.map(({ symbol, name }) => [symbol, name])).toEqual([
      ["BRK-B", "Berkshire Hathaway Inc. Class B"],
    ]);
  });

  it("can be a file in the format of a market folder", async () => {
    const path = file(HEADER, "AAA,A Corp.,stock,NYSE,USD,Energy", "B-USD,B,crypto,,USD,");
    expect(await readUniverse(path)).toEqual([
      {
        ...{ symbol: "AAA", name: "A Corp.", assetClass: "stock" },
        ...{ exchange: "NYSE", currency: "USD", sector: "Energy" },
      },
      {
        ...{ symbol: "B-USD", name: "B", assetClass: "crypto" },
        ...{ exchange: null, currency: "USD", sector: null },
      },
    ]);
  });
});

describe("an invalid UNIVERSE setting", () => {
  it("is rejected with the accepted formats when the file does not exist", async () => {
    const path = join(temporaryFolder(), "nowhere.csv");
    await expect(readUniverse(path)).rejects.toThrow(
      `UNIVERSE: ${path} cannot be read; give a file with the columns of instruments.csv, or symbols such as AAPL,BTC-USD.`,
    );
    await expect(readUniverse("aapl,btc-usd")).rejects.toThrow(/^UNIVERSE: .*symbols such as AAPL/);
  });

  it.each([
    [[HEADER, "AAA,A,bond,,USD,"], ":2"],
    [[HEADER, "AAA,A,stock,,USD,", "AAA,A,stock,,USD,"], ":3"],
    [["symbol,name", "AAA,A"], "assetClass"],
  ])(
    "is rejected with the location of the error when the file is invalid: %j",
    async (lines, place) => {
      const path = file(...lines);
      await expect(readUniverse(path)).rejects.toThrow(path);
      await expect(readUniverse(path)).rejects.toThrow(place);
    },
  );
});
