import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/lib/day.ts";
import { sessionsBetween } from "../../src/market/calendar.ts";
import { getWith, newToken } from "../support/agent.ts";
import { temporaryFolder } from "../support/process.ts";
import { runCommand } from "../support/run-command.ts";
import { startTestService } from "../support/test-service.ts";

const HEADER = "symbol,name,assetClass,exchange,currency,sector";
const BARS = "date,open,high,low,close,volume,dividend,split";

/** Creates a generator of numbers in [0, 1), the same for every run (Park and Miller, 1988). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** Writes a market folder. @param files Lines by the path below the folder. */
const write = (files: Readonly<Record<string, readonly string[]>>): string =>
  temporaryFolder(
    Object.fromEntries(
      Object.entries(files).map(([name, lines]) => [name, `${lines.join("\n")}\n`]),
    ),
  );

const sessions = sessionsBetween("2022-01-03", "2023-05-17");
const days = Array.from({ length: 500 }, (_, day) =>
  new Date(Date.parse("2022-01-03") + day * DAY_MS).toISOString().slice(0, 10),
);
const random = seeded(38);

function bars(dates: readonly string[]): readonly string[] {
  let close = 50;
  const rows = dates.map((date) => {
    const open = close;
    close *= 1 + (random() - 0.49) * 0.04;
    const prices = [open, Math.max(open, close) * 1.004, Math.min(open, close) * 0.996, close];
    return `${date},${prices.map((price) => price.toFixed(2)).join(",")},900000,0,1`;
  });
  return [BARS, ...rows];
}

const shortVolumes = () => [
  "date,shortVolume,shortExemptVolume,totalVolume",
  ...sessions.map((date) => `${date},${Math.floor(200_000 + random() * 300_000)},0,1000000`),
];

const mentions = (symbol: string) =>
  sessions.flatMap((date) =>
    [14, 15, 16].map((hour) => {
      const text = `$${symbol} ${random() < 0.5 ? "strong, great results" : "weak and falling"}`;
      const at = `${date}T${hour}:00:00Z`;
      return JSON.stringify({ id: at, at, author: `a${hour}`, symbols: [symbol], text });
    }),
  );

/** Writes a folder of five invented instruments, as docs/market-folder.md describes it. */
const fiveInstruments = () =>
  write({
    "instruments.csv": [
      HEADER,
      "OAKS,Oaks Milling Co.,stock,NYSE,USD,Food",
      "PIER,Pier Works Inc.,stock,Nasdaq,USD,Transport",
      'QUAY,"Quay, Ltd.",stock,,USD,Transport',
      "FUNDX,Five Fund,etf,NYSE Arca,USD,",
      "COYN-USD,Coyn,crypto,,USD,",
    ],
    "bars/OAKS.csv": bars(sessions),
    "bars/PIER.csv": bars(sessions),
    "bars/QUAY.csv": bars(sessions),
    "bars/FUNDX.csv": bars(sessions),
    "bars/COYN-USD.csv": bars(days),
    "mentions/OAKS.jsonl": mentions("OAKS"),
    "offexchange/OAKS.csv": shortVolumes(),
    "fundamentals/OAKS.csv": [
      "metric,periodEnd,availableDate,value",
      "netIncome,2023-03-31,2023-05-10,1000000",
      "sharesOutstanding,2023-03-31,2023-05-10,1000000",
    ],
    "onchain/COYN-USD.csv": [
      "date,priceUsd,marketCapUsd,realizedCapUsd,mvrv,nvt,activeAddresses,transactions",
      ...days.map((date) => `${date},,,,${(1.5 + random()).toFixed(3)},,,`),
    ],
  });

/** Runs `market-signal check`. @returns Its exit code and what it printed. */
async function check(...args: readonly string[]) {
  const { code, out } = await runCommand(["check", ...args], { folder: "/" });
  return { code, text: out };
}

