import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { parse } from "../../src/http/api/parse.ts";
import { getWith, newToken } from "../support/agent.ts";
import { sharedTestService } from "../support/test-service.ts";

/** What each request costs must grow no faster than the request: each counts once, whatever it holds. */

/** As many different names as 16 kB hold. */
const names = Array.from({ length: 4_000 }, (_, at) => `n${at.toString(36)}`);

afterEach(() => vi.restoreAllMocks());

describe("a query with thousands of names", () => {
  it.each(["/api/signals", "/api/instruments", "/api/factors", "/api/darkpool", "/api/method/:v"])(
    "is searched once at %s, not once for each name",
    async (path) => {
      const { base } = await sharedTestService();
      const health = await (await fetch(`${base}/api/health`)).json();
      const { methodVersion } = health as { readonly methodVersion: string };
      const target = path.replace(":v", encodeURIComponent(methodVersion));
      const token = await newToken(base);
      const search = vi.spyOn(URLSearchParams.prototype, "getAll");
      const answer = await getWith(token, `${base}${target}?${names.slice(0, 3_000).join("&")}`);
      expect(answer.status).toBe(400);
      expect(search.mock.calls.length).toBeLessThan(10);
    },
  );

  it("keeps repeated values together, in order", async () => {
    const { base } = await sharedTestService();
    const token = await newToken(base);
    const read = async (query: string) =>
      (await getWith(token, `${base}/api/signals?${query}`)).text();
    expect(await read("symbols=BIRCH.SIM&limit=5&symbols=ALDER.SIM")).toBe(
      await read("symbols=BIRCH.SIM,ALDER.SIM&limit=5"),
    );
  });
});

it("thousands of unknown members are compared with the known ones only until the text is full", () => {
  const schema = z.strictObject({ symbol: z.string(), limit: z.number() });
  const { shape } = schema;
  let compared = 0;
  Object.defineProperty(schema, "shape", {
    get() {
      compared += 1;
      return shape;
    },
  });
  const input = Object.fromEntries(names.map((name) => [name, 1]));
  expect(() => parse(schema, input)).toThrow("n0 is unknown; known are symbol, limit");
  expect(compared).toBeLessThan(20);
});
