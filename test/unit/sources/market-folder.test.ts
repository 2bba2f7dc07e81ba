import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { Market } from "../../../src/market/market.ts";
import type { InstrumentRecords, PointInTimeRecord } from "../../../src/market/records.ts";
import { readMarketFolder } from "../../../src/sources/files/market-folder.ts";
import { temporaryFolder } from "../../support/process.ts";
import { arraysOf } from "../../support/records.ts";
import { sharedFolder } from "../../support/shared.ts";

/** Real data in the shared folder, whose README states their origin. */
const real = sharedFolder("market", "the reader on the real market folder");

const HEADERS = {
  instruments: "symbol,name,assetClass,exchange,currency,sector",
  bars: "date,open,high,low,close,volume,dividend,split",
  fundamentals: "metric,periodEnd,availableDate,value",
  prints: "tradedAt,price,size,venue,conditions,flags,id",
  offexchange: "date,shortVolume,shortExemptVolume,totalVolume",
  onchain: "date,priceUsd,marketCapUsd,realizedCapUsd,mvrv,nvt,activeAddresses,transactions",
} as const;

const csv = (header: keyof typeof HEADERS, ...rows: readonly string[]) =>
  `${[HEADERS[header], ...rows].join("\n")}\n`;
const jsonLines = (...rows: readonly unknown[]) =>
  rows.map((row) => `${JSON.stringify(row)}\n`).join("");

const STOCK = "ACME,Acme Corp.,stock,NYSE,USD,Industrials";
const COIN = "DOGE-USD,Dogecoin,crypto,,USD,";
const INSTRUMENTS = csv("instruments", STOCK, COIN);

const TWEET = {
  id: "418157151946035200",
  at: "2014-06-09T14:30:00Z",
  source: "twitter",
  author: "860e0fbe1366",
  followers: 6,
  verified: false,
  repost: true,
  lang: "en",
  symbols: ["ACME", "OTHR"],
  text: "RT: $ACME up",
};
const TAGGED = {
  id: "st-1",
  at: "2014-06-09T14:31:00Z",
  source: "stocktwits",
  lang: "en",
  symbols: [],
  stance: "bearish",
  text: "no",
};

type Files = Readonly<Record<string, string>>;

/** Writes a market folder with one stock, one coin and the given files. */
const folderOf = (files: Files): string =>
  temporaryFolder({ "instruments.csv": INSTRUMENTS, ...files });

async function read(files: Files): Promise<readonly InstrumentRecords[]> {
  const market = await readMarketFolder(folderOf(files));
  return market.recordsUntil(0);
}

const readStock = async (files: Files) => arraysOf((await read(files))[0] as InstrumentRecords);
const readCoin = async (files: Files) => arraysOf((await read(files))[1] as InstrumentRecords);
const utc = (text: string) => Date.parse(text);

