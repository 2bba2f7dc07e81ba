// @module-tag full

import { setImmediate as turn } from "node:timers/promises";
import pino from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { openScoring, type Scoring } from "../../src/ingest/create.ts";
import { announceObservations } from "../../src/ingest/follow-observations.ts";
import { persistObservations } from "../../src/ingest/persist.ts";
import { createSessionArchiveJob } from "../../src/ingest/session-archive.ts";
import { DAY_MS } from "../../src/lib/day.ts";
import type { Observation } from "../../src/sources/live/provider.ts";
import { coinBarKnownAt } from "../../src/sources/live/publication-times.ts";
import { transact } from "../../src/store/transact.ts";
import { temporaryFolder } from "../support/process.ts";
import { coinBars } from "../support/providers/coins.ts";
import { model, openStore, type TestStore } from "../support/stores.ts";

const COINS = ["BTC-USD", "ETH-USD"];

const daysOf = (from: string, to: string): readonly Observation[] =>
  COINS.flatMap((symbol) => coinBars(symbol, from, to));

/** A process that scores the records of a store without polling any provider. */
async function scoringOf(store: TestStore, storeNow?: () => number) {
  const env = { MARKET: "live", UNIVERSE: COINS.join(), DATA_DIR: temporaryFolder() };
  const scoring = await openScoring({
    settings: readConfig({ ...env, PROVIDERS: "coinbase" }),
    now: () => new Date(store.clock.now),
    storeNow,
    deriveKey: () => new Uint8Array(32),
    ...{ store, log: pino({ level: "silent" }) },
  });
  onTestFinished(() => scoring.close());
  const scores = () =>
    COINS.map((symbol) =>
      Array.from(scoring.snapshots.history(symbol, 0, store.clock.now), ({ at, score }) => [
        at,
        score,
      ]),
    );
  return { ...scoring, scores };
}

/** Returns a function that stores new data as a provider does. */
const givingTo = (store: TestStore) => async (data: readonly Observation[]) => {
  const given = { provider: "coinbase", observedAt: store.clock.now };
  await persistObservations({ data }, given, store.archive);
  await transact(store.records, announceObservations);
};

it("late history is scored in parts, and the earlier scores are served until all parts are scored", async () => {
  const store = await openStore(model);
  const give = givingTo(store);
  await give(daysOf("2026-10-01", "2026-11-20"));
  const scoring = await scoringOf(store);
  const before = scoring.scores();
  expect(before.map(({ length }) => length)).toEqual([51, 51]);

  await give(daysOf("2025-06-01", "2026-09-30"));
  let turns = 0;
  let served = { until: scoring.knownUntil(), scores: before };
  for (let look = 0; served.scores.some(({ length }) => length < 538); look++) {
    expect(look).toBeLessThan(10_000);
    store.clock.now += 1_000;
    scoring.refresh();
    const found = { until: scoring.knownUntil(), scores: scoring.scores() };
    if (found.until === served.until) {
      turns++;
      expect(found).toEqual(served);
    }
    served = found;
    await turn();
  }
  expect(turns).toBeGreaterThan(100);
  expect(scoring.scores()).toEqual((await scoringOf(store)).scores());
});

describe("a clock that is temporarily wrong", () => {
  /**
   * Returns a function that records sessions as the leader does, until none is left, and that
   * returns the instant of the newest recorded session.
   */
  function recorder(store: TestStore, { snapshots, recordableUntil: knownUntil }: Scoring) {
    const step = createSessionArchiveJob({
      ...{ archive: store.archive, snapshots, knownUntil, dayMs: DAY_MS, hasWholeHistory: false },
      idOf: ({ instrument, at }) => `${instrument.symbol} ${at}`,
    });
    return async () => {
      while ((await step()) > 0);
      const rows = await store.archive.read("snapshot", { order: "newest", limit: 1 });
      return rows[0]?.at ?? 0;
    };
  }

  /** Advances the clock in steps of five seconds until a condition holds. */
  async function goOn(
    { clock }: TestStore,
    { refresh }: Scoring,
    { isSo, onTick }: { isSo: () => boolean; onTick?: () => void },
  ) {
    for (let look = 0; !isSo(); look++) {
      expect(look).toBeLessThan(20_000);
      clock.now += 10;
      onTick?.();
      refresh();
      await turn();
    }
  }

  /** Lets the next day arrive, and expects scoring to continue as if no fault had occurred. */
  async function expectWell(store: TestStore, scoring: Awaited<ReturnType<typeof scoringOf>>) {
    await givingTo(store)(daysOf("2026-11-21", "2026-11-21"));
    const isHere = () => scoring.snapshots.newest(COINS[1] ?? "")?.price?.at;
    const due = coinBarKnownAt("2026-11-21");
    await goOn(store, scoring, { isSo: () => isHere() === due });
    expect(scoring.scores()).toEqual((await scoringOf(store)).scores());
  }

  it("is ignored, and no future days are scored or logged", async () => {
    const store = await openStore(model);
    let aheadMs = 0;
    await givingTo(store)(daysOf("2025-06-01", "2026-11-20"));
    const scoring = await scoringOf(store, () => store.clock.now - aheadMs);
    const before = { until: scoring.knownUntil(), scores: scoring.scores() };
    const record = recorder(store, scoring);
    await record();
    aheadMs = 40 * DAY_MS;
    store.clock.now += aheadMs;
    for (let look = 0; look < 3_000; look++) {
      scoring.refresh();
      await turn();
    }
    expect(scoring.knownUntil()).toBe(before.until);
    expect(scoring.scores()).toEqual(before.scores);
    expect(await record()).toBeLessThanOrEqual(before.until);
    store.clock.now -= aheadMs;
    aheadMs = 0;
    store.clock.now = coinBarKnownAt("2026-11-21") - 3_000;
    await expectWell(store, scoring);
  });

  it.each([1, 40, 365])("is corrected when it is off by %d days at startup", async (days) => {
    const store = await openStore(model);
    const right = store.clock.now;
    await givingTo(store)(daysOf("2025-06-01", "2026-11-20"));
    store.clock.now += days * DAY_MS;
    const scoring = await scoringOf(store);
    const record = recorder(store, scoring);
    expect(await record()).toBeLessThanOrEqual(right + 3_600_000);
    store.clock.now = right;
    await goOn(store, scoring, { isSo: () => scoring.knownUntil() < right + DAY_MS / 2 });
    store.clock.now = coinBarKnownAt("2026-11-21") - 3_000;
    await expectWell(store, scoring);
    expect(await record()).toBe(coinBarKnownAt("2026-11-21"));
  });
});
