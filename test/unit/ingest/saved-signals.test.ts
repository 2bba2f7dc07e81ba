// @module-tag full

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pino from "pino";
import { describe, expect, it } from "vitest";
import { SavedSignalsFile } from "../../../src/ingest/saved-signals.ts";
import type { Market } from "../../../src/market/market.ts";
import type { SavedSignals, SavedSignalsStore } from "../../../src/score/saved-signals.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import { createSnapshotArchive } from "../../../src/score/snapshot-archive.ts";
import { createSandbox } from "../../../src/sources/sandbox/sandbox.ts";
import { temporaryFolder } from "../../support/process.ts";
import { withoutFuture } from "../score/markets.ts";

const DAY_MS = 60_000;
/** Number of days in a sandbox year. The records of a year begin four years before the year. */
const YEAR_DAYS = 252;
const END = (Math.floor(Date.UTC(2026, 10, 21) / DAY_MS / YEAR_DAYS) + 1) * YEAR_DAYS - 1;
/** Number of days by which the first served day moves forward. */
const STEP_DAYS = 100;
const FIRST = END - 600;

const records = createSandbox({ seed: 11, sessionSeconds: 60 })
  .recordsUntil(END * DAY_MS)
  .map((one) => withoutFuture(one, END * DAY_MS));

/** A market of recorded history: four years of simulated records, all of which are scored. */
const market: Market = {
  ...createSandbox({ seed: 11, sessionSeconds: 60 }),
  mode: "files",
  recordsUntil: () => records,
  scoredFrom: () => (FIRST - 200) * DAY_MS,
  servedFrom: (at) => (Math.floor(at / DAY_MS / STEP_DAYS) - 1) * STEP_DAYS * DAY_MS,
};

/** The same history, ending at a given day. */
const endingAt = (day: number): Market => {
  const known = records.map((one) => withoutFuture(one, day * DAY_MS));
  return { ...market, recordsUntil: () => known };
};

/** Returns all snapshots that an engine serves after it was refreshed on the given days. */
function served(one: Market, days: readonly number[], keeper?: SavedSignalsStore) {
  const archive = createSnapshotArchive();
  const engine = new ScoringEngine(one, archive, keeper);
  for (const day of days) engine.refresh(day * DAY_MS);
  return archive.allNewest().map((newest) => ({
    newest: JSON.parse(JSON.stringify({ ...newest, tables: undefined })),
    history: [...archive.history(newest.instrument.symbol, 0, END * DAY_MS)].map((record) => ({
      ...record,
      tables: null,
      factors: null,
    })),
  }));
}

function memoryKeeper(): SavedSignalsStore & { readonly kept: SavedSignals[] } {
  const kept: SavedSignals[] = [];
  return {
    kept,
    keep: (signals) => void kept.push(signals),
    newest: (assetClass, before) =>
      kept.findLast((one) => one.assetClass === assetClass && one.at < before),
  };
}

/** Returns deterministic random days after the first day (linear congruential generator). */
function drawDays(count: number): readonly number[] {
  let state = 20_261_121;
  return Array.from({ length: count }, () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return FIRST + Math.floor((state / 2 ** 32) * (END - FIRST));
  });
}

const warnings: string[] = [];
const log = pino({ level: "warn" }, { write: (line) => warnings.push(line) });

const fileIn = (path: string, method = "1") =>
  new SavedSignalsFile({ folder: path, key: new Uint8Array(32), method, log });

describe("signals stored for later starts", () => {
  const keeper = memoryKeeper();
  served(market, [END], keeper);

  it("are stored at the last close before the first scored day moves forward", () => {
    expect(keeper.kept.length).toBeGreaterThan(10);
    for (const { at } of keeper.kept) {
      expect(market.servedFrom(at + DAY_MS)).toBeGreaterThan(market.servedFrom(at));
    }
  });

  it.each(drawDays(6))("give the same results in a process that starts on day %i", (day) => {
    const whole = served(market, [day]);
    expect(whole.length).toBeGreaterThan(30);
    expect(served(market, [day], keeper)).toEqual(whole);
  });

  it("give the same results in a process that keeps running", () => {
    const days = Array.from({ length: 24 }, (_, step) => END - 23 * 13 + 13 * step);
    expect(served(market, days)).toEqual(served(market, [END], keeper));
  });

  it.each([400, 200, 37])("give the same results when history ends %i days earlier", (days) => {
    const end = END - days;
    expect(served(endingAt(end), [end])).toEqual(served(market, [end], keeper));
  });
});

describe("the file of stored signals", () => {
  async function written(path: string, one = market, day = END) {
    const file = fileIn(path);
    await file.read();
    const result = served(one, [day], file);
    await file.write();
    return result;
  }
  /**
   * Scores a market to its end, and returns the newest saved signals that were found for stocks.
   */
  async function newestIn(path: string, one: Market = market, method?: string) {
    const file = fileIn(path, method);
    await file.read();
    let found: SavedSignals | undefined;
    served(one, [END], {
      keep() {},
      newest(assetClass, before, series) {
        const kept = file.newest(assetClass, before, series);
        if (assetClass === "stock") found = kept;
        return kept;
      },
    });
    return found;
  }

  it("gives a later start the signals of an earlier start, however much longer the history is", async () => {
    const path = temporaryFolder();
    const whole = await written(path, endingAt(END - 90), END - 90);
    expect(await newestIn(path)).toBeDefined();
    expect(await written(path, endingAt(END - 90), END - 90)).toEqual(whole);
    expect(await written(path)).toEqual(served(market, [END]));
    const content = await readFile(join(path, "kept-signals.json"), "utf8");
    // A later start with a shorter history does not remove newer signals.
    await written(path, endingAt(END - 250), END - 250);
    expect(await readFile(join(path, "kept-signals.json"), "utf8")).toBe(content);
  });

  it("is ignored for other records, for another method, or after it was edited", async () => {
    const path = temporaryFolder();
    await written(path);
    const { at } = (await newestIn(path)) ?? { at: 0 };
    expect(at).toBeGreaterThan(0);
    const changed = records.map((one, index) =>
      index === 3
        ? {
            ...one,
            bars: [...one.bars].map((bar) =>
              bar.availableAt === at - 300 * DAY_MS ? { ...bar, volume: bar.volume + 1 } : bar,
            ),
          }
        : one,
    );
    const other = await newestIn(path, { ...market, recordsUntil: () => changed });
    expect(other?.at ?? 0).toBeLessThan(at - 300 * DAY_MS);
    expect(await newestIn(path, market, "2")).toBeUndefined();
    const name = join(path, "kept-signals.json");
    await writeFile(name, (await readFile(name, "utf8")).replace("LONG", "WAIT"));
    expect(await newestIn(path)).toBeUndefined();
    expect(warnings.join()).toContain("was changed since");
  });
});
