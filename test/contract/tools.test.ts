import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { scopeDescriptions } from "../../src/access/scopes.ts";
import { isAboutAlerts } from "../../src/tool/tool.ts";
import { tools } from "../../tools/index.ts";
import { getWith, newToken } from "../support/agent.ts";
import { connectMcp, textOf } from "../support/mcp.ts";
import { sharedTestService } from "../support/test-service.ts";
import { verifies } from "../support/verifies.ts";

/** Root hash of an empty Merkle tree: SHA-256 of the empty string (RFC 6962 section 2.1). */
const EMPTY_ROOT = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";

/** Several calls of each tool; a tool without any call fails the test below. */
const questions: Readonly<Record<string, readonly Record<string, unknown>[]>> = {
  get_signal: [
    { symbol: "ALDER.SIM" },
    { symbol: "alder-sim" },
    { symbol: "ALDER.SIM", detail: "full" },
    { symbols: ["ALDER.SIM", "BYTEN.SIM"] },
    { symbols: ["ALDER.SIM", "AAPL", "BYTEN.SIM", "ALDE.SIM"] },
    { symbols: ["AAPL"] },
    { symbols: ["ALDER.SIM"], asOf: "2000-01-01T00:00:00Z" },
    { symbols: ["ALDER.SIM"], asOf: "2036-01-01T00:00:00Z" },
    {},
    { signal: "LONG", limit: 3 },
    { sort: "rise", limit: 3, detail: "full" },
    { sector: "no such sector" },
    { limit: 0 },
    { asOf: "2026-11-21T04:00:00Z", minConfidence: 0.5, maxScore: 60 },
    { symbol: "ALDER.SIM", last: 3, detail: "full" },
    { symbol: "ALDER.SIM", since: "2026-11-21T04:40:00Z" },
    { symbol: "ALDER.SIM", since: "2026-11-21T04:40:00Z", last: 3 },
    { assetClass: "crypto", minScore: 50 },
    { symbol: "ALDER.SIM", from: "2026-11-21T04:30:00Z", limit: 10 },
    { symbol: "ALDER.SIM", asOf: "2026-11-21T04:00:00Z" },
    { symbol: "NOSUCH" },
    { symbol: "ALDER.SIM", minScore: 3 },
    { limit: 501 },
    { symbol: "ALDER.SIM", asOf: "2000-01-01T00:00:00Z" },
    { cursor: "bm9uZQ" },
  ],
  get_factors: [
    { symbol: "ALDER.SIM" },
    { symbol: "ALDER.SIM", asOf: "2026-11-21T04:58:30Z" },
    { symbol: "ALDER.SIM", asOf: "2026-11-21T01:00:00Z" },
    {},
    { symbol: "ALDER" },
  ],
  get_darkpool: [
    { symbol: "ALDER.SIM" },
    { symbol: "ALDER.SIM", view: "days", limit: 5 },
    { symbol: "ALDER.SIM", view: "prints", minShares: 500 },
    { symbol: "ALDER.SIM", view: "blocks", minNotionalUsd: 250_000, limit: 3 },
    { symbol: "ALDER.SIM", view: "days", minShares: 1 },
    { symbol: "ALDER.SIM", from: "2026-11-21T04:40:00Z", to: "2026-11-21T04:50:00Z" },
  ],
  get_track_record: [{}, { assetClass: "stock" }, { assetClass: "none" }],
  verify_signal: [
    { symbol: "ALDER.SIM" },
    { index: 3 },
    { index: 1, knownCheckpoint: `0:${EMPTY_ROOT}` },
    { index: 1, knownCheckpoint: `1:${EMPTY_ROOT}` },
    { index: 1, knownCheckpoint: `1000000:${EMPTY_ROOT}` },
    { index: 1, knownCheckpoint: "1:no root" },
    { index: 1_000_000 },
    { symbol: "ALDER.SIM", index: 1 },
    { symbol: "ALDER.SIM", asOf: "2000-01-01T00:00:00Z" },
    { symbol: "ALDE" },
    {},
  ],
  find_instruments: [
    {},
    { query: "ald" },
    { query: "lder" },
    { assetClass: "crypto", limit: 2 },
    { query: "%" },
  ],
};

const { base } = await sharedTestService();
const token = await newToken(base);
const client = await connectMcp(base, token);

/** Published output schemas, by tool. */
const listed = new Map(
  (await client.listTools()).tools.map(({ name, outputSchema }) => [name, outputSchema]),
);

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);

/** Tools that only read the market; tools with effects or private data have their own tests. */
const shared = tools.filter((tool) => !isAboutAlerts(tool));

