import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { getWith, postForm, register, tokenOf } from "../support/agent.ts";
import { postgresAvailable, startPostgres } from "../support/postgres.ts";
import { freePort, runToEnd, startProcess } from "../support/process.ts";

const title = postgresAvailable
  ? "three processes on one database"
  : "three processes on one database SKIPPED: no PostgreSQL binaries for this platform";

describe.skipIf(!postgresAvailable)(title, () => {
  const BASE_URL = "https://signals.example";

  /** A process behind the one public address. @returns Its own address. */
  const start = async (env: Readonly<Record<string, string>>) => {
    const PORT = await freePort();
    await startProcess({ ...env, BASE_URL, PORT });
    return `http://127.0.0.1:${PORT}`;
  };
  const signals = async (base: string, token: string) =>
    (await getWith(token, `${base}/api/signals?symbol=ALDER.SIM`)).status;

  it("serve each other's agents, and what one revokes the others refuse at once", async () => {
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
    expect([await signals(first, token), await signals(second, token)]).toEqual([401, 401]);

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

const keysOf = async (base: string) => (await fetch(`${base}/.well-known/jwks.json`)).json();
