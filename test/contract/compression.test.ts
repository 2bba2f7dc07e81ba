import { describe, expect, it } from "vitest";
import { newToken } from "../support/agent.ts";
import { startTestService } from "../support/test-service.ts";

const { base } = await startTestService();
const token = await newToken(base);

const sizeOf = ({ headers }: Response): number => Number(headers.get("content-length"));

describe("a compressed response", () => {
  it.each([
    ["/", 25_000],
    ["/market/ALDER.SIM", 30_000],
    ["/docs/api/openapi.json", 45_000],
  ])("of %s has at most %i bytes", async (path, most) => {
    const whole = await fetch(base + path, { headers: { "accept-encoding": "identity" } });
    const text = await whole.text();
    for (const coding of ["br", "gzip"]) {
      const response = await fetch(base + path, { headers: { "accept-encoding": coding } });
      expect(response.headers.get("content-encoding")).toBe(coding);
      expect(sizeOf(response)).toBeLessThanOrEqual(most);
      expect(await response.text()).toBe(text);
    }
  });

  it.each([
    "/api/signals",
    "/api/instruments",
    "/api/signals?symbol=ALDER.SIM&from=2026-01-01&format=csv",
  ])("of %s decompresses to the uncompressed response", async (path) => {
    const authorization = `Bearer ${token}`;
    const ask = (coding: string) =>
      fetch(base + path, { headers: { authorization, "accept-encoding": coding } });
    const [whole, br] = [await ask("identity"), await ask("br")];
    expect(br.headers.get("content-encoding")).toBe("br");
    expect(sizeOf(br)).toBeLessThan(sizeOf(whole) / 2);
    expect(await br.text()).toBe(await whole.text());
  });
});

describe("a response that may contain a secret", () => {
  const headers = { "accept-encoding": "br, gzip", authorization: `Bearer ${token}` };
  const json = (value: object) => ({
    method: "POST",
    body: JSON.stringify(value),
    headers: {
      ...headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
  });

  it.each<[string, RequestInit]>([
    ["/oauth/register", json({ client_name: "a".repeat(100) })],
    ["/mcp", json({ jsonrpc: "2.0", id: 1, method: "tools/list" })],
    ["/sign-in", { headers: { ...headers, accept: "text/html" } }],
    ["/claim", { headers: { ...headers, accept: "text/html" } }],
    ["/contact", { headers: { ...headers, accept: "text/html" } }],
  ])("is not compressed: %s", async (path, request) => {
    const response = await fetch(base + path, request);
    expect((await response.text()).length).toBeGreaterThan(1_024);
    expect(response.headers.get("content-encoding")).toBeNull();
  });
});

describe("the live parts of a page", () => {
  const live = { "x-live-parts": "only" };

  it.each([
    ["/", ["known", "standing", "instruments"]],
    ["/market/ALDER.SIM", ["instrument"]],
  ])("are served alone, with the same HTML as in the full page: %s", async (path, ids) => {
    const whole = await (await fetch(base + path)).text();
    const response = await fetch(base + path, { headers: live });
    const parts = await response.text();
    const places = ids.map((id) => parts.indexOf(`<div id="${id}" data-live>`));
    expect(places[0]).toBe(0);
    for (const [at, place] of places.entries()) {
      expect(whole).toContain(parts.slice(place, places[at + 1]));
    }
    expect(parts).not.toContain("<main>");
    const etag = response.headers.get("etag") ?? "";
    const again = await fetch(base + path, { headers: { ...live, "if-none-match": etag } });
    expect(again.status).toBe(304);
    expect((await fetch(base + path, { headers: { "if-none-match": etag } })).status).toBe(200);
  });
});