describe("a market folder", () => {
  it("states its mode, and that the owner is responsible for the licenses of the data", async () => {
    const market = await readMarketFolder(folderOf({}));
    expect(market).toMatchObject({ mode: "files", dayMs: 86_400_000 });
    expect(market.source).toMatchObject({ id: "market-folder", simulated: false });
    expect(market.source.terms).toMatch(/licenses/);
  });

  it("is scored from the start of the previous year in New York", async () => {
    const { servedFrom } = await readMarketFolder(folderOf({}));
    expect(servedFrom(utc("2015-06-30T21:00:00Z"))).toBe(utc("2014-01-01T05:00:00Z"));
    expect(servedFrom(utc("2015-01-01T04:59:59Z"))).toBe(utc("2013-01-01T05:00:00Z"));
    expect(servedFrom(utc("2015-01-01T05:00:00Z"))).toBe(utc("2014-01-01T05:00:00Z"));
  });

  it("lists instruments in the same order, whatever the order of the lines", async () => {
    const records = await read({ "instruments.csv": csv("instruments", COIN, STOCK) });
    expect(records.map(({ instrument }) => instrument.symbol)).toEqual(["ACME", "DOGE-USD"]);
  });

  it("may contain instruments with quoted names and without an exchange or sector", async () => {
    const rows = [COIN, 'BRK-B,"Berk, Shire ""B""",stock,NYSE,USD,Financials'];
    const records = await read({ "instruments.csv": csv("instruments", ...rows) });
    expect(records.map(({ instrument }) => instrument)).toEqual([
      {
        symbol: "BRK-B",
        name: 'Berk, Shire "B"',
        assetClass: "stock",
        exchange: "NYSE",
        currency: "USD",
        sector: "Financials",
      },
      {
        symbol: "DOGE-USD",
        name: "Dogecoin",
        assetClass: "crypto",
        exchange: null,
        currency: "USD",
        sector: null,
      },
    ]);
  });

  it("may list stocks and funds of every exchange with the hours of New York, and coins of any", async () => {
    const exchanges = ["NYSE", "Nasdaq", "NYSE American", "NYSE Arca", "CBOE", "OTC", ""];
    const rows = exchanges.map((exchange, at) => `S${at},Stock,stock,${exchange},USD,`);
    const files = { "instruments.csv": csv("instruments", ...rows, "X-USD,X,crypto,Kraken,USD,") };
    expect((await read(files)).map(({ instrument }) => instrument.exchange)).toEqual([
      ...exchanges.slice(0, -1),
      null,
      "Kraken",
    ]);
  });

  it("has no list of a feed that has no file, no rows, or no row that is known yet", async () => {
    const files = {
      "bars/ACME.csv": csv("bars", "2014-06-09,1,2,1,2,10,0,1"),
      "prints/ACME.csv": csv("prints"),
      "mentions/ACME.jsonl": jsonLines(TWEET),
    };
    const listsKnown = async (until: number) => {
      const market = await readMarketFolder(folderOf(files), { until });
      const [{ instrument: _, ...lists } = { instrument: undefined }] = market.recordsUntil(until);
      return lists;
    };
    const posted = utc(TWEET.at);
    expect(await listsKnown(posted - 1)).toEqual({ bars: [] });
    expect(await listsKnown(posted)).toMatchObject({ bars: [], mentions: [{ id: TWEET.id }] });
  });

  it("is read identically with Windows line endings, a byte order mark or an unterminated last line", async () => {
    const unix = csv("bars", "2014-06-09,1,2,1,2,10,0,1", "2014-06-10,2,3,2,3,10,0,1");
    const windows = `\uFEFF${unix.trimEnd().replaceAll("\n", "\r\n")}`;
    const mentions = jsonLines(TWEET, TAGGED);
    const plain = await readStock({ "bars/ACME.csv": unix, "mentions/ACME.jsonl": mentions });
    const odd = await readStock({
      "bars/ACME.csv": windows,
      "mentions/ACME.jsonl": mentions.trimEnd().replaceAll("\n", "\r\n"),
    });
    expect(plain.bars).toHaveLength(2);
    expect(odd).toEqual(plain);
  });

  it("reports progress after each instrument", async () => {
    const steps: (readonly [number, number])[] = [];
    const onProgress = (done: number, total: number) => steps.push([done, total]);
    await readMarketFolder(folderOf({}), { onProgress });
    expect(steps).toEqual([
      [1, 2],
      [2, 2],
    ]);
  });

  it("may contain hidden files, unrelated files and market-wide files, which are ignored", async () => {
    const files = { "bars/.DS_Store": "x", "README.md": "x", "DIX.csv": "x" };
    expect(await read(files)).toHaveLength(2);
  });
});

