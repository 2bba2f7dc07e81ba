import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import Papa from "papaparse";
import { describe, expect, it } from "vitest";
import { FACTORS } from "../../src/factors/reading.ts";
import { sessionsBetween } from "../../src/market/calendar.ts";
import { BASE_FACTOR_WEIGHTS } from "../../src/score/composite.ts";
import { normalCdf } from "../../src/statistics/normal.ts";
import { newToken } from "../support/agent.ts";
import { duckdb } from "../support/duckdb.ts";
import { temporaryFolder } from "../support/process.ts";
import { smallMarket } from "../support/small-market.ts";
import { startTestService } from "../support/test-service.ts";

const { base } = await startTestService({ MARKET: `files:${await smallMarket()}` });
const token = await newToken(base, { scope: "signals:read factor:read" });
const narrow = await newToken(base, { scope: "signals:read" });

type Row = Readonly<Record<string, string>>;

const get = (query: string, as = token, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${base}/api/export?${query}`, { headers: { authorization: `Bearer ${as}`, ...headers } });

const nextOf = ({ headers }: Response) =>
  /^<\/api\/export\?(.+)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1];

/** Fetches the page of a query and all pages that follow it. */
async function pagesOf(query: string): Promise<Response[]> {
  const pages: Response[] = [];
  for (let next: string | undefined = query; next !== undefined; ) {
    const page = await get(next);
    expect(page.status).toBe(200);
    pages.push(page);
    next = nextOf(page);
  }
  return pages;
}

const parse = (text: string) =>
  Papa.parse<Row>(text, { header: true, newline: "\r\n", skipEmptyLines: true }).data;

async function rowsOf(query: string): Promise<Row[]> {
  const texts = await Promise.all((await pagesOf(query)).map((page) => page.text()));
  return texts.flatMap(parse);
}

describe("GET /api/export", () => {
  it("returns every session of an asset class, ordered by date and symbol", async () => {
    const rows = await rowsOf("assetClass=stock");
    const wanted = sessionsBetween("2013-01-01", "2014-03-31").flatMap((date) =>
      (date < "2013-11-04" ? ["ACME"] : ["ACME", "LATE"]).map((symbol) => `${date} ${symbol}`),
    );
    expect(rows.map(({ date, symbol }) => `${date} ${symbol}`)).toEqual(wanted);
    const coins = await rowsOf("assetClass=crypto");
    expect([coins.at(0)?.date, coins.at(-1)?.date, coins.length]).toEqual([
      ...["2013-01-01", "2014-03-31", 455],
    ]);
  });

  it("links to every page, which has at most as many rows as its limit, and whole sessions", async () => {
    const all = await rowsOf("assetClass=stock&from=2013-10-01");
    const pages = await pagesOf("assetClass=stock&from=2013-10-01&limit=101");
    const rows = (await Promise.all(pages.map((page) => page.text()))).map(parse);
    expect(rows.flat()).toEqual(all);
    expect(rows.length).toBeGreaterThan(3);
    for (const [index, page] of rows.entries()) {
      expect(page.length).toBeLessThanOrEqual(101);
      expect(page[0]?.date).not.toBe(rows[index - 1]?.at(-1)?.date);
    }
  });

  it("accepts dates and instants, and includes both ends of the range", async () => {
    const datesOf = async (query: string) => (await rowsOf(query)).map(({ date }) => date);
    for (const assetClass of ["stock", "crypto"]) {
      expect(await datesOf(`assetClass=${assetClass}&from=2013-06-03&to=2013-06-04`)).toEqual([
        "2013-06-03",
        "2013-06-04",
      ]);
    }
    const close = "2013-06-04T20:15:00Z";
    expect(await datesOf(`assetClass=stock&from=${close}&to=${close}`)).toEqual(["2013-06-04"]);
  });

  it.each(["etf", "crypto"] as const)(
    "contains factors for callers with factor:read, from which the score of a %s can be recomputed",
    async (assetClass) => {
      const query = `assetClass=${assetClass}&from=2014-01-02`;
      const [own] = await rowsOf(query);
      const withoutFactors = parse(await (await get(query, narrow)).text())[0] as Row;
      const names = FACTORS.flatMap((factor) => [`${factor}Z`, `${factor}Confidence`]);
      const others = Object.keys(withoutFactors);
      const place = others.indexOf("adjustedClose");
      expect(Object.keys(own as Row)).toEqual(others.toSpliced(place, 0, ...names));
      const rows = await rowsOf(query);
      expect(rows.some(({ momentumZ }) => Number(momentumZ) !== 0)).toBe(true);
      for (const row of rows) {
        const weights = BASE_FACTOR_WEIGHTS[assetClass];
        const sum = FACTORS.reduce((total, factor) => {
          const [z, confidence] = [row[`${factor}Z`], row[`${factor}Confidence`]];
          return total + weights[factor] * Number(confidence) * Number(z);
        }, 0);
        const scale = Math.hypot(...FACTORS.map((factor) => weights[factor]));
        expect(Number(row.score)).toBeCloseTo(100 * normalCdf(sum / scale), 9);
      }
    },
  );

  it("returns the same rows as Parquet, which DuckDB can read", async () => {
    const query = "assetClass=stock&from=2013-10-01";
    const folder = temporaryFolder();
    const save = async (format: "csv" | "parquet") => {
      const response = await get(`${query}&format=${format}`);
      const file = join(folder, `panel.${format}`);
      await writeFile(file, Buffer.from(await response.arrayBuffer()));
      return [response.headers.get("content-type"), file];
    };
    const [csvType, csv] = await save("csv");
    const [parquetType, parquet] = await save("parquet");
    expect([csvType, parquetType]).toEqual([
      "text/csv; charset=utf-8; header=present",
      "application/vnd.apache.parquet",
    ]);
    const [read] = await duckdb(
      `CREATE TABLE a AS SELECT * FROM '${csv}'`,
      `CREATE TABLE b AS SELECT * FROM '${parquet}'`,
      `SELECT (SELECT count(*)::INTEGER FROM a) AS rows,
       (SELECT count(*)::INTEGER FROM (SELECT * FROM a INTERSECT SELECT * FROM b)) AS same,
       (SELECT count(*)::INTEGER FROM b) AS others`,
    );
    const { length } = await rowsOf(query);
    expect(read).toEqual({ rows: length, same: length, others: length });
  });

  it("has an ETag that differs by query, format and scope", async () => {
    const query = "assetClass=etf";
    const etagOf = async (...asked: Parameters<typeof get>) => {
      const { headers } = await get(...asked);
      expect(headers.get("vary")).toBe("Accept, Authorization, X-Api-Key, Accept-Encoding");
      return headers.get("etag") ?? "";
    };
    const etag = await etagOf(query);
    const others = [
      await etagOf(query, narrow),
      await etagOf(`${query}&format=parquet`),
      await etagOf(`${query}&to=2014-01-31`),
    ];
    expect(new Set([etag, ...others]).size).toBe(4);
    expect((await get(query, token, { "if-none-match": etag })).status).toBe(304);
    expect((await get(query, narrow, { "if-none-match": etag })).status).toBe(200);
  });

  it("rejects invalid queries with a hint on how to correct them", async () => {
    const statusOf = async (query: string) => {
      const response = await get(query);
      const { detail, next } = (await response.json()) as Row;
      expect(next).not.toBe("");
      return `${response.status} ${detail}`;
    };
    expect(await statusOf("")).toContain("400 assetClass");
    expect(await statusOf("assetClass=stock&limit=50001")).toContain("400 limit");
    expect(await statusOf("assetClass=stock&format=xml")).toContain("400 format");
    expect(await statusOf("assetClass=stock&from=2014-01-02&to=2014-01-01")).toContain("400 from");
    expect(await statusOf("assetClass=stock&from=yesterday")).toContain("400 from");
  });
});
