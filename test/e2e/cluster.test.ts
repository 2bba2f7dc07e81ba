// @module-tag full

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { getWith, postForm, register, tokenOf } from "../support/agent.ts";
import { freePort } from "../support/free-port.ts";
import { createDatabase, postgresAvailable, startPostgres } from "../support/postgres.ts";
import { runToEnd, startProcess } from "../support/process.ts";
import { LOOSE_LIMITS } from "../support/test-service.ts";

const title = postgresAvailable
  ? "three processes on one database"
  : "three processes on one database SKIPPED: no PostgreSQL binaries for this platform";

describe.skipIf(!postgresAvailable)(title, () => {
  const BASE_URL = "https://signals.example";

  /** Starts a process that shares the public base URL. @returns The process's own URL. */
  const start = async (env: Readonly<Record<string, string>>) => {
    const PORT = await freePort();
    await startProcess({ ...env, BASE_URL, PORT });
    return `http://127.0.0.1:${PORT}`;
  };
  const signals = async (base: string, token: string) =>
    (await getWith(token, `${base}/api/signals?symbol=ALDER.SIM`)).status;

  it("processes give byte-identical answers, regardless of their start time", async () => {
    const env = {
      DATABASE_URL: await createDatabase(),
      MASTER_KEY: randomBytes(32).toString("base64"),
      SANDBOX_SESSION_SECONDS: "20",
      RATE_LIMITS: LOOSE_LIMITS,
    };
    const bases = [await start(env), await start(env)];
    const token = await tokenOf(bases[0] as string, await register(bases[1] as string));
    bases.push(await start(env));
    await vi.waitFor(async () => {
      const all = await Promise.all(bases.map((base) => answersOf(base, token)));
      expect(all[1]).toEqual(all[0]);
      expect(all[2]).toEqual(all[0]);
    }, 120_000);
  });

  it("processes of one service share a port, which no other process can use", async () => {
    const env = {
      DATABASE_URL: await createDatabase(),
      MASTER_KEY: randomBytes(32).toString("base64"),
      PORT: await freePort(),
    };
    const [first, second] = [await startProcess(env), await startProcess(env)];
    expect(second.baseUrl).toBe(first.baseUrl);

    const stranger = { ...env, DATABASE_URL: await createDatabase() };
    const refused = await runToEnd(stranger);
    expect([refused.code, refused.said]).toEqual([1, expect.stringContaining("another store")]);

    const program = createServer((_req, res) => void res.end("hello"));
    program.listen(0, "127.0.0.1");
    await once(program, "listening");
    const { port } = program.address() as AddressInfo;
    const taken = await runToEnd({ ...env, PORT: String(port) });
    program.close();
    expect([taken.code, taken.said]).toEqual([1, expect.stringContaining(`PORT: ${port}`)]);
    expect((await fetch(`${first.baseUrl}/readyz`)).status).toBe(200);
  });

  it("processes accept each other's agents, and reject a revoked token within a second", async () => {
    const cluster = await startPostgres();
    const env = {
      DATABASE_URL: await cluster.createDatabase(),
      MASTER_KEY: randomBytes(32).toString("base64"),
    };
    const [first, second, third] = await Promise.all([start(env), start(env), start(env)]);

    const agent = await register(first);
    const token = await tokenOf(second, agent);
    expect([await signals(first, token), await signals(third, token)]).toEqual([200, 200]);
    expect(await keysOf(first)).toEqual(await keysOf(third));

    await postForm(`${third}/oauth/revoke`, { token });
    expect(await signals(third, token)).toBe(401);
    const revokedAt = performance.now();
    for (const other of [first, second]) {
      expect(await statusOnceAnnounced(() => signals(other, token), revokedAt)).toBe(401);
    }

    const another = await runToEnd({ ...env, MASTER_KEY: randomBytes(32).toString("base64") });
    expect(another.code).toBe(1);
    expect(another.said).toContain("master key");

    await cluster.restart("immediate");
    expect(await signals(first, await tokenOf(third, agent))).toBe(200);
    expect((await fetch(`${second}/readyz`)).status).toBe(200);

    await cluster.stop();
    const [ready, health, asked] = await Promise.all([
      fetch(`${first}/readyz`),
      fetch(`${first}/api/health`),
      getWith(token, `${first}/api/signals`),
    ]);
    expect([ready.status, health.status, asked.status]).toEqual([503, 200, 503]);
    expect(asked.headers.get("retry-after")).toBe("1");
    expect(asked.headers.get("content-type")).toContain("application/problem+json");
    expect(await asked.json()).toMatchObject({ code: "store_unavailable" });
  });
});

/** Requests for every kind of data that depends only on the market. */
const READS = [
  "/api/signals?symbol=ALDER.SIM",
  "/api/signals?limit=100",
  "/api/factors?symbol=ALDER.SIM",
  "/api/darkpool?symbol=ALDER.SIM",
  "/api/instruments?limit=100",
];

/**
 * Returns the raw answers to all `READS`. Repeats the requests until the market's instant is the
 * same before and after them.
 */
async function answersOf(base: string, token: string): Promise<readonly string[]> {
  const asOf = async () => {
    const health = await fetch(`${base}/api/health`);
    return ((await health.json()) as { readonly asOf: string }).asOf;
  };
  for (;;) {
    const before = await asOf();
    const texts = await Promise.all(
      READS.map(async (path) => {
        const answer = await getWith(token, base + path);
        expect(answer.status, path).toBe(200);
        return answer.text();
      }),
    );
    if ((await asOf()) === before) return [before, ...texts];
  }
}

const keysOf = async (base: string) => (await fetch(`${base}/.well-known/jwks.json`)).json();

/**
 * Repeats a request until the other process has been notified of a change, or until the allowed
 * second has passed.
 */
async function statusOnceAnnounced(ask: () => Promise<number>, since: number): Promise<number> {
  for (;;) {
    const isLate = performance.now() - since > 1_000;
    const status = await ask();
    if (status !== 200 || isLate) return status;
  }
}