describe("bars in a market folder", () => {
  const rows = [
    "2014-03-07,640,650,639,645.57,1000,0,1",
    "2014-03-10,92,94,91,93.7,7000,0,7",
    "2014-03-11,93,94,92,93.2,6000.5,0.5,1",
    "2014-03-12,1e1,1.2E+1,0.9e1,10,0,83.2,1",
  ];

  it("are known at 16:15 New York time on their date for a stock, in summer and winter", async () => {
    const { bars } = await readStock({ "bars/ACME.csv": csv("bars", ...rows) });
    expect(bars.map(({ session }) => session)).toEqual(rows.map((row) => row.slice(0, 10)));
    expect(bars.slice(0, 2).map(({ availableAt }) => availableAt)).toEqual([
      utc("2014-03-07T21:15:00Z"),
      utc("2014-03-10T20:15:00Z"),
    ]);
  });

  it("are known at the end of their UTC day for a coin", async () => {
    const { bars } = await readCoin({ "bars/DOGE-USD.csv": csv("bars", ...rows) });
    expect(bars[1]?.availableAt).toBe(utc("2014-03-11T00:00:00Z"));
  });

  it("have unadjusted prices, and returns adjusted for splits and dividends", async () => {
    const { bars } = await readStock({ "bars/ACME.csv": csv("bars", ...rows) });
    const [first, split, dividend, spinOff] = bars;
    expect(first).toMatchObject({ close: 645.57, volume: 1000, split: 1, logReturn: null });
    expect(split).toMatchObject({ open: 92, high: 94, low: 91, close: 93.7, split: 7 });
    expect(split?.logReturn).toBeCloseTo(Math.log(655.9 / 645.57), 12);
    expect(dividend).toMatchObject({ volume: 6000.5, dividend: 0.5 });
    expect(dividend?.logReturn).toBeCloseTo(0, 12);
    expect(spinOff).toMatchObject({ open: 10, high: 12, low: 9, volume: 0 });
    expect(spinOff?.logReturn).toBeCloseTo(0, 12);
  });

  it("are excluded and listed as suspect when they are impossible", async () => {
    const rows = [
      "2014-06-06,1,2,1,2,9,0,1",
      "2014-06-09,1,1,2,2,9,0,1",
      "2014-06-10,2,2,2,2,9,0,1",
    ];
    const files = { "bars/ACME.csv": csv("bars", ...rows, "2014-06-11,2,2,0,-2,-9,0,1") };
    const { bars, doubtedBars } = await readStock(files);
    expect(bars.map(({ session }) => session)).toEqual(["2014-06-06", "2014-06-10"]);
    expect(doubtedBars).toMatchObject([
      {
        session: "2014-06-09",
        detail: "the high 1 is under the low 2",
        outcome: { verdict: "dropped", at: bars[1]?.availableAt },
      },
      { session: "2014-06-11", detail: "the price 0 is not above 0", outcome: null },
    ]);
    const until = utc("2014-06-06T23:00:00Z");
    const market = await readMarketFolder(folderOf(files), { until });
    expect(market.recordsUntil(until)[0]?.doubtedBars).toBeUndefined();
  });

  it("are validated but not kept when they become known after the requested end", async () => {
    const folder = folderOf({ "bars/ACME.csv": csv("bars", ...rows) });
    const until = utc("2014-03-10T20:15:00Z");
    const market = await readMarketFolder(folder, { until });
    expect(Array.from(market.recordsUntil(0)[0]?.bars ?? [], ({ session }) => session)).toEqual([
      "2014-03-07",
      "2014-03-10",
    ]);
    await writeFile(
      join(folder, "bars/ACME.csv"),
      csv("bars", ...rows, "2014-03-13,1,1,1,none,0,0,1"),
    );
    await expect(readMarketFolder(folder, { until })).rejects.toThrow("ACME.csv:6: close");
  });
});

describe("fundamentals in a market folder", () => {
  const readFigures = async (...rows: readonly string[]) =>
    (await readStock({ "fundamentals/ACME.csv": csv("fundamentals", ...rows) })).fundamentals;

  it("are known from the New York midnight after the filing date, and sorted by that time", async () => {
    const figures = await readFigures(
      "netIncome,2014-12-31,2015-03-07,-5.5",
      "equity,2014-09-30,2014-11-01,2e9",
    );
    expect(figures).toEqual([
      {
        metric: "equity",
        periodEnd: utc("2014-09-30T23:59:59.999Z"),
        availableAt: utc("2014-11-02T04:00:00Z"),
        value: 2_000_000_000,
      },
      {
        metric: "netIncome",
        periodEnd: utc("2014-12-31T23:59:59.999Z"),
        availableAt: utc("2015-03-08T05:00:00Z"),
        value: -5.5,
      },
    ]);
  });

  it("include filings with any delay, but only the metrics that are used", async () => {
    const figures = await readFigures(
      "equity,2013-12-31,2015-02-03,1",
      "revenue,2014-12-31,2015-02-03,2",
      "totalAssets,2014-12-31,2015-02-03,3",
    );
    expect(figures?.map(({ metric, value }) => [metric, value])).toEqual([
      ["equity", 1],
      ["assets", 3],
    ]);
  });

  it("use shares outstanding instead of diluted shares, but only within the same filing", async () => {
    const figures = await readFigures(
      "dilutedShares,2014-12-31,2015-02-03,110",
      "sharesOutstanding,2014-12-31,2015-02-03,100",
      "dilutedShares,2014-12-31,2015-02-04,111",
      "dilutedShares,2015-03-31,2015-05-03,112",
    );
    expect(figures?.map(({ metric, value }) => [metric, value])).toEqual([
      ["shares", 100],
      ["shares", 111],
      ["shares", 112],
    ]);
  });
});

