// @module-tag full
import { setImmediate as turn } from "node:timers/promises";
import pino from "pino";
import { expect, it } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { openScoring, type Scoring } from "../../src/ingest/create.ts";
import { model, openStore } from "../support/stores.ts";

const DAY_MS = 60_000;
const YEAR_DAYS = 252;
/** Number of days by which the first served day moves forward at a time. */
const SERVED_STEP_DAYS = 63;

/**
 * Unix time in milliseconds of the first day of a sandbox year, from which on the newly generated
 * records of that year are used.
 */
const TURN = Math.ceil(Date.UTC(2026, 10, 21) / DAY_MS / YEAR_DAYS) * YEAR_DAYS * DAY_MS;

const config = readConfig({ SEED: "7", SANDBOX_SESSION_SECONDS: "60" });

const scoresOf = ({ snapshots }: Scoring) =>
  snapshots.allNewest().map(({ instrument: { symbol }, at, score }) => ({
    ...{ symbol, at, score },
    first: snapshots.history(symbol, 0, at).at(0)?.at,
  }));

it("requests are served from the previous snapshots during a long refresh of the sandbox", async () => {
  const store = await openStore(model);
  const clock = { now: TURN - DAY_MS };
  const open = () =>
    openScoring({
      settings: config,
      ...{ store, log: pino({ level: "silent" }) },
      now: () => new Date(clock.now),
      deriveKey: () => new Uint8Array(32),
    });
  const scoring = await open();
  const before = scoresOf(scoring);
  clock.now = TURN;
  scoring.refresh();
  let turns = 0;
  for (; scoring.knownUntil() < TURN; turns++) {
    expect(turns).toBeLessThan(10_000);
    expect(scoresOf(scoring)).toEqual(before);
    await turn();
  }
  expect(turns).toBeGreaterThan(250);
  const after = scoresOf(scoring);
  expect(after).toEqual(scoresOf(await open()));
  expect(after[0]?.first).toBe((before[0]?.first ?? 0) + SERVED_STEP_DAYS * DAY_MS);
});
