import { DAY_MS } from "../../src/lib/day.ts";
import { sessionsBetween } from "../../src/market/calendar.ts";
import { temporaryFolder } from "./process.ts";

/** First and last date of the bars. */
const FIRST_DATE = "2012-10-01";
const LAST_DATE = "2014-03-31";

const INSTRUMENTS = [
  "symbol,name,assetClass,exchange,currency,sector",
  "ACME,Acme Corp.,stock,NYSE,USD,Industrials",
  "LATE,Late Listed Inc.,stock,NYSE,USD,Technology",
  "FUND,Broad Market Fund,etf,NYSE,USD,",
  "COIN-USD,Coin,crypto,,USD,",
];

/**
 * Writes a synthetic market folder of 18 months, identical on every call: two stocks, one of which
 * is listed in November 2013, a fund and a coin. It has filings; messages, prints and short volumes
 * begin only in 2014. The folder is removed after the last test of the file.
 */
export async function smallMarket(): Promise<string> {
  const sessions = sessionsBetween(FIRST_DATE, LAST_DATE);
  const feeds = sessions.filter((date) => date >= "2014-01-08");
  const listed = sessions.filter((date) => date >= "2013-11-04");
  return temporaryFolder({
    "instruments.csv": lines(INSTRUMENTS),
    "bars/ACME.csv": bars(sessions, 1),
    "bars/LATE.csv": bars(listed, 2),
    "bars/FUND.csv": bars(sessions, 3),
    "bars/COIN-USD.csv": bars(days(), 4),
    "fundamentals/ACME.csv": fundamentals(),
    "mentions/ACME.jsonl": mentions(feeds),
    "prints/ACME.csv": prints(feeds),
    "offexchange/ACME.csv": shortVolumes(feeds),
  });
}

const lines = (all: readonly string[]) => `${all.join("\n")}\n`;

/** A pseudorandom number in [0, 1) that depends only on the seeds. */
function noise(...seeds: readonly number[]): number {
  const wave = Math.sin(seeds.reduce((sum, seed) => sum * 31.7 + seed * 12.9898, 1)) * 43_758.5453;
  return wave - Math.floor(wave);
}

function days(): readonly string[] {
  const first = Date.parse(FIRST_DATE);
  const count = (Date.parse(LAST_DATE) - first) / DAY_MS + 1;
  return Array.from({ length: count }, (_, day) =>
    new Date(first + day * DAY_MS).toISOString().slice(0, 10),
  );
}

function bars(dates: readonly string[], seed: number): string {
  let close = 50 * seed;
  const rows = dates.map((date, index) => {
    const open = close;
    close *= 1 + (noise(seed, index) - 0.48) * 0.04 + 0.01 * Math.sin(index / 20 + seed);
    const [high, low] = [Math.max(open, close) * 1.01, Math.min(open, close) * 0.99];
    const prices = [open, high, low, close].map((price) => price.toFixed(4));
    return `${date},${prices.join(",")},${1_000_000 + index * 100},0,1`;
  });
  return lines(["date,open,high,low,close,volume,dividend,split", ...rows]);
}

function fundamentals(): string {
  const quarters = ["2012-12-31", "2013-03-31", "2013-06-30", "2013-09-30", "2013-12-31"];
  const rows = quarters.flatMap((end, index) => {
    const filed = new Date(Date.parse(end) + 40 * DAY_MS).toISOString().slice(0, 10);
    return [
      `netIncome,${end},${filed},${1_000_000 + index * 50_000}`,
      `equity,${end},${filed},${30_000_000 + index * 1_000_000}`,
      `sharesOutstanding,${end},${filed},1000000`,
    ];
  });
  return lines(["metric,periodEnd,availableDate,value", ...rows]);
}

const TEXTS = ["$ACME strong rally, great results", "$ACME is falling, weak", "$ACME at noon"];

function mentions(dates: readonly string[]): string {
  const rows = dates.flatMap((date, day) =>
    ["09:30", "14:10", "19:45", "22:20"].map((time, index) =>
      JSON.stringify({
        id: `${date}-${index}`,
        at: `${date}T${time}:00Z`,
        text: `${TEXTS[Math.floor(noise(7, day, index) * TEXTS.length)]} ${"ab".repeat(index + 1)}`,
        author: `author${index}`,
        followers: 100 * index,
        symbols: ["ACME"],
      }),
    ),
  );
  return lines(rows);
}

function prints(dates: readonly string[]): string {
  const rows = dates.flatMap((date, day) =>
    ["15:00", "18:30"].map(
      (time, index) =>
        `${date}T${time}:00.000Z,${(50 + noise(9, day, index)).toFixed(2)},${12_000 + day},FINRA,,,${date}-${index}`,
    ),
  );
  return lines(["tradedAt,price,size,venue,conditions,flags,id", ...rows]);
}

function shortVolumes(dates: readonly string[]): string {
  const rows = dates.map((date, day) => `${date},${400_000 + day * 1_000},0,1000000`);
  return lines(["date,shortVolume,shortExemptVolume,totalVolume", ...rows]);
}