describe("prints in a market folder", () => {
  const readPrints = async (...rows: readonly string[]) =>
    (await readStock({ "prints/ACME.csv": csv("prints", ...rows) })).prints;

  it("are known when traded, and belong to the session of their New York date", async () => {
    const prints = await readPrints("2013-10-12T03:59:59.051Z,181.51,596,FINRA-TRF,20000020,,a-1");
    const tradedAt = utc("2013-10-12T03:59:59.051Z");
    expect(prints).toEqual([
      {
        id: "a-1",
        session: "2013-10-11",
        tradedAt,
        availableAt: tradedAt,
        price: 181.51,
        sizeShares: 596,
        venue: "FINRA-TRF",
        conditions: "20000020",
        bid: null,
        ask: null,
        canceled: false,
        signable: false,
      },
    ]);
  });

  it("are sorted by time, and by id when the times are equal", async () => {
    const at = (time: string, id: string) => `2013-10-07T${time}Z,1,1,TRF,,,${id}`;
    const prints = await readPrints(
      at("14:00:01", "a"),
      at("14:00:00", "c"),
      at("14:00:00.000", "b"),
      at("13:59:59.999999", "d"),
    );
    expect(prints?.map(({ id }) => id)).toEqual(["d", "b", "c", "a"]);
  });
});

describe("short volumes and on-chain figures in a market folder", () => {
  it("are known at 18:00 New York time for a stock", async () => {
    const rows = ["2019-11-01,40,3,100", "2019-11-04,0,0,0"];
    const { shortVolumes } = await readStock({
      "offexchange/ACME.csv": csv("offexchange", ...rows),
    });
    expect(shortVolumes).toEqual([
      {
        session: "2019-11-01",
        availableAt: utc("2019-11-01T22:00:00Z"),
        shortShares: 40,
        totalShares: 100,
      },
      {
        session: "2019-11-04",
        availableAt: utc("2019-11-04T23:00:00Z"),
        shortShares: 0,
        totalShares: 0,
      },
    ]);
  });

  it("are known at 06:00 UTC on the next day for a coin, and null where missing", async () => {
    const rows = ["2020-02-28,,,,,,0,0", "2020-02-29,0.13,4.3e+09,2e9,1.75,8.3,15,66"];
    const { onChain } = await readCoin({ "onchain/DOGE-USD.csv": csv("onchain", ...rows) });
    expect(onChain).toEqual([
      {
        ...{ session: "2020-02-28", availableAt: utc("2020-02-29T06:00:00Z") },
        ...{ mvrv: null, nvt: null, marketCapUsd: null },
      },
      {
        ...{ session: "2020-02-29", availableAt: utc("2020-03-01T06:00:00Z") },
        ...{ mvrv: 1.75, nvt: 8.3, marketCapUsd: 4.3e9 },
      },
    ]);
  });
});

describe("mentions in a market folder", () => {
  const readMentions = async (...rows: readonly unknown[]) =>
    (await readStock({ "mentions/ACME.jsonl": jsonLines(...rows) })).mentions;

  it("from both Twitter and Stocktwits are known when posted, and sorted by time", async () => {
    expect(await readMentions(TAGGED, TWEET)).toEqual([
      {
        id: TWEET.id,
        availableAt: utc(TWEET.at),
        text: TWEET.text,
        author: TWEET.author,
        followers: 6,
        symbolCount: 2,
        stance: null,
      },
      {
        id: "st-1",
        availableAt: utc(TAGGED.at),
        text: "no",
        author: null,
        followers: null,
        symbolCount: 1,
        stance: "bearish",
      },
    ]);
  });

  it("keep at most 2,000 characters, without splitting a surrogate pair", async () => {
    const [mention] = (await readMentions({ ...TWEET, text: `${"a".repeat(1999)}🚀 later` })) ?? [];
    expect(mention?.text).toHaveLength(2000);
    expect(mention?.text.isWellFormed()).toBe(true);
  });
});

