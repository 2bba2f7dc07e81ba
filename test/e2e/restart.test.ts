// @module-tag full

import { once } from "node:events";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { getWith, postForm, register, tokenOf } from "../support/agent.ts";
import { runToEnd, startProcess, temporaryFolder } from "../support/process.ts";
import { verifies } from "../support/verifies.ts";

const statusOf = async (base: string, token: string) =>
  (await getWith(token, `${base}/api/signals?symbol=ALDER.SIM`)).status;

async function stop({ child }: Awaited<ReturnType<typeof startProcess>>, signal: NodeJS.Signals) {
  child.kill(signal);
  await once(child, "exit");
}

verifies(
  ["8/secret-life-restart"],
  "a secret and a token survive a stop and a crash, and a revoked token stays revoked",
  async () => {
    const DATA_DIR = temporaryFolder();
    const first = await startProcess({ DATA_DIR });
    const agent = await register(first.baseUrl);
    const kept = await tokenOf(first.baseUrl, agent);
    const revoked = await tokenOf(first.baseUrl, agent);
    await postForm(`${first.baseUrl}/oauth/revoke`, { token: revoked });
    await stop(first, "SIGTERM");
    expect(readdirSync(DATA_DIR).sort()).toEqual([
      "last-scores.json",
      "log-head",
      "master.key",
      "store.lock",
      "store.sqlite",
    ]);

    // Tokens are bound to the public URL, so the port must stay the same.
    const { port } = new URL(first.baseUrl);
    const second = await startProcess({ DATA_DIR, PORT: port });
    expect(await statusOf(second.baseUrl, kept)).toBe(200);
    expect(await statusOf(second.baseUrl, revoked)).toBe(401);
    const later = await tokenOf(second.baseUrl, agent);
    await stop(second, "SIGKILL");

    const third = await startProcess({ DATA_DIR, PORT: port });
    expect(await statusOf(third.baseUrl, later)).toBe(200);
    expect(await statusOf(third.baseUrl, await tokenOf(third.baseUrl, agent))).toBe(200);
    expect(await statusOf(third.baseUrl, revoked)).toBe(401);
  },
);

it("the data directory is readable only by its owner", async () => {
  const DATA_DIR = join(temporaryFolder(), "made", "at", "start");
  await startProcess({ DATA_DIR });
  expect(statSync(DATA_DIR).mode & 0o777).toBe(0o700);
  await expect.poll(() => readdirSync(DATA_DIR)).toContain("last-scores.json");
  for (const name of readdirSync(DATA_DIR)) {
    expect(statSync(join(DATA_DIR, name)).mode & 0o777, name).toBe(0o600);
  }
});

it("a second process on the same data is rejected, while the first continues", async () => {
  const DATA_DIR = temporaryFolder();
  const { baseUrl } = await startProcess({ DATA_DIR });
  const { code, said } = await runToEnd({ DATA_DIR, PORT: "0" });
  expect(code).toBe(1);
  expect(said).toContain("store.sqlite");
  expect(said).toContain("another process is using");
  expect((await fetch(`${baseUrl}/readyz`)).status).toBe(200);
});

it("a data directory from another kind of market is rejected", async () => {
  const DATA_DIR = temporaryFolder();
  await stop(await startProcess({ DATA_DIR }), "SIGTERM");
  const { code, said } = await runToEnd({ DATA_DIR, PORT: "0", MARKET: "files:/nowhere" });
  expect(code).toBe(1);
  expect(said).toContain("sandbox");
  expect(said).toContain("DATA_DIR");
});

it("a start that failed leaves its data directory to any other market and master key", async () => {
  const DATA_DIR = temporaryFolder();
  const failed = await runToEnd({ DATA_DIR, PORT: "0", MARKET: "files:/nowhere" });
  expect(failed.said).toContain("/nowhere/instruments.csv");
  const MASTER_KEY = Buffer.alloc(32, 7).toString("base64");
  await stop(await startProcess({ DATA_DIR, MASTER_KEY }), "SIGTERM");
  await stop(await startProcess({ DATA_DIR, MASTER_KEY }), "SIGTERM");
});

it.each([
  [{ MASTER_KEY: "c2hvcnQ=" }, "MASTER_KEY: its value is not 32 bytes as base64"],
  [{ DATABASE_URL: "mysql://root:hunter2@db/x" }, "DATABASE_URL: its value is not"],
])("an invalid secret setting is rejected without being printed", async (env, message) => {
  const DATA_DIR = join(temporaryFolder(), "untouched");
  const { code, said } = await runToEnd({ DATA_DIR, PORT: "0", ...env });
  expect(code).toBe(1);
  expect(said).toContain(message);
  for (const secret of Object.values(env)) expect(said).not.toContain(secret);
  expect(existsSync(DATA_DIR)).toBe(false);
});

it("keys sealed under another master key are rejected", async () => {
  const DATA_DIR = temporaryFolder();
  await stop(await startProcess({ DATA_DIR }), "SIGTERM");
  const MASTER_KEY = Buffer.alloc(32, 7).toString("base64");
  const { code, said } = await runToEnd({ DATA_DIR, PORT: "0", MASTER_KEY });
  expect(code).toBe(1);
  expect(said).toContain("master");
});
