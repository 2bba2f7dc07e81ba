// @module-tag full

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { archiveKindOf } from "../../src/ingest/market-rows.ts";
import { openPostgres } from "../../src/store/postgres/open.ts";
import { newKey } from "../support/admin.ts";
import { getWith } from "../support/agent.ts";
import { createDatabase, postgresAvailable } from "../support/postgres.ts";
import { startProcess, temporaryFolder } from "../support/process.ts";
import { serveProviders } from "../support/providers/served.ts";

vi.setConfig({ testTimeout: 300_000 });

const title = postgresAvailable
  ? "live markets in two processes"
  : "live markets in two processes SKIPPED: no PostgreSQL binaries for this platform";

const until = <T>(look: () => Promise<T>) => vi.waitFor(look, { timeout: 150_000, interval: 250 });

/** Providers that are soon fully read and then polled once a day. */
const DAILY = ["coinbase", "coin-metrics", "alpaca", "edgar"];

const repeatedIn = (addresses: readonly string[]) => addresses.length - new Set(addresses).size;

describe.skipIf(!postgresAvailable)(title, () => {
  it("live markets are polled by one of two processes, shared by both, and taken over when that process dies", async () => {
    const url = await createDatabase();
    const DATA_DIR = temporaryFolder();
    const served = await serveProviders({
      ...{ ids: [...DAILY, "finra-daily"], now: Date.now },
      symbols: ["AAPL", "BTC-USD", "ETH-USD"],
    });
    const MASTER_KEY = randomBytes(32).toString("base64");
    const env = { ...served.env, DATABASE_URL: url, MASTER_KEY };
    const { addresses } = served.server("finra-daily");
    const daily = DAILY.map((id) => served.server(id).addresses);

    const leader = await startProcess({ ...env, DATA_DIR });
    await until(async () => expect(addresses.length).toBeGreaterThan(0));
    const other = await startProcess(env);
    const key = await newKey({ DATA_DIR, DATABASE_URL: url }, "signals:read");
    const pastIn = async (base: string, symbol: string) => {
      const query = "from=2025-06-01T00:00:00Z&to=2026-06-01T00:00:00Z&limit=500";
      const answer = await getWith(key, `${base}/api/signals?symbol=${symbol}&${query}`);
      expect(answer.status).toBe(200);
      const { history } = (await answer.json()) as {
        readonly history: { readonly session: readonly string[] };
      };
      return history.session;
    };
    await until(async () => {
      for (const [symbol, sessions] of [
        ["BTC-USD", 365],
        ["AAPL", 250],
      ] as const) {
        const past = await pastIn(other.baseUrl, symbol);
        expect(past.length).toBe(sessions);
        expect(await pastIn(leader.baseUrl, symbol)).toEqual(past);
      }
    });
    // Prints are requested long after the bars from which the above scores are computed.
    const store = await openPostgres({ url, mode: "live", budgetMs: 60_000 });
    await until(async () => {
      const due = await served.due(store.records);
      expect(due.filter((id) => DAILY.includes(id))).toEqual([]);
    });
    const atKill = addresses.length;
    expect([addresses, ...daily].map(repeatedIn)).toEqual([0, 0, 0, 0, 0]);

    leader.child.kill("SIGKILL");
    await once(leader.child, "exit");
    await until(async () => expect(addresses.length).toBeGreaterThan(atKill + 10));
    expect((await fetch(`${other.baseUrl}/readyz`)).status).toBe(200);
    expect((await pastIn(other.baseUrl, "BTC-USD")).length).toBe(365);
    other.child.kill("SIGTERM");
    await once(other.child, "exit");

    // At most the request in flight at the kill is repeated.
    expect(repeatedIn(addresses)).toBeLessThanOrEqual(1);
    expect(daily.map(repeatedIn)).toEqual([0, 0, 0, 0]);
    const kept = await store.archive.read(archiveKindOf("shortVolumes"), {
      ...{ order: "oldest", limit: 10_000 },
    });
    await store.close();
    // An answer that the second process had not stored when it was stopped is requested again later.
    const requested = new Set(addresses).size;
    expect([requested - 1, requested]).toContain(kept.length);
  });
});