describe.each(shared)("the tool $name", ({ name, routes, output }) => {
  const [route] = routes;
  const asked = questions[name] ?? [];

  it("has a valid and an invalid call in these tests", () => {
    expect(asked.length).toBeGreaterThan(1);
  });

  it.each(asked)("gives the same answer over REST and MCP: %o", async (question) => {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(question)) query.set(key, String(value));
    const rest = await getWith(token, `${base}${route?.path}?${query}`);
    const body = await rest.json();
    const mcp = await client.callTool({ name, arguments: question });

    if (rest.status !== 200) {
      expect(mcp.isError).toBe(true);
      const { code, detail, next } = body as { code: string; detail: string; next: string };
      expect(textOf(mcp)).toBe(`${code}: ${detail} ${next}`);
      return;
    }
    expect(mcp.structuredContent).toEqual(body);
    expect(JSON.parse(textOf(mcp))).toEqual(body);
    expect(output.parse(body)).toEqual(body);
    const validate = ajv.compile(z.toJSONSchema(output));
    expect(validate(body), JSON.stringify(validate.errors)).toBe(true);
    const published = ajv.compile(listed.get(name) as object);
    expect(published(body), JSON.stringify(published.errors)).toBe(true);
  });
});

describe.each(tools)("the tool $name", ({ name, input, scopes: needed }) => {
  it("describes its name, its title, its scope, every input and its answer", () => {
    expect(name).toMatch(/^[a-z][a-z0-9_]{0,63}$/);
    expect(needed.length).toBeGreaterThan(0);
    expect(Object.keys(scopeDescriptions)).toEqual(expect.arrayContaining([...needed]));
    const schema = z.toJSONSchema(input, { io: "input" });
    expect(schema.additionalProperties).toBe(false);
    for (const [member, property] of Object.entries(schema.properties ?? {})) {
      expect(property, member).toHaveProperty("description");
    }
  });
});

/** Tools whose answers contain nothing of the market. */
const WITHOUT_MARKET = ["manage_watchlist"];

it.each(tools.filter(({ name }) => !WITHOUT_MARKET.includes(name)))(
  "every answer of $name says of which market it is, so also that it is simulated",
  ({ output }) => {
    const schema = z.toJSONSchema(output, { io: "output" });
    const answers = schema.anyOf ?? schema.oneOf ?? [schema];
    for (const answer of answers) expect(answer).toMatchObject({ properties: { market: {} } });
  },
);

interface Shown {
  readonly name: string;
  readonly value: number | null;
  readonly unit: string;
  readonly weight: number;
}

interface Day {
  readonly shareOfVolume: number;
  readonly vwap: number;
  readonly blockShares: number;
  readonly blockNotionalUsd: number;
}