describe("a malformed market folder is rejected with the file and line", () => {
  const bar = (row: string) => ({ "bars/ACME.csv": csv("bars", "2014-06-06,1,2,1,2,9,0,1", row) });
  const figure = (row: string) => ({ "fundamentals/ACME.csv": csv("fundamentals", row) });
  const print = (row: string) => ({ "prints/ACME.csv": csv("prints", row) });
  const mention = (change: object) => ({
    "mentions/ACME.jsonl": jsonLines(TAGGED, { ...TWEET, ...change }),
  });
  const listed = (...rows: readonly string[]) => ({
    "instruments.csv": csv("instruments", ...rows),
  });
  const short = (...rows: readonly string[]) => ({
    "offexchange/ACME.csv": csv("offexchange", ...rows),
  });
  const chain = (...rows: readonly string[]) => ({
    "onchain/DOGE-USD.csv": csv("onchain", ...rows),
  });

  const cases: readonly (readonly [name: string, files: Files, message: string])[] = [
    ["a wrong header", { "bars/ACME.csv": "date,open\n" }, "bars/ACME.csv:1: the header"],
    ["no header", { "bars/ACME.csv": "" }, "bars/ACME.csv:1: the header"],
    ["a missing column", bar("2014-06-09,1,2,1,2,9,0"), "bars/ACME.csv:3: the line has 7 of 8"],
    ["an additional column", bar("2014-06-09,1,2,1,2,9,0,1,1"), "bars/ACME.csv:3: the line has 9"],
    ["an empty line", bar(""), "bars/ACME.csv:3: the line has 1"],
    ["a number with a tail", bar("2014-06-09,1,2,1,12abc,9,0,1"), 'ACME.csv:3: close is "12abc"'],
    ["an empty number", bar("2014-06-09,1,2,1,,9,0,1"), 'ACME.csv:3: close is ""'],
    ["NaN", bar("2014-06-09,1,2,1,NaN,9,0,1"), 'ACME.csv:3: close is "NaN"'],
    ["Infinity", bar("2014-06-09,1,2,1,2,Infinity,0,1"), 'ACME.csv:3: volume is "Infinity"'],
    ["a number that overflows", bar("2014-06-09,1,2,1,2,1e999,0,1"), "ACME.csv:3: volume"],
    ["a hexadecimal number", bar("2014-06-09,0x1,2,1,2,9,0,1"), 'ACME.csv:3: open is "0x1"'],
    ["a number with a space", bar("2014-06-09, 1,2,1,2,9,0,1"), 'ACME.csv:3: open is " 1"'],
    ["an impossible date", bar("2015-02-30,1,2,1,2,9,0,1"), 'ACME.csv:3: date is "2015-02-30"'],
    ["the month 13", bar("2015-13-01,1,2,1,2,9,0,1"), 'ACME.csv:3: date is "2015-13-01"'],
    ["a date in another format", bar("06/09/2014,1,2,1,2,9,0,1"), "ACME.csv:3: date is"],
    ["a repeated date", bar("2014-06-06,1,2,1,2,9,0,1"), 'ACME.csv:3: date "2014-06-06" follows'],
    ["a date before the preceding date", bar("2014-06-05,1,2,1,2,9,0,1"), "ACME.csv:3: date"],
    ["a negative dividend", bar("2014-06-09,1,2,1,2,9,-1,1"), 'ACME.csv:3: dividend is "-1"'],
    ["a split ratio of zero", bar("2014-06-09,1,2,1,2,9,0,0"), 'ACME.csv:3: split is "0"'],
    ["an unknown metric", figure("netincome,2014-06-30,2014-08-01,1"), "ACME.csv:2: metric"],
    ["an impossible period", figure("equity,2014-06-31,2014-08-01,1"), "ACME.csv:2: periodEnd"],
    [
      "a filing with an invalid date",
      figure("equity,2014-06-30,soon,1"),
      "ACME.csv:2: availableDate",
    ],
    [
      "a figure that is not a number",
      figure("revenue,2014-06-30,2014-08-01,n/a"),
      "ACME.csv:2: value",
    ],
    [
      "a repeated figure in one filing",
      figure("equity,2014-06-30,2014-08-01,1\nequity,2014-06-30,2014-08-01,2"),
      "fundamentals/ACME.csv:3: figure",
    ],
    [
      "a print with an invalid time",
      print("2014-06-09 14:00,1,1,TRF,,,a"),
      "prints/ACME.csv:2: tradedAt",
    ],
    [
      "a time without a time zone",
      print("2014-06-09T14:00:00,1,1,TRF,,,a"),
      "prints/ACME.csv:2: tradedAt",
    ],
    ["the hour 24", print("2014-06-09T24:00:00Z,1,1,TRF,,,a"), "prints/ACME.csv:2: tradedAt"],
    ["30 February", print("2014-02-30T14:00:00Z,1,1,TRF,,,a"), "prints/ACME.csv:2: tradedAt"],
    ["a print of zero shares", print("2014-06-09T14:00:00Z,1,0,TRF,,,a"), "ACME.csv:2: size"],
    ["a print without an id", print("2014-06-09T14:00:00Z,1,1,TRF,,,"), "ACME.csv:2: id"],
    [
      "a repeated print",
      print("2014-06-09T14:00:00Z,1,1,TRF,,,a\n2014-06-09T14:00:01Z,1,1,TRF,,,a"),
      'prints/ACME.csv:3: print "a" is repeated',
    ],
    [
      "a short volume above the total volume",
      short("2014-06-09,5,0,4"),
      "offexchange/ACME.csv:2: shortVolume 5",
    ],
    [
      "short-volume days out of order",
      short("2014-06-09,1,0,4", "2014-06-06,1,0,4"),
      "ACME.csv:3: date",
    ],
    ["an MVRV of zero", chain("2014-06-09,,,,0,,,"), 'onchain/DOGE-USD.csv:2: mvrv is "0"'],
    [
      "a repeated on-chain day",
      chain("2014-06-09,,,,1,,,", "2014-06-09,,,,1,,,"),
      "USD.csv:3: date",
    ],
    ["text that is not JSON", { "mentions/ACME.jsonl": "{" }, "mentions/ACME.jsonl:1: "],
    ["an empty line in a JSONL file", { "mentions/ACME.jsonl": "\n\n" }, "mentions/ACME.jsonl:1: "],
    [
      "JSON that is not a message",
      { "mentions/ACME.jsonl": "[]\n" },
      "mentions/ACME.jsonl:1: the line",
    ],
    ["a message without text", mention({ text: undefined }), "mentions/ACME.jsonl:2: text"],
    ["a message with an invalid time", mention({ at: "2014-02-30T00:00:00Z" }), "ACME.jsonl:2: at"],
    [
      "a message whose symbols are not an array",
      mention({ symbols: "ACME" }),
      "ACME.jsonl:2: symbols",
    ],
    ["negative followers", mention({ followers: -1 }), "ACME.jsonl:2: followers"],
    ["an unknown stance", mention({ stance: "hodl" }), "ACME.jsonl:2: stance"],
    ["a repeated message", mention({ id: TAGGED.id }), "ACME.jsonl:2: "],
    ["an unknown asset class", listed("X,X,bond,,USD,"), "instruments.csv:2: assetClass"],
    [
      "a repeated symbol",
      listed(STOCK, COIN, STOCK),
      'instruments.csv:4: symbol "ACME" is repeated',
    ],
    ["a symbol in lower case", listed("acme,A,stock,,USD,"), "instruments.csv:2: symbol"],
    ["a symbol that is a path", listed("../ACME,A,stock,,USD,"), "instruments.csv:2: symbol"],
    ["an instrument without a name", listed("ACME,,stock,,USD,"), "instruments.csv:2: name"],
    ["a bar of a Sunday", bar("2014-06-08,1,2,1,1,9,0,1"), "bars/ACME.csv:3: New York was closed"],
    ["a bar of a holiday", bar("2014-07-04,1,2,1,1,9,0,1"), "closed on 2014-07-04: a trading day"],
    [
      "short volume of a Saturday",
      short("2014-06-07,1,0,4"),
      "offexchange/ACME.csv:2: New York was closed on 2014-06-07",
    ],
    [
      "a print of a Saturday",
      { "prints/ACME.csv": csv("prints", "2014-06-07T15:00:00Z,1,1,FINRA,,,x") },
      "prints/ACME.csv:2: New York was closed on 2014-06-07",
    ],
    [
      "a stock of an exchange with other hours",
      listed("VOD,Vodafone,stock,LSE,GBP,"),
      'instruments.csv:2: exchange "LSE" may keep other hours than New York',
    ],
    ["no currency", listed("ACME,A,stock,,,"), "instruments.csv:2: currency"],
    ["an unclosed quote", listed(COIN, 'ACME,"Acme,stock,,USD,'), "instruments.csv:3: "],
    ["text after a quote", listed(COIN, 'ACME,"Ac"me,stock,,USD,', "X"), "instruments.csv:3: "],
    ["a cell with a line break", listed('ACME,"Ac\nme",stock,,USD,'), "instruments.csv:2: "],
    ["a file for a symbol that is not listed", { "bars/OTHR.csv": csv("bars") }, "bars/OTHR.csv: "],
    ["a file name in lower case", { "bars/acme.csv": csv("bars") }, "bars/acme.csv: "],
    ["a file with an unknown extension", { "mentions/ACME.json": "" }, "mentions/ACME.json: "],
  ];

  it.each(cases)("for %s", async (_, files, message) => {
    const folder = folderOf(files);
    const failure: unknown = await readMarketFolder(folder).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Error);
    const text = (failure as Error).message;
    expect(text.startsWith(`${folder}/`)).toBe(true);
    expect(text).toContain(message);
    expect(text.slice(folder.length)).toMatch(/^\/[\w./-]+(:\d+)?: .+: .+$/);
  });

  it("when the folder or the file instruments.csv does not exist", async () => {
    const folder = folderOf({});
    await rm(join(folder, "instruments.csv"));
    await expect(readMarketFolder(folder)).rejects.toThrow(`${folder}/instruments.csv: `);
    await expect(readMarketFolder(`${folder}/none`)).rejects.toThrow(`${folder}/none`);
  });

  it("with the faulty cell, shortened if it is long and escaped if it is unprintable", async () => {
    const cell = `\u0007${"9".repeat(100)}`;
    const reading = read(bar(`2014-06-09,1,2,1,${cell},9,0,1`));
    await expect(reading).rejects.toThrow(`close is "\\u0007${"9".repeat(39)}…"`);
  });
});

