import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import Papa from "papaparse";
import { describe, expect, it, onTestFinished } from "vitest";
import { downloadPanel } from "../../src/cli/panel-download.ts";
import { newToken } from "../support/agent.ts";
import { duckdb } from "../support/duckdb.ts";
import { listenLocally } from "../support/local-server.ts";
import { temporaryFolder } from "../support/process.ts";
import { runCommand } from "../support/run-command.ts";
import { smallMarket } from "../support/small-market.ts";
import { startTestService } from "../support/test-service.ts";

const market = await smallMarket();
const { base } = await startTestService({ MARKET: `files:${market}` });
const token = await newToken(base, { scope: "signals:read factor:read" });
const folder = temporaryFolder();

/** Runs `market-signal export`. @returns Its exit code and what it printed. */
async function exported(...args: readonly string[]) {
  const surroundings = { env: { TOKEN: token }, folder };
  const { code, out, err } = await runCommand(["export", ...args], surroundings);
  return { code, stdout: out, stderr: err };
}

const textOf = (name: string) => readFile(join(folder, name), "utf8");

type Row = Readonly<Record<string, string>>;

/** Returns the rows of a CSV file. */
const rowsIn = async (name: string) =>
  Papa.parse<Row>(await textOf(name), { header: true, skipEmptyLines: true }).data;

const withoutSteadiness = ({ steadiness: _, ...others }: Row) => others;

/** Number of rows of stocks whose steadiness the service still has: two stocks in 25 sessions. */
const KEPT_ROWS = 50;

/**
 * Starts a proxy of the service, which breaks off one of its answers.
 * @param broken Number of the request with that answer, from 1.
 */
async function breakingAt(broken: number): Promise<string> {
  let count = 0;
  const server = createServer(async ({ url = "", headers }, res) => {
    count += 1;
    const { authorization = "" } = headers;
    const response = await fetch(`${base}${url}`, { headers: { authorization } });
    const link = response.headers.get("link");
    if (link !== null) res.setHeader("link", link);
    res.setHeader("content-type", response.headers.get("content-type") ?? "");
    const body = await response.text();
    if (count !== broken) return void res.end(body);
    res.write(body.slice(0, body.length / 2), () => res.destroy());
  });
  const origin = await listenLocally(server);
  onTestFinished(() => void server.close());
  return origin;
}