describe("the table of tools in README.md", () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

  it.each(tools)("lists the scopes of $name", ({ name, scopes: needed }) => {
    const row = readme.split("\n").find((line) => line.startsWith(`| \`${name}\` |`)) ?? "";
    const named = [...(row.split(" | ")[2] ?? "").matchAll(/`([^`]+)`/g)].map(([, scope]) => scope);
    expect(named.sort()).toEqual([...needed].sort());
  });
});

describe("the context that get_factors shows in addition to its evidence", () => {
  const ask = async <T>(path: string) => (await (await getWith(token, base + path)).json()) as T;
  const inputsOf = async (symbol: string) => {
    const { factors } = await ask<{
      factors: Record<string, { status: string; inputs: readonly Shown[] }>;
    }>(`/api/factors?detail=full&symbol=${symbol}`);
    return (factor: string, name: string) =>
      factors[factor]?.inputs.find((input) => input.name === name);
  };

  it("has indicators, attention and the last session's prints, all with a weight of 0", async () => {
    const input = await inputsOf("ALDER.SIM");
    const names = ["rsi14", "macdOverAtr", "sma50OverSma200", "return1m", "return12m1"];
    for (const name of names) {
      const found = { value: expect.any(Number), unit: expect.any(String), weight: 0 };
      expect(input("momentum", name), name).toMatchObject(found);
    }
    expect(input("social", "attention")).toMatchObject({ unit: "log ratio" });
    expect(input("darkpool", "offExchangeShare")).toMatchObject({ unit: "fraction", weight: 0 });
    expect(input("darkpool", "blockVwapOverVwap")).toMatchObject({ unit: "ratio", weight: 0 });
  });

  it("matches the figures of get_darkpool for the same session", async () => {
    const { items } = await ask<{ items: { symbol: string }[] }>(
      "/api/instruments?assetClass=stock&limit=10",
    );
    const compared = { shares: 0, blocks: 0 };
    for (const { symbol } of items) {
      const input = await inputsOf(symbol);
      const { days } = await ask<{ days: readonly Day[] }>(
        `/api/darkpool?detail=full&symbol=${symbol}&view=days&limit=2`,
      );
      const [day] = days.filter(({ shareOfVolume }) => shareOfVolume !== null);
      const share = input("darkpool", "offExchangeShare");
      if (share === undefined || day === undefined) continue;
      compared.shares++;
      expect(share.value, symbol).toBe(day.shareOfVolume);
      const ratio = input("darkpool", "blockVwapOverVwap")?.value;
      if (ratio === undefined || ratio === null) continue;
      compared.blocks++;
      expect(ratio, symbol).toBeCloseTo(day.blockNotionalUsd / day.blockShares / day.vwap, 12);
    }
    expect(compared.shares).toBeGreaterThan(5);
    expect(compared.blocks).toBeGreaterThan(2);
  });

  it("has no off-exchange figures where no prints are available", async () => {
    const { items } = await ask<{ items: { symbol: string }[] }>(
      "/api/instruments?assetClass=crypto",
    );
    const input = await inputsOf(items[0]?.symbol ?? "");
    expect(input("momentum", "rsi14")?.weight).toBe(0);
    expect(input("darkpool", "offExchangeShare")).toBeUndefined();
  });
});

describe("find_instruments", () => {
  const find = async (query: string) =>
    (await getWith(token, `${base}/api/instruments?${query}`)).json();

  it("says how each instrument matches the query, and that a part of a word is hardly meant", async () => {
    const found = await find("query=circuits");
    expect(found).toMatchObject({ items: [{ symbol: "ALDER.SIM", match: "word" }] });
    expect(found).not.toHaveProperty("note");
    expect(await find("query=lder&fields=symbol,match")).toMatchObject({
      rows: [["ALDER.SIM", "substring"]],
      note: 'No name has the word "lder"; these only contain it inside a word.',
    });
    expect(await find("query=circuits%20computer&fields=symbol,match")).toMatchObject({
      rows: [["ALDER.SIM", "some"]],
      note: expect.stringMatching(
        /^No name has all words of "circuits computer"; these have some\./,
      ),
    });
    expect(await find("query=nothing&assetClass=etf")).toMatchObject({
      total: 0,
      note: expect.stringMatching(
        /^No ticker or name of class etf contains "nothing": .+ one word\.$/,
      ),
    });
    expect(await find("query=a")).toMatchObject({ note: "No ticker is a." });
    expect(await find("limit=1")).not.toHaveProperty("items.0.match");
  });
});

describe("the list of tools", () => {
  verifies(
    ["1/mcp", "4.10/mcp"],
    "offers an MCP client every tool with its title, schemas and annotations",
    async () => {
      const { tools: listed } = await client.listTools();
      expect(listed.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
      for (const { annotations, name, outputSchema, title } of listed) {
        expect(title).toBeTruthy();
        expect(outputSchema?.type).toBe("object");
        const reads = tools.find((tool) => tool.name === name)?.effect === undefined;
        expect(annotations).toMatchObject({
          readOnlyHint: reads,
          destructiveHint: name.startsWith("manage_"),
          idempotentHint: reads,
          openWorldHint: !reads,
        });
      }
    },
  );

  it("has at most twelve tools, and stays below its size limit", async () => {
    const { tools: listed } = await client.listTools();
    expect(listed.length).toBeLessThanOrEqual(12);
    expect(JSON.stringify(listed).length).toBeLessThan(28_000);
  });

  it("answers a call of an unknown tool with a protocol error", async () => {
    await expect(client.callTool({ name: "no_such_tool", arguments: {} })).rejects.toMatchObject({
      code: -32602,
    });
  });
});

describe("a symbol of the real market", () => {
  const read = async (query: string) =>
    (await getWith(token, `${base}/api/signals?${query}`)).json();

  it("is answered with an error that states that the sandbox is simulated and suggests a valid symbol", async () => {
    const { detail, next } = (await read("symbol=AAPL")) as { detail: string; next: string };
    expect(detail).toContain("this market is simulated");
    const [, named = ""] = /^Try (\S+) /.exec(next) ?? [];
    expect(await read(`symbol=${named}`)).toMatchObject({ symbol: named });
  });

  it("is listed under failed, while the response contains the other symbols of the list", async () => {
    const page = await read("symbols=BYTEN.SIM,AAPL,ALDE.SIM,ALDER.SIM");
    expect(page).toMatchObject({
      items: [{ symbol: "ALDER.SIM" }, { symbol: "BYTEN.SIM" }],
      failed: [
        { symbol: "AAPL", code: "unknown_symbol", next: expect.stringMatching(/^Try /) },
        { symbol: "ALDE.SIM", code: "unknown_symbol", next: expect.stringContaining("ALDER.SIM") },
      ],
    });
  });
});
