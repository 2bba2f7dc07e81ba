// @module-tag nightly

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { maxRequestsInWindow } from "../support/providers/rig-run.ts";
import { contentIn, fill, startServers } from "./back-fill.ts";
import { type BackFill, rigsOf } from "./back-fill-plan.ts";

/** Number of instruments and days; `BACK_FILL=500x730` runs the full-size test. */
const [instruments = 24, days = 45] = (process.env.BACK_FILL ?? "24x45").split("x").map(Number);
const plan: BackFill = { instruments, days, begins: Date.UTC(2026, 10, 22, 12) };

const rigs = rigsOf(plan);

/** Timeout of the full-size test, in milliseconds. */
const PATIENCE_MS = 3_600_000;

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "back-fill-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

it(
  "a backfill that is killed three times ends with the same data as an uninterrupted one",
  async () => {
    const undisturbed = { plan, folder: await newFolder(), servers: await startServers(plan) };
    onTestFinished(undisturbed.servers.close);
    const startedAt = performance.now();
    expect(await fill(undisturbed)).toBe(true);
    const seconds = (performance.now() - startedAt) / 1_000;
    const all = undisturbed.servers.asked();
    const whole = await contentIn(undisturbed.folder, plan);

    const killed = { plan, folder: await newFolder(), servers: await startServers(plan) };
    onTestFinished(killed.servers.close);
    for (const part of [0.1, 0.4, 0.7]) expect(await fill(killed, part * all)).toBe(false);
    expect(await fill(killed)).toBe(true);
    const resumed = await contentIn(killed.folder, plan);
    process.stderr.write(
      `back-fill of ${instruments} instruments and ${days} days: ${all} requests in ${seconds.toFixed(0)} s, killed three times ${killed.servers.asked()}; ${JSON.stringify(whole)}\n`,
    );
    expect(resumed).toEqual(whole);
    expect(killed.servers.asked()).toBeLessThanOrEqual(all + 3 * rigs.length);
    for (const rig of rigs) {
      const { id, budget } = rig.provider;
      expect(resumed.byProvider[id]).toBeGreaterThan(0);
      expect(maxRequestsInWindow(rig, killed.servers.askedAt.get(id) ?? [])).toBeLessThanOrEqual(
        budget.requests,
      );
    }
  },
  PATIENCE_MS,
);
