import Papa from "papaparse";
import { describe, expect, it } from "vitest";
import { newToken } from "../support/agent.ts";
import { connectMcp, textOf } from "../support/mcp.ts";
import { startTestService } from "../support/test-service.ts";

const testService = await startTestService();
const { base } = testService;
const token = await newToken(base);

type Row = Readonly<Record<string, string>>;

const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${base}${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } });

async function rowsOf(response: Response): Promise<Row[]> {
  expect([response.status, response.headers.get("content-type")]).toEqual([
    200,
    "text/csv; charset=utf-8; header=present",
  ]);
  const { data, errors } = Papa.parse<Row>(await response.text(), {
    header: true,
    delimiter: ",",
    newline: "\r\n",
    skipEmptyLines: true,
  });
  expect(errors).toEqual([]);
  return data;
}

const rowsAt = async (path: string) => rowsOf(await get(path));

type Item = Readonly<Record<string, unknown>>;

/** All items of a list, from all its pages. */
async function itemsAt(path: string, member: string): Promise<Item[]> {
  const items: Item[] = [];
  let cursor = "";
  do {
    const body = (await (await get(`${path}&detail=full${cursor}`)).json()) as Item;
    const found = body[member] as Item[] | Readonly<Record<string, readonly unknown[]>>;
    items.push(...(Array.isArray(found) ? found : rowsOfColumns(found)));
    cursor = body.nextCursor === null ? "" : `&cursor=${body.nextCursor}`;
  } while (cursor !== "");
  return items;
}

/** Converts columns of equal length to rows. */
function rowsOfColumns(columns: Readonly<Record<string, readonly unknown[]>>): readonly Item[] {
  const length = Object.values(columns)[0]?.length ?? 0;
  return Array.from({ length }, (_, index) =>
    Object.fromEntries(Object.entries(columns).map(([name, cells]) => [name, cells[index]])),
  );
}

/** The given columns of JSON rows, formatted as CSV cells. */
const asText = (items: readonly Item[], columns: readonly string[]) =>
  items.map((item) => columns.map((name) => (item[name] === null ? "" : String(item[name]))));

const cellsOf = (rows: readonly Row[], columns: readonly string[]) =>
  rows.map((row) => columns.map((name) => row[name]));

interface Described {
  readonly paths: Record<
    string,
    {
      readonly get?: {
        readonly responses: Record<
          string,
          {
            readonly content?: Record<
              string,
              { readonly schema: { readonly description?: string } }
            >;
          }
        >;
      };
    }
  >;
}

