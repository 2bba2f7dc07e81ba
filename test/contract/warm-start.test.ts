// @module-tag full

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import pino from "pino";
import { expect, it } from "vitest";
import type { Scope } from "../../src/access/scopes.ts";
import { readConfig } from "../../src/config/config.ts";
import { AuthenticatedFile } from "../../src/ingest/authenticated-file.ts";
import { openScoring, type Scoring } from "../../src/ingest/create.ts";
import { recordedCandidate } from "../../src/method/recorded-candidate.ts";
import { createToolContext } from "../../src/tool/create-context.ts";
import type { ToolCall } from "../../src/tool/tool.ts";
import { getSignal } from "../../tools/get-signal.ts";
import { temporaryFolder } from "../support/process.ts";
import { model, openStore } from "../support/stores.ts";
import { SANDBOX_NOW } from "../support/test-service.ts";

const DAY_MS = 60_000;
const KEY = new Uint8Array(32).fill(7);
const FILE = "last-scores.json";

/**
 * Starts the scoring of a process on a data folder, `days` days after `SANDBOX_NOW`. It may show
 * the scores of the previous run (warm start), and has not refreshed them yet.
 */
async function processOn(folder: string, days = 0, seed = "1") {
  const warnings: string[] = [];
  const scoring = await openScoring({
    settings: readConfig({ DATA_DIR: folder, SEED: seed }),
    store: await openStore(model),
    now: () => new Date(SANDBOX_NOW.getTime() + days * DAY_MS),
    deriveKey: () => KEY,
    log: pino({ level: "warn" }, { write: (line) => warnings.push(line) }),
  });
  return { scoring, warnings };
}

/** The newest snapshot of every instrument as it is recorded, without its distribution tables. */
const toldBy = ({ snapshots }: Scoring): unknown =>
  JSON.parse(
    JSON.stringify(
      snapshots.allNewest().map((one) => ({
        ...one,
        tables: null,
        candidate: recordedCandidate(one.candidate),
      })),
    ),
  );

async function computed(scoring: Scoring): Promise<void> {
  scoring.refresh();
  while (scoring.isProvisional()) await turn();
}

/** Creates the data folder of a process that has ended. Also returns the last served scores. */
async function leftFolder() {
  const folder = temporaryFolder();
  const { scoring } = await processOn(folder);
  expect(scoring.isProvisional()).toBe(false);
  await scoring.close();
  return { folder, told: toldBy(scoring) };
}

const answerOf = (scoring: Scoring, query: object) =>
  getSignal.run(
    getSignal.input.parse(query) as Parameters<typeof getSignal.run>[0],
    createToolContext(scoring, {} as Parameters<typeof createToolContext>[1]),
    { scopes: new Set<Scope>() } as unknown as ToolCall,
  );

it("scores of the previous run are shown, marked as provisional, until they are computed again", async () => {
  const { folder, told } = await leftFolder();
  const { scoring, warnings } = await processOn(folder, 2);
  expect(scoring.isProvisional()).toBe(true);
  expect(toldBy(scoring)).toEqual(told);
  expect(scoring.knownUntil()).toBe(Math.floor(SANDBOX_NOW.getTime() / DAY_MS) * DAY_MS);
  expect(answerOf(scoring, { symbol: "ALDER.SIM" })).toMatchObject({ provisional: true });
  // The restored scores belong to no history: they are neither recorded nor used for alerts.
  const asked = { symbol: "ALDER.SIM", from: "2026-11-20T00:00:00Z" };
  expect(() => answerOf(scoring, asked)).toThrow("not_ready");
  expect(scoring.snapshots.closedAfter("ALDER.SIM", 0)).toEqual([]);

  await computed(scoring);
  expect(warnings).toEqual([]);
  const { scoring: cold } = await processOn(temporaryFolder(), 2);
  expect(toldBy(scoring)).toEqual(toldBy(cold));
  expect(answerOf(scoring, { symbol: "ALDER.SIM" })).not.toHaveProperty("provisional");
  expect(answerOf(scoring, asked)).toEqual(answerOf(cold, asked));
  await scoring.close();
});

it("scores of the previous run that differ from the new ones are dropped with a warning", async () => {
  const { folder } = await leftFolder();
  const file = new AuthenticatedFile<{ snapshots: { score: number }[] }>(join(folder, FILE), KEY);
  const content = (await file.read()) as { snapshots: { score: number }[] };
  const [first, ...others] = content.snapshots as [{ score: number }, ...{ score: number }[]];
  await file.write({
    ...content,
    snapshots: [{ ...first, score: first.score + 1e-12 }, ...others],
  });
  const { scoring, warnings } = await processOn(folder, 1);
  expect(scoring.isProvisional()).toBe(true);
  await computed(scoring);
  expect(warnings.join()).toContain("were dropped");
  const { scoring: cold } = await processOn(temporaryFolder(), 1);
  expect(toldBy(scoring)).toEqual(toldBy(cold));
});

it("a score file that was changed after it was written is not used", async () => {
  const { folder } = await leftFolder();
  const path = join(folder, FILE);
  await writeFile(path, (await readFile(path, "utf8")).replace('"score": ', '"score": 1'));
  const { scoring, warnings } = await processOn(folder);
  expect(scoring.isProvisional()).toBe(false);
  expect(warnings.join()).toContain("was changed since");
});

it.each([
  ["from another market", 0, "2"],
  ["from eleven days ago", 11, "1"],
])("stored scores %s are not used", async (_which, days, seed) => {
  const { folder } = await leftFolder();
  const { scoring, warnings } = await processOn(folder, days, seed);
  expect(scoring.isProvisional()).toBe(false);
  expect(warnings).toEqual([]);
});
