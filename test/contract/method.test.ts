import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { runningMethod } from "../../src/method/running.ts";
import { METHOD_RELEASE } from "../../src/score/snapshot.ts";
import { MethodDocument } from "../../src/tool/method.ts";
import { getWith, newToken } from "../support/agent.ts";
import { startTestService } from "../support/test-service.ts";

interface Factors {
  readonly methodVersion: string;
  readonly tableVersion: string;
  readonly analyser: object;
}

const { base, service, clock } = await startTestService();
const token = await newToken(base);

const ask = (path: string, headers: Readonly<Record<string, string>> = {}, method = "GET") =>
  fetch(`${base}${path}`, { method, headers: { authorization: `Bearer ${token}`, ...headers } });

const json = async <T>(path: string) => (await (await ask(path)).json()) as T;

const factorsOf = (query: string) =>
  json<Factors>(`/api/factors?detail=full&symbol=ALDER.SIM${query}`);

/** URL of the distribution tables that an answer of get_factors references. */
const addressOf = ({ methodVersion, tableVersion }: Factors) =>
  `/api/method/${methodVersion}?tables=${encodeURIComponent(tableVersion)}`;

/** URL of the method in use. */
const METHOD = `/api/method/${METHOD_RELEASE}`;

/** Advances the clock to the next simulated day. */
function pass(): void {
  clock.now = new Date(clock.now.getTime() + 60_000);
  service.refresh();
}

