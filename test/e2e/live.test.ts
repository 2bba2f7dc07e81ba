// @module-tag full

import { once } from "node:events";
import { afterEach, describe, expect, it, vi } from "vitest";
import { providers } from "../../src/sources/live/providers.ts";
import { marketSignal, newKey } from "../support/admin.ts";
import { getWith, newToken } from "../support/agent.ts";
import { freePort } from "../support/free-port.ts";
import { type RunningProcess, startProcess, temporaryFolder } from "../support/process.ts";
import { postEvent, serveJetstream } from "../support/providers/jetstream.ts";
import { type ServedProviders, serveProviders, unreachable } from "../support/providers/served.ts";
import { verifies } from "../support/verifies.ts";

const SCOPES = "signals:read factor:read darkpool:read";

/** The members of an answer about one instrument that these tests read. */
interface Answer {
  readonly market: string;
  readonly status: string;
  readonly sources: readonly { readonly id: string; readonly terms: string }[];
}

const until = <T>(look: () => Promise<T>) => vi.waitFor(look, { timeout: 120_000, interval: 250 });

const stop = async ({ child }: RunningProcess) => {
  child.kill("SIGTERM");
  await once(child, "exit");
};

async function askAs<T>(key: string, url: string): Promise<T> {
  const response = await getWith(key, url);
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

const idsOf = ({ sources }: Answer) => sources.map(({ id }) => id);

/** Waits until a provider has been asked for all data available so far. */
async function quiet({ server }: ServedProviders, ids: readonly string[]): Promise<void> {
  const counts = () => ids.map((id) => server(id).asked.length);
  await until(async () => {
    const before = counts();
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(before.every((count) => count > 0)).toBe(true);
    expect(counts()).toEqual(before);
  });
}

const doctorOf = async (env: Readonly<Record<string, string>>) => {
  const { code, out } = await marketSignal(env, "doctor", "--json");
  const { providers } = JSON.parse(out) as {
    readonly providers: readonly { readonly id: string; readonly state: string }[];
  };
  return { code, states: providers.map(({ id, state }) => `${id} ${state}`) };
};

const ended: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0)) await end();
});