describe("a folder of five instruments, written by its documentation", () => {
  it("passes the check, which says what is in it and which evidence it gives", async () => {
    const folder = fiveInstruments();
    const { code, text } = await check(folder, "--json");
    expect(code).toBe(0);
    expect(JSON.parse(text)).toMatchObject({
      isGood: true,
      feeds: {
        bars: {
          ...{ instruments: 5, records: 4 * sessions.length + days.length },
          ...{ from: "2022-01-03", to: "2023-05-17" },
        },
        fundamentals: { instruments: 1, records: 2 },
        prints: { instruments: 0, records: 0, from: null, to: null },
      },
      refused: { count: 0, listed: [] },
      doubted: { count: 0, listed: [] },
      unread: [],
      evidenceAt: "2023-05-18T00:00:00.000Z",
      symbols: expect.arrayContaining([
        {
          symbol: "OAKS",
          assetClass: "stock",
          status: "partial",
          evidence: {
            ...{ momentum: "ok", valuation: "insufficient_data" },
            ...{ social: "ok", darkpool: "ok" },
          },
        },
        expect.objectContaining({
          symbol: "COYN-USD",
          evidence: expect.objectContaining({ momentum: "ok", valuation: "ok" }),
        }),
      ]),
    });
    const printed = await check(folder);
    expect(printed.text).toContain(`MARKET=files:${folder} serves it.`);
    expect(printed.text).toContain("social no_feed, darkpool no_feed: PIER QUAY");
  });

  it("is served: an agent gets a signal of each, and a person a page", async () => {
    const { base } = await startTestService({ MARKET: `files:${fiveInstruments()}` });
    const token = await newToken(base, { scope: "signals:read" });
    for (const symbol of ["OAKS", "PIER", "QUAY", "FUNDX", "COYN-USD"]) {
      const answer = await getWith(token, `${base}/api/signals?symbol=${symbol}`);
      expect(await answer.json()).toMatchObject({
        symbol,
        market: "files",
        signal: expect.stringMatching(/^(LONG|SHORT|WAIT)$/),
      });
    }
    const page = await fetch(`${base}/market/OAKS`);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain("Oaks Milling Co.");
  });
});

describe("the check of a folder that the service refuses", () => {
  const folder = write({
    "instruments.csv": [HEADER, "OAKS,Oaks,stock,NYSE,USD,", "VOD,Vodafone,stock,LSE,GBP,"],
    "bars/OAKS.csv": [
      BARS,
      "2022-01-14,10,11,9,10,900,0,1",
      "2022-01-15,10,11,9,10,900,0,1",
      "2022-01-18,10,11,9,x,900,0,1",
      "2022-01-19,10,11,9,12,900,0,1",
    ],
    "bars/VOD.csv": [BARS],
    "mentions/OAKS.jsonl": ["{}"],
    "fundamentals/OAKS.csv": ["metric,periodEnd,value,unit"],
    "NOTES\u009b.txt": [""],
  });

  it("lists everything that is refused, with file, line and reason, and ends with 1", async () => {
    const { code, text } = await check(folder);
    expect(code).toBe(1);
    expect(text.split("\n")).toEqual(
      expect.arrayContaining([
        "Refused: 6",
        expect.stringMatching(/^ {2}instruments\.csv:3: exchange "LSE" may keep other hours/),
        "  bars/VOD.csv: no symbol of instruments.csv has this name: files here are called SYMBOL.csv",
        "  bars/OAKS.csv:3: New York was closed on 2022-01-15: a trading day of New York",
        '  bars/OAKS.csv:4: close is "x": a number such as -12.5',
        expect.stringMatching(/^ {2}mentions\/OAKS\.jsonl:1: id is not as it should be/),
        expect.stringContaining('"unit" is not known; availableDate is missing'),
        "Not read, because unknown: NOTES\ufffd.txt",
        "The service does not start on it: mend what is refused.",
      ]),
    );
  });

  it("is what the service names when it does not start", async () => {
    await expect(startTestService({ MARKET: `files:${folder}` })).rejects.toThrow(
      /instruments\.csv:3: exchange "LSE" .* "market-signal check" lists all of it/,
    );
  });

  it("counts what was accepted, and lists bars that are doubted", async () => {
    const { text } = await check(folder, "--json");
    const { feeds, doubted } = JSON.parse(text);
    expect(feeds.bars).toEqual({
      ...{ instruments: 1, records: 1 },
      ...{ from: "2022-01-14", to: "2022-01-14" },
    });
    expect(doubted).toMatchObject({
      count: 1,
      listed: [{ symbol: "OAKS", session: "2022-01-19" }],
    });
  });

  it("says so of a folder that is none, and of one without bars", async () => {
    const none = await check(join(folder, "none"));
    expect(none.code).toBe(1);
    expect(none.text).toContain("instruments.csv: there is no such file");
    const empty = await check(write({ "instruments.csv": [HEADER] }));
    expect(empty.code).toBe(1);
    expect(empty.text).toContain("nothing to score");
  });
});