describe("GET /api/method/{version}", () => {
  it("publishes the weights, the thresholds, the half-lives and the newest distribution tables, and marks them as simulated", async () => {
    const answer = await json<z.output<typeof MethodDocument>>(METHOD);
    expect(MethodDocument.parse(answer)).toEqual(answer);
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    const validate = ajv.compile(z.toJSONSchema(MethodDocument));
    expect(validate(answer), JSON.stringify(validate.errors)).toBe(true);
    expect(answer).toMatchObject({
      version: runningMethod().version,
      market: "sandbox",
      sources: [{ simulated: true }],
      parameters: {
        weights: {
          stock: { momentum: 1.6 / 3, valuation: 0.8 / 3, social: 0.1, darkpool: 0.1 },
          etf: { momentum: 0.33, valuation: 0.28, social: 0.21, darkpool: 0.18 },
          crypto: { momentum: 0.42, valuation: 0.24, social: 0.22, darkpool: 0.12 },
        },
        stocks: { rules: { weights: { parts: 0.8, social: 0.1, darkpool: 0.1 } } },
        signal: {
          thresholds: {
            stock: { enterLong: 90, exitLong: 50, enterShort: 10, exitShort: 50 },
            crypto: { enterLong: 70, exitLong: 55, enterShort: 30, exitShort: 45 },
          },
          smoothingHalfLifeSessions: { stock: 5, etf: 2, crypto: 0.5 },
        },
        momentum: { gate: { halfLifeSessions: 20, target: { stock: 0.16, crypto: 0.6 } } },
        social: {
          analyser: { name: "lexicon", modelSha256: null },
          counters: { halfLifeDays: { stock: 1, crypto: 0.5 } },
        },
      },
    });
    expect(answer.parameters.normalisation).toHaveProperty("probabilities.length", 101);
    expect(answer.tables.map(({ content }) => content.assetClass)).toEqual(["stock", "crypto"]);
  });

  it("returns the current or past table that an answer of get_factors references", async () => {
    const versions = new Set<string>();
    for (const query of ["", "&asOf=2026-11-21T04:58:30Z"]) {
      const factors = await factorsOf(query);
      const { tables, parameters } = await json<z.output<typeof MethodDocument>>(
        addressOf(factors),
      );
      expect(tables.map(({ version }) => version)).toEqual([factors.tableVersion]);
      expect(tables[0]?.content.analyser).toEqual(factors.analyser);
      expect(parameters.social).toMatchObject({ analyser: factors.analyser });
      versions.add(factors.tableVersion);
    }
    expect(versions.size).toBe(2);
  });

  it("can be cached forever when the query specifies the tables, and must otherwise be revalidated before each use", async () => {
    const address = addressOf(await factorsOf(""));
    const named = await ask(address);
    expect(named.headers.get("cache-control")).toBe("private, max-age=31536000, immutable");
    expect(named.headers.get("vary")).toBe("Accept, Authorization, X-Api-Key, Accept-Encoding");
    const newest = await ask(METHOD);
    expect(newest.headers.get("cache-control")).toBe("private, no-cache");
    const [body, before] = [await named.text(), newest.headers.get("etag") ?? ""];
    expect(before).toMatch(/^"[\w-]{43}-gzip"$/);

    const known = await ask(METHOD, { "if-none-match": before });
    expect(known.status).toBe(304);
    expect(await known.text()).toBe("");
    pass();
    const changed = await ask(METHOD, { "if-none-match": before });
    expect(changed.status).toBe(200);
    expect(changed.headers.get("etag")).not.toBe(before);
    const again = await ask(address);
    expect(await again.text()).toBe(body);
    expect(again.headers.get("etag")).toBe(named.headers.get("etag"));
  });

  it("no longer returns a table that no available answer references, and reports it as no longer available", async () => {
    const address = addressOf(await factorsOf(""));
    for (let day = 0; day < 32; day++) pass();
    const response = await ask(address);
    expect(response.status).toBe(422);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await response.json()).toMatchObject({ code: "not_available_then" });
  });

  it.each([
    ["1.0.1", 404, "not_found"],
    ["1.1.0", 404, "not_found"],
    [`${METHOD_RELEASE}+other`, 404, "not_found"],
    ["12.3.45", 404, "not_found"],
    ["2.0.0-rc.1", 404, "not_found"],
    ["1", 400, "invalid_request"],
    ["1.0", 400, "invalid_request"],
    ["v1.0.0", 400, "invalid_request"],
    ["1.0.0%20", 400, "invalid_request"],
    ["1.0.0%0A", 400, "invalid_request"],
    ["1.0.0%2F..", 400, "invalid_request"],
    ["latest", 400, "invalid_request"],
    ["%3Cscript%3E", 400, "invalid_request"],
    [`${METHOD_RELEASE}${"0".repeat(40)}`, 400, "invalid_request"],
    [`${METHOD_RELEASE}?tables=stock/none`, 422, "not_available_then"],
    [`${METHOD_RELEASE}?tables=`, 422, "not_available_then"],
    [`1.1.0?tables=${"x".repeat(101)}`, 400, "invalid_request"],
    [`${METHOD_RELEASE}?tables=a&tables=b`, 400, "invalid_request"],
    [`${METHOD_RELEASE}?table=a`, 400, "invalid_request"],
    [`${METHOD_RELEASE}?__proto__=a`, 400, "invalid_request"],
  ])("answers %s with %i %s and a hint on what to do next", async (path, status, code) => {
    const response = await ask(`/api/method/${path}`);
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toContain("application/problem+json");
    expect(await response.json()).toMatchObject({ code, next: expect.stringMatching(/\S/) });
  });

  it("requires the scope to read factors", async () => {
    const other = await newToken(base, { scope: "signals:read" });
    expect((await getWith(other, `${base}${METHOD}`)).status).toBe(403);
    expect((await fetch(`${base}${METHOD}`)).status).toBe(401);
  });

  it("answers HEAD like GET but without a body, and supports no other method", async () => {
    const [get, head] = [await ask(METHOD), await ask(METHOD, {}, "HEAD")];
    expect(head.status).toBe(200);
    expect(await head.text()).toBe("");
    for (const name of ["etag", "cache-control", "content-type", "content-length"]) {
      expect(head.headers.get(name), name).toBe(get.headers.get(name));
    }
    const post = await ask(METHOD, {}, "POST");
    expect(post.status).toBe(405);
    expect(post.headers.get("allow")).toBe("GET, HEAD");
  });
});