describe("market-signal export", () => {
  it.each(["stock", "crypto"])(
    "writes the same rows of a %s, but for old steadiness, whether it reads a folder or a service",
    async (name) => {
      const options = ["--class", name, "--from", "2013-01-02", "--to", "2014-03-28"];
      const remote = ["--url", base, "--token", "env:TOKEN"];
      const results = [
        await exported("folder.csv", "--market", market, ...options),
        await exported("folder.parquet", "--market", market, ...options),
        await exported("service.csv", ...remote, ...options),
        await exported("service.parquet", ...remote, ...options),
      ];
      expect(results.map(({ code, stderr }) => [code, stderr])).toEqual(Array(4).fill([0, ""]));
      const [served, whole] = [await rowsIn("service.csv"), await rowsIn("folder.csv")];
      expect(served.map(withoutSteadiness)).toEqual(whole.map(withoutSteadiness));
      // A service keeps the steadiness of the newest sessions; the two stocks trade in all of them.
      const newest = served.slice(name === "stock" ? -KEPT_ROWS : 0);
      expect(whole.slice(-newest.length)).toEqual(newest);
      expect(
        newest.some(({ steadiness }) => steadiness === ""),
        name,
      ).toBe(name !== "stock");
      const hash = async (file: string) => {
        const path = join(folder, file);
        const [row] = await duckdb(
          `SELECT count(*)::INTEGER AS rows, sum(hash(panel)::HUGEINT)::VARCHAR AS hash FROM '${path}' panel`,
        );
        return row;
      };
      const files = ["folder.csv", "folder.parquet", "service.csv", "service.parquet"];
      const [csv, parquet, servedCsv, servedParquet] = await Promise.all(files.map(hash));
      expect(csv?.rows).toBe(whole.length);
      expect([parquet, servedParquet]).toEqual([csv, servedCsv]);
    },
  );

  it("resumes after an interruption, and writes each row once", async () => {
    const proxy = await breakingAt(3);
    const query = "assetClass=crypto&from=2013-01-01&limit=100";
    const wanted = {
      url: new URL(`/api/export?${query}`, proxy),
      token,
      file: join(folder, "pages.csv"),
      onBytes: () => {},
      onPage: () => {},
    };
    await expect(downloadPanel(wanted)).rejects.toThrow("run the command again");
    const before = (await textOf("pages.csv")).split("\r\n").length - 2;
    expect(before).toBe(200);
    const other = { ...wanted, url: new URL("/api/export?assetClass=etf", proxy) };
    await expect(downloadPanel(other)).rejects.toThrow("is of another export");
    expect(await downloadPanel(wanted)).toBe(455);
    const whole = await fetch(`${base}/api/export?${query.replace("limit=100", "limit=50000")}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(await textOf("pages.csv")).toBe(await whole.text());
  });

  it("names a missing option, and the missing token when the service rejects the request", async () => {
    const neither = await exported("a.csv");
    expect([neither.code, neither.stderr]).toEqual([
      2,
      expect.stringContaining("--market or --url"),
    ]);
    const refused = await exported("a.csv", "--url", base);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining("give one with --token"),
    ]);
  });
});

const hasPandas = spawnSync("python3", ["-c", "import pandas, pyarrow"]).status === 0;
if (!hasPandas) {
  process.stderr.write(
    "\nSKIPPED: the lines of pandas: there is no python3 with pandas, pyarrow\n\n",
  );
}

describe("docs/tables.md", () => {
  it("contains DuckDB commands that can read an export", async () => {
    expect((await exported("panel.parquet", "--market", market)).code).toBe(0);
    const text = await readFile(new URL("../../docs/tables.md", import.meta.url), "utf8");
    const [, lines = ""] = /```sql\n([\s\S]+?)```/.exec(text) ?? [];
    const statements = lines.trim().split("\n");
    expect(statements).toHaveLength(3);
    const rows = await duckdb(`SET file_search_path = '${folder}'`, ...statements);
    expect(rows.map(({ year }) => Number(year))).toEqual([2012, 2013, 2014]);
  });

  it("reads a split and a dividend as no loss", async () => {
    const split = await smallMarket();
    const path = join(split, "bars/ACME.csv");
    const [header = "", ...bars] = (await readFile(path, "utf8")).trim().split("\n");
    const divided = bars.map((line) => {
      const [date = "", ...cells] = line.split(",");
      if (date < "2013-06-10") return line;
      const prices = cells.slice(0, 4).map((price) => (Number(price) / 7).toFixed(4));
      const [dividend, ratio] = date === "2013-06-10" ? ["0.02", "7"] : ["0", "1"];
      return [date, ...prices, cells[4], dividend, ratio].join(",");
    });
    await writeFile(path, `${[header, ...divided].join("\n")}\n`);
    expect((await exported("panel.parquet", "--market", split)).code).toBe(0);
    const text = await readFile(new URL("../../docs/tables.md", import.meta.url), "utf8");
    const [table = "", view = ""] = (/```sql\n([\s\S]+?)```/.exec(text)?.[1] ?? "").split("\n");
    const rows = await duckdb(
      `SET file_search_path = '${folder}'`,
      table,
      view,
      `SELECT min(later) AS worst, max(later) AS best, count(later)::INTEGER AS rows,
         max(abs(adjustedClose / before / (1 + totalReturn) - 1)) AS error,
         min(price / priceBefore - 1) AS asTraded
       FROM (SELECT *, lag(adjustedClose) OVER v AS before, lag(price) OVER v AS priceBefore
         FROM ahead WINDOW v AS (PARTITION BY symbol ORDER BY date)) WHERE symbol = 'ACME'`,
    );
    const { worst, best, error, asTraded, rows: count } = rows[0] as Record<string, number>;
    expect(asTraded).toBeLessThan(-0.8);
    expect(worst).toBeGreaterThan(-0.5);
    expect(best).toBeLessThan(1);
    expect(count).toBeGreaterThan(200);
    expect(error).toBeLessThan(1e-12);
  });

  it.skipIf(!hasPandas)("contains pandas commands that can read an export", async () => {
    expect((await exported("panel.parquet", "--market", market)).code).toBe(0);
    const text = await readFile(new URL("../../docs/tables.md", import.meta.url), "utf8");
    const [, lines = ""] = /```python\n([\s\S]+?)```/.exec(text) ?? [];
    const [imports, reads, ranks, ...more] = lines.trim().split("\n");
    expect(more).toEqual([]);
    const code = [imports, reads, `ranks = ${ranks}`, "print(sorted(ranks.columns))"].join("\n");
    const { stdout, stderr } = spawnSync("python3", ["-c", code], { cwd: folder });
    expect([String(stderr), String(stdout)]).toEqual(["", "['ACME', 'LATE']\n"]);
  });

  it("describes every column of the panel", async () => {
    const text = await readFile(new URL("../../docs/tables.md", import.meta.url), "utf8");
    const [header = ""] = (await textOf("folder.csv")).split("\r\n");
    const plain = header.split(",").filter((name) => !/(Z|Confidence)$/.test(name));
    for (const name of plain) expect(text).toContain(`\`${name}\``);
  });
});
