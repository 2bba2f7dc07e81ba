// @module-tag full

import { expect, it, vi } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { getWith, newToken } from "../support/agent.ts";
import { serveProviders } from "../support/providers/served.ts";
import { SANDBOX_NOW, startTestService, type TestService } from "../support/test-service.ts";

/** One factor in an answer of get_factors. */
interface FactorAnswer {
  readonly status: string;
  readonly z: number | null;
  readonly contribution: number;
  readonly summary: string;
}

/**
 * Starts a live market of a few coins whose prices and network figures come from local servers with
 * one clock.
 */
async function followed() {
  let running: TestService | undefined;
  const now = () => (running?.clock.now ?? SANDBOX_NOW).getTime();
  const served = await serveProviders({
    ...{ ids: ["coinbase", "coin-metrics"], now },
    symbols: ["BTC-USD", "ETH-USD"],
  });
  running = await startTestService({}, { market: readConfig(served.env).market });
  const { base, clock, service } = running;
  let token = "";
  const get = async (path: string) =>
    (await (await getWith(token, `${base}${path}`)).json()) as Record<string, unknown>;
  return {
    ...{ server: served.server, get },
    status: async (path: string) => (await fetch(`${base}${path}`)).status,
    async setClock(text: string) {
      clock.now = new Date(text);
      token = await newToken(base);
    },
    /** Polls until an assertion holds, while the clock advances slightly. */
    until: (look: () => Promise<void>) =>
      vi.waitFor(
        async () => {
          clock.now = new Date(clock.now.getTime() + 5_000);
          service.refresh();
          await look();
        },
        { timeout: 30_000, interval: 100 },
      ),
    async factors() {
      const answer = await get("/api/factors?detail=full&symbol=BTC-USD");
      return answer.factors as Readonly<Record<"momentum" | "valuation", FactorAnswer>>;
    },
  };
}

it("a failing provider makes only its own factor stale and then missing, until the provider recovers", async () => {
  const { server, get, status, setClock, until, factors } = await followed();
  await setClock("2026-11-21T07:00:00Z");
  await until(async () => {
    const { momentum, valuation } = await factors();
    expect([momentum.status, valuation.status]).toEqual(["ok", "ok"]);
    expect(valuation.z).not.toBeNull();
  });
  expect(await get("/api/signals?detail=full&symbol=BTC-USD")).toMatchObject({
    ...{ status: "partial", missingFactors: ["social", "darkpool"] },
    sources: [{ id: "coinbase" }, { id: "coin-metrics" }],
  });
  expect(await get("/api/instruments?detail=full&query=BTC")).toMatchObject({
    sources: [{ id: "coinbase" }, { id: "coin-metrics" }],
  });

  server("coinbase").become("broken");
  await setClock("2026-11-22T07:00:00Z");
  await until(async () => {
    const { momentum } = await factors();
    expect(momentum.status).toBe("stale");
    expect(momentum.z).not.toBeNull();
    expect(momentum.summary).toContain("on old data");
  });
  expect((await get("/api/signals?detail=full&symbol=BTC-USD")).status).toBe("stale");

  await setClock("2026-11-23T07:00:00Z");
  await until(async () => {
    const { momentum, valuation } = await factors();
    expect(momentum).toMatchObject({ status: "stale", z: null, contribution: 0 });
    expect(momentum.summary).toContain("is too old to count");
    expect(valuation.z).not.toBeNull();
    const { missingFactors } = await get("/api/signals?detail=full&symbol=BTC-USD");
    expect(missingFactors).toEqual(["momentum", "social", "darkpool"]);
    const { checks } = (await get("/readyz")) as {
      readonly checks: { readonly market: { readonly detail: string } };
    };
    expect(checks.market.detail).toMatch(/^1 of 2 providers answer; coinbase: failing$/);
  });
  expect([await status("/api/health"), await status("/readyz")]).toEqual([200, 200]);

  server("coinbase").become(undefined);
  await setClock("2026-11-23T08:00:00Z");
  await until(async () => {
    expect((await factors()).momentum.status).toBe("ok");
    const { status, missingFactors, price } = await get("/api/signals?detail=full&symbol=BTC-USD");
    expect([status, missingFactors]).toEqual(["partial", ["social", "darkpool"]]);
    // The missed bars are stored, and are dated by their arrival.
    expect(price).toMatchObject({ at: expect.stringMatching(/^2026-11-23T08:/) });
  });
});

it("the closing score of a session uses the bar of that session, which is requested before the score is computed", async () => {
  const { server, get, setClock, until, factors } = await followed();
  await setClock("2026-11-21T07:00:00Z");
  await until(async () => expect((await factors()).momentum.status).toBe("ok"));
  const before = server("coinbase").asked.length;
  await setClock("2026-11-22T00:02:00Z");
  await until(async () => expect(server("coinbase").asked.length).toBe(before + 2));
  await setClock("2026-11-22T00:05:10Z");
  await until(async () => {
    const { history } = await get(
      "/api/signals?detail=full&symbol=BTC-USD&from=2026-11-21T00:00:00Z",
    );
    expect(history).toMatchObject({
      session: ["2026-11-20", "2026-11-21"],
      asOf: ["2026-11-21T00:05:00.000Z", "2026-11-22T00:05:00.000Z"],
      // The service was not running when the first session closed.
      status: ["stale", "partial"],
    });
  });
});

it("a tracked instrument without a price gets not_available_then instead of unknown_symbol", async () => {
  const served = await serveProviders({
    ids: ["edgar"],
    now: () => +SANDBOX_NOW,
    symbols: ["AAPL", "BRK-B"],
  });
  const { base } = await startTestService({}, { market: readConfig(served.env).market });
  const token = await newToken(base);
  const get = (path: string) => getWith(token, `${base}${path}`);
  for (const path of ["signals", "factors", "darkpool"]) {
    const response = await get(`/api/${path}?symbol=brk.b`);
    expect([response.status, await response.json()]).toMatchObject([
      422,
      { code: "not_available_then", detail: "BRK-B is tracked, but has no price yet." },
    ]);
  }
  expect(await (await get("/api/signals?symbol=AAPLE")).json()).toMatchObject({
    ...{ code: "unknown_symbol", detail: 'No instrument has the symbol "AAPLE".' },
  });
  const page = (query: string) =>
    get(`/api/instruments?detail=full&${query}`).then((found) => found.json());
  const first = (await page("limit=1")) as { readonly nextCursor: string };
  const none = "no_feed";
  expect(first).toMatchObject({
    items: [
      {
        ...{ symbol: "AAPL", name: "Apple Inc.", status: "insufficient_data" },
        factors: { momentum: none, valuation: none, social: none, darkpool: none },
        ...{ firstDataAt: null, lastDataAt: null },
      },
    ],
  });
  expect(await page(`limit=1&cursor=${first.nextCursor}`)).toMatchObject({
    ...{ items: [{ symbol: "BRK-B" }], nextCursor: null },
  });
  expect(await page("assetClass=crypto")).toMatchObject({ items: [] });
});