describe("live markets", () => {
  verifies(
    "1/live-markets",
    "compute scores from an empty store and state the providers' terms, even across a restart",
    async () => {
      const stream = await serveJetstream();
      ended.push(stream.close);
      const ids = ["coinbase", "coin-metrics", "alpaca", "edgar"];
      const served = await serveProviders({
        ...{ ids, now: Date.now, symbols: ["AAPL", "BTC-USD", "ETH-USD"] },
        others: { jetstream: stream.origin },
      });
      const DATA_DIR = temporaryFolder();
      const env = { ...served.env, DATA_DIR };
      const visited = stream.visited();
      const first = await startProcess(env);
      expect(first.ready).toMatchObject({ market: "live", simulated: false, followed: 3 });
      await visited;
      stream.tell(postEvent({ text: "$BTC is rising, a strong day", at: Date.now() }));

      const key = await newKey({ DATA_DIR }, SCOPES);
      const signalOf = (base: string, symbol: string) =>
        askAs<Answer>(key, `${base}/api/signals?detail=full&symbol=${symbol}`);
      await until(async () => {
        expect(idsOf(await signalOf(first.baseUrl, "BTC-USD")).sort()).toEqual([
          "coin-metrics",
          "coinbase",
          "jetstream",
        ]);
        expect(idsOf(await signalOf(first.baseUrl, "AAPL")).sort()).toEqual(["alpaca", "edgar"]);
      });
      const { market, sources } = await signalOf(first.baseUrl, "BTC-USD");
      expect(market).toBe("live");
      for (const { id, terms } of sources) {
        expect(terms).toBe(providers.find((one) => one.id === id)?.terms);
      }
      await quiet(served, ids);
      expect((await fetch(`${first.baseUrl}/readyz`)).status).toBe(200);
      const ofServer = await doctorOf({ DATA_DIR });
      await stop(first);

      expect(await doctorOf({ DATA_DIR })).toEqual(ofServer);
      expect(ofServer.code).toBe(0);
      expect(ofServer.states.filter((one) => one.endsWith(" well")).sort()).toEqual(
        [...ids, "jetstream"].map((id) => `${id} well`).sort(),
      );

      const asked = ids.map((id) => served.server(id).addresses.length);
      const past = (base: string, symbol: string) =>
        askAs<{ readonly history: { readonly score: readonly number[] } }>(
          key,
          `${base}/api/signals?symbol=${symbol}&from=2025-01-01T00:00:00Z&to=2026-01-01T00:00:00Z&limit=500`,
        );
      const second = await startProcess(env);
      const before = [await past(second.baseUrl, "AAPL"), await past(second.baseUrl, "BTC-USD")];
      await quiet(served, ids);
      expect(ids.map((id) => served.server(id).addresses.length)).toEqual(asked);
      const after = [await past(second.baseUrl, "AAPL"), await past(second.baseUrl, "BTC-USD")];
      expect(after.map(({ history }) => history)).toEqual(before.map(({ history }) => history));
      expect(before.map(({ history }) => history.score.length > 200)).toEqual([true, true]);
      for (const id of ids) {
        const { addresses } = served.server(id);
        expect(new Set(addresses).size, id).toBe(addresses.length);
      }
    },
  );

  it("are closed to unclaimed agents unless the operator grants access", async () => {
    const served = await serveProviders({ ids: ["coinbase"], now: Date.now, symbols: ["BTC-USD"] });
    const { baseUrl } = await startProcess(served.env);
    await expect(newToken(baseUrl)).rejects.toThrow(/invalid_scope.*no scope/);
    const open = await startProcess({ ...served.env, ANONYMOUS_SCOPES: "signals:read" });
    const token = await newToken(open.baseUrl, { scope: "signals:read" });
    await until(async () => {
      const answer = await getWith(token, `${open.baseUrl}/api/signals?detail=full&symbol=BTC-USD`);
      expect(answer.status).toBe(200);
    });
  });

  it("stay up without a network, and report which data are missing", async () => {
    const DATA_DIR = temporaryFolder();
    const { baseUrl } = await startProcess({ ...unreachable(await freePort()), DATA_DIR });
    const key = await newKey({ DATA_DIR }, SCOPES);
    const keyless = providers.filter(({ needs }) => needs.length === 0).map(({ id }) => id);
    const asked = keyless.filter((id) => id !== "kraken");
    await until(async () => {
      const ready = await fetch(`${baseUrl}/readyz`);
      const { status, checks } = (await ready.json()) as {
        readonly status: string;
        readonly checks: Readonly<
          Record<string, { readonly ok: boolean; readonly detail: string }>
        >;
      };
      expect([ready.status, status, checks.store?.ok]).toEqual([503, "unavailable", true]);
      for (const id of asked) {
        expect(checks.market?.detail).toContain(`; ${id}: unreachable`);
      }
      expect(checks.market?.detail).toMatch(new RegExp(`^0 of ${asked.length} providers answer; `));
    });

    const health = await fetch(`${baseUrl}/api/health`);
    expect([health.status, await health.json()]).toMatchObject([
      200,
      {
        ...{ status: "degraded", market: "live", simulated: false, instruments: 0 },
        reasons: [
          expect.stringMatching(/^market: 0 of/),
          "scores: no instrument has a score",
          "providers: none answers",
        ],
      },
    ]);
    const missing = await getWith(key, `${baseUrl}/api/signals?symbol=AAPL`);
    expect([missing.status, await missing.json()]).toMatchObject([
      422,
      { code: "not_available_then", detail: "AAPL is tracked, but has no price yet." },
    ]);
    const unknown = await getWith(key, `${baseUrl}/api/signals?symbol=NOSUCH`);
    expect(await unknown.json()).toMatchObject({ code: "unknown_symbol" });
    const listed = await getWith(key, `${baseUrl}/api/instruments?query=BRK&detail=full`);
    expect(await listed.json()).toMatchObject({
      items: [{ symbol: "BRK-B", status: "insufficient_data", lastDataAt: null }],
    });
    const { code, out } = await marketSignal({ DATA_DIR }, "doctor");
    expect(code).toBe(1);
    for (const id of asked) expect(out).toMatch(new RegExp(`^${id} +fault `, "m"));
    expect(out).toMatch(/^alpaca +off +needs APCA_API_KEY_ID, APCA_API_SECRET_KEY$/m);
  });
});