describe.skipIf(real.isMissing)("the real market folder", { tags: ["full"] }, () => {
  let market: Market;
  const bySymbol = (symbol: string) =>
    arraysOf(
      market
        .recordsUntil(0)
        .find(({ instrument }) => instrument.symbol === symbol) as InstrumentRecords,
    );

  beforeAll(async () => {
    market = await readMarketFolder(real.path);
  }, 60_000);

  it("lists 399 instruments, each with bars", () => {
    const records = market.recordsUntil(0);
    expect(records).toHaveLength(399);
    expect(records.filter(({ bars }) => bars.length === 0)).toEqual([]);
  });

  it("has unadjusted prices of AAPL before and after its 7-for-1 split, and a return without a jump", () => {
    const { bars } = bySymbol("AAPL");
    const split = bars.findIndex(({ session }) => session === "2014-06-09");
    expect(bars[split - 1]).toMatchObject({ session: "2014-06-06" });
    expect(bars[split - 1]?.close).toBeCloseTo(645.57, 2);
    expect(bars[split]?.close).toBeCloseTo(93.7, 2);
    expect(bars[split]?.split).toBe(7);
    expect(bars[split]?.logReturn).toBeCloseTo(Math.log((93.7 * 7) / 645.57), 4);
  });

  it("has 7,458 prints with a total of 1,228,746 shares in IBM on 2013-10-07", () => {
    const prints = bySymbol("IBM").prints?.filter(({ session }) => session === "2013-10-07");
    expect(prints).toHaveLength(7458);
    expect(prints?.reduce((sum, { sizeShares }) => sum + sizeShares, 0)).toBe(1_228_746);
  });

  it("lists records of every feed in the order in which they became known", () => {
    const lists = market
      .recordsUntil(0)
      .flatMap(({ instrument: _, ...records }) =>
        Object.values(records).map((list) => Array.from<PointInTimeRecord>(list)),
      );
    const isAscending = (known: readonly { readonly availableAt: number }[]) =>
      known.every((one, index) => one.availableAt >= (known[index - 1]?.availableAt ?? 0));
    expect(lists.length).toBeGreaterThan(399);
    expect(lists.every(isAscending)).toBe(true);
  });

  it("has messages with and without a stance, each with the number of instruments it mentions", () => {
    const mentions = bySymbol("AAPL").mentions ?? [];
    expect(new Set(mentions.map(({ stance }) => stance))).toEqual(
      new Set(["bullish", "bearish", null]),
    );
    expect(mentions.every(({ symbolCount }) => symbolCount >= 1)).toBe(true);
  });
});