describe("CSV over REST", () => {
  it.each([
    ["signals", "/api/signals?limit=500", "items", ["symbol", "asOf", "status", "signal", "score"]],
    [
      "the history of an instrument",
      "/api/signals?symbol=ALDER.SIM&from=2026-11-21T01:00:00Z&limit=500",
      "history",
      ["asOf", "status", "signal", "score"],
    ],
    [
      "instruments",
      "/api/instruments?limit=500",
      "items",
      ["symbol", "name", "assetClass", "status", "firstDataAt", "lastDataAt"],
    ],
    [
      "days of off-exchange trading",
      "/api/darkpool?symbol=ALDER.SIM&view=days&limit=500",
      "days",
      ["session", "prints", "shares", "vwap", "shareOfVolume", "shortVolumeRatio"],
    ],
    [
      "blocks",
      "/api/darkpool?symbol=ALDER.SIM&view=blocks&limit=500",
      "prints",
      ["id", "tradedAt", "price", "sizeShares", "block", "canceled", "side"],
    ],
  ])("contains all rows of %s, with the same cells as JSON", async (_, path, member, columns) => {
    const items = await itemsAt(path, member);
    const rows = await rowsAt(path.replace("limit=500", "format=csv"));
    expect(rows.length).toBeGreaterThan(10);
    expect(cellsOf(rows, columns)).toEqual(asText(items, columns));
  });

  it("can be selected with Accept, while JSON stays the default", async () => {
    const path = "/api/signals?symbol=ALDER.SIM";
    const [row, ...more] = await rowsOf(await get(path, { accept: "text/csv" }));
    expect([row?.symbol, row?.market, more]).toEqual(["ALDER.SIM", "sandbox", []]);
    for (const json of [
      await get(path, { accept: "*/*" }),
      await get(`${path}&format=json`, { accept: "text/csv" }),
    ]) {
      expect(json.headers.get("content-type")).toBe("application/json; charset=utf-8");
    }
  });

  it("is paginated by limit, and the Link header leads through all pages", async () => {
    const all = await rowsAt("/api/instruments?format=csv");
    const paged: Row[] = [];
    let path: string | undefined = "/api/instruments?format=csv&limit=20";
    while (path !== undefined) {
      const response = await get(path);
      paged.push(...(await rowsOf(response)));
      path = /^<(.+)>; rel="next"$/.exec(response.headers.get("link") ?? "")?.[1];
    }
    expect(paged).toEqual(all);
  });

  it("has a separate ETag for every query and format", async () => {
    const etagOf = async (path: string, accept = "*/*") => {
      const { headers } = await get(path, { accept });
      expect(headers.get("vary")).toBe("Accept, Authorization, X-Api-Key, Accept-Encoding");
      return headers.get("etag");
    };
    const path = "/api/signals?symbol=ALDER.SIM";
    const csv = await etagOf(path, "text/csv");
    expect(csv).toMatch(/^".+"$/);
    expect(await etagOf(`${path}&format=csv`)).toBe(csv);
    const others = [
      await etagOf(path),
      await etagOf("/api/signals?format=csv"),
      await etagOf("/api/signals?format=csv&limit=50"),
      await etagOf("/api/signals?symbol=BYTEN.SIM&format=csv"),
    ];
    expect(new Set([csv, ...others]).size).toBe(5);
    const again = await get(path, { accept: "text/csv", "if-none-match": csv ?? "" });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    expect((await get(path, { "if-none-match": csv ?? "" })).status).toBe(200);
  });

  it("contains only the columns that the fields parameter lists, in that order", async () => {
    const text = await (await get("/api/signals?format=csv&fields=score,symbol&limit=1")).text();
    expect(text).toMatch(/^score,symbol\r\n\d+,\w+\.SIM\r\n$/);
    for (const path of ["/api/instruments?", "/api/darkpool?symbol=ALDER.SIM&view=days&"]) {
      const [row] = await rowsAt(`${path}format=csv&limit=1&fields=symbol`);
      expect(Object.keys(row ?? {})).toEqual(["symbol"]);
    }
  });

  it("is rejected for an answer that is not a list of rows, or when an instrument is unknown", async () => {
    const detailOf = async (path: string) => {
      const response = await get(path);
      const { detail, next } = (await response.json()) as Record<string, string>;
      expect([response.status >= 400, next]).toEqual([true, expect.any(String)]);
      return detail;
    };
    expect(await detailOf("/api/darkpool?symbol=ALDER.SIM&format=csv")).toContain("summary");
    expect(await detailOf("/api/signals?symbols=ALDER.SIM,NOBODY&format=csv")).toContain("NOBODY");
    expect(await detailOf("/api/signals?format=xml")).toContain("must be one of json, csv");
    expect(await detailOf("/api/factors?symbol=ALDER.SIM&format=csv")).toContain(
      "format is unknown",
    );
  });

  it("has the columns that the API description lists", async () => {
    const document = (await (await get("/docs/api/openapi.json")).json()) as Described;
    const described = (path: string) =>
      document.paths[path]?.get?.responses["200"]?.content?.["text/csv"]?.schema.description ?? "";
    for (const [path, query, table] of [
      ["/api/signals", "", "signals"],
      ["/api/instruments", "", "instruments"],
      ["/api/darkpool", "&symbol=ALDER.SIM&view=days", "days"],
      ["/api/darkpool", "&symbol=ALDER.SIM&view=prints", "prints"],
    ] as const) {
      const text = await (await get(`${path}?format=csv&limit=1${query}`)).text();
      const [header = ""] = text.split("\r\n");
      const list = new RegExp(`^Columns of ${table}: (.+)$`, "m").exec(described(path))?.[1] ?? "";
      expect(Array.from(list.matchAll(/`(\w+)`/g), ([, name]) => name)).toEqual(header.split(","));
    }
  });
});

