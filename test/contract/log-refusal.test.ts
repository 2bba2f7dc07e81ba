// @module-tag full

import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { phaseOf } from "../../src/log/log-state.ts";
import { LogStore } from "../../src/log/log-store.ts";
import type { AssetClass } from "../../src/market/instrument.ts";
import { createDatabase, postgresAvailable } from "../support/postgres.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

const title = postgresAvailable
  ? "every process reports at /readyz that the log is not signed"
  : "every process reports at /readyz that the log is not signed SKIPPED: no PostgreSQL binaries for this platform";

interface Ready {
  readonly checks: Readonly<Record<string, { readonly detail: string }>>;
}

/** Length of a sandbox session in milliseconds. */
const SESSION_MS = 60_000;

it.skipIf(!postgresAvailable)(title, { timeout: 60_000 }, async () => {
  const env = {
    DATABASE_URL: await createDatabase(),
    MASTER_KEY: randomBytes(32).toString("base64"),
  };
  const patient = { timeout: 20_000 };
  const first = await startTestService(env);
  const log = new LogStore(first.service.state.store);
  const signed = async () => (await log.checkpoint())?.size ?? 0;
  await expect.poll(signed, patient).toBeGreaterThan(0);
  const lost = await log.state();
  if (lost === undefined) throw new Error("there is no log");
  await first.advanceTo(new Date(first.clock.now.getTime() + SESSION_MS));
  const areLogged = async () => {
    const { value } = (await log.state()) ?? lost;
    const before = Object.entries(lost.value.recordedUntil);
    const isNew = before.every(([one, at]) => (value.recordedUntil[one as AssetClass] ?? 0) > at);
    return isNew && !["open run", "whole run"].includes(phaseOf(value).is);
  };
  await expect.poll(areLogged, patient).toBe(true);
  const whole = await log.state();
  if (whole === undefined) throw new Error("there is no log");
  // Restores the database to its complete state.
  expect(await log.start(whole, lost.value)).toBe(true);
  await first.stop();

  const services = [await startTestService(env), await startTestService(env)];
  const told = () =>
    Promise.all(
      services.map(async ({ base }) => {
        const answer = (await (await fetch(`${base}/readyz`)).json()) as Ready;
        return answer.checks.log?.detail;
      }),
    );
  const reason = /^not signed: \d+ leaves were signed and the store has \d+$/;
  await expect
    .poll(told, patient)
    .toEqual([expect.stringMatching(reason), expect.stringMatching(reason)]);

  // The operator restores the lost entries.
  const [{ service }] = services as [TestService];
  const restored = new LogStore(service.state.store);
  const older = await restored.state();
  if (older === undefined) throw new Error("there is no log");
  expect(await restored.start(older, whole.value)).toBe(true);
  await expect.poll(told, patient).toEqual(["signed", "signed"]);
});