describe("the fields parameter", () => {
  const queryOf = (given: object) =>
    Object.entries(given)
      .map(([name, value]) => `${name}=${value}`)
      .join("&");

  /** Calls a tool over MCP, and expects the same answer over REST. */
  async function bothAnswer(name: string, path: string, given: object): Promise<Item> {
    const client = await connectMcp(base, token);
    const { structuredContent } = await client.callTool({ name, arguments: { ...given } });
    expect(await (await get(`${path}?${queryOf(given)}`)).json()).toEqual(structuredContent);
    return structuredContent as Item;
  }

  it.each([
    ["get_signal", "/api/signals", {}, ["symbol", "price", "scoreChange", "sector"]],
    ["find_instruments", "/api/instruments", {}, ["symbol", "momentumStatus", "nextReport"]],
    ["get_darkpool", "/api/darkpool", { view: "days" }, ["session", "vwap", "shortVolumeRatio"]],
    ["get_darkpool", "/api/darkpool", { view: "blocks" }, ["tradedAt", "notionalUsd", "side"]],
  ])("of %s selects the columns of rows, in CSV as well", async (name, path, view, fields) => {
    const given = { ...view, ...("view" in view && { symbol: "ALDER.SIM" }), limit: 3, fields };
    const answer = await bothAnswer(name, path, { ...given, detail: "full" });
    expect([answer.fields, answer.items, answer.days, answer.prints]).toEqual([
      fields,
      ...Array(3).fill(undefined),
    ]);
    const lines = await rowsAt(`${path}?${queryOf(given)}&format=csv`);
    const rows = answer.rows as readonly (readonly unknown[])[];
    expect(rows.map((row) => row.map((cell) => String(cell ?? "")))).toEqual(
      cellsOf(lines, fields),
    );
    expect(rows).toHaveLength(3);
  });

  it("of a list that begins with the newest signals shows what changed last, and from what", async () => {
    const fields = ["symbol", "previousSignal", "signal", "since"];
    const given = { sort: "newest_signal", limit: 10, fields };
    const { rows } = await bothAnswer("get_signal", "/api/signals", given);
    const shown = rows as readonly (readonly (string | null)[])[];
    const since = shown.map((row) => row[3] ?? "");
    expect(since).toEqual(since.toSorted().reverse());
    expect(shown.every(([, before, signal]) => before !== signal)).toBe(true);
    const { rows: all } = await bothAnswer("get_signal", "/api/signals", { limit: 500, fields });
    const newest = (all as typeof shown)
      .map((row) => row[3] ?? "")
      .toSorted()
      .at(-1);
    expect(since[0]).toBe(newest);
  });

  it("selects the columns of a history, and a brief answer rounds their values", async () => {
    const fields = ["session", "scoreRaw", "confidence"];
    const given = { symbol: "ALDER.SIM", last: 3, fields };
    const brief = (await bothAnswer("get_signal", "/api/signals", given)).history as Item;
    const asked = { ...given, detail: "full" };
    const full = (await bothAnswer("get_signal", "/api/signals", asked)).history as Item;
    expect([Object.keys(brief), Object.keys(full)]).toEqual([fields, fields]);
    for (const [name, decimals] of [
      ["scoreRaw", 2],
      ["confidence", 4],
    ] as const) {
      const [short, whole] = [brief[name], full[name]] as [number[], number[]];
      expect(short).toEqual(whole.map((value) => Number(value.toFixed(decimals))));
    }
  });

  it.each([
    ["get_signal", { fields: ["symbol", "scor"] }, 'no column "scor"', "symbol, name, assetClass"],
    ["find_instruments", { fields: ["__proto__"] }, "no column", "symbol, name, assetClass"],
    ["get_darkpool", { symbol: "ALDER.SIM", view: "days", fields: ["id"] }, "no column", "vwap"],
    ["get_darkpool", { symbol: "ALDER.SIM", fields: ["vwap"] }, "no rows", "days"],
    ["get_signal", { symbol: "ALDER.SIM", fields: ["score"] }, "no rows", "history"],
    ["get_signal", { fields: [] }, "at least 1", "Correct"],
    ["get_signal", { fields: Array(31).fill("score") }, "at most 30", "Correct"],
  ])("of %s is rejected with the valid names: %j", async (name, given, detail, next) => {
    const client = await connectMcp(base, token);
    const answer = await client.callTool({ name, arguments: given });
    expect(answer.isError).toBe(true);
    expect(textOf(answer)).toContain(detail);
    expect(textOf(answer)).toContain(next);
  });
});
