// @module-tag full

import { describe, expect, it } from "vitest";
import {
  providerProgress,
  seriesGroup,
  seriesProgress,
} from "../../src/ingest/provider-progress.ts";
import type { PointInTimeRecord } from "../../src/market/records.ts";
import { LiveMarket } from "../../src/sources/live/live-market.ts";
import { providers } from "../../src/sources/live/providers.ts";
import { readAll } from "../../src/store/port/read-all.ts";
import { contentOf, followProvider } from "../support/providers/follow.ts";
import { shapeFaults } from "../support/providers/record-shapes.ts";
import {
  expectedObservationsOf,
  KILLED,
  maxRequestsInWindow,
  NOW,
  publicBy,
  type RigRun,
  runRig,
  storedObservationsOf,
  storeThatDies,
} from "../support/providers/rig-run.ts";
import { RIG_INSTRUMENTS, type Rig, rigsFor } from "../support/providers/rigs.ts";
import { model, openStore, PATIENT, type TestStore } from "../support/stores.ts";

/** Time within which the whole history is read, in milliseconds. */
const HISTORY_MS = 3_600_000;

/** Time that a process takes to start, in milliseconds. */
const RESTART_MS = 1_000;

/** Maximum characters of a cursor. */
const MAX_CURSOR = 1_000;

const rigs = rigsFor();

it("a local test server exists for every provider in use", () => {
  const asked = providers.filter(({ kind }) => kind === "polled").map(({ id }) => id);
  expect(rigs.map(({ provider }) => provider.id).sort()).toEqual(asked.toSorted());
});

/** Follows a provider through its history and the records after it. */
async function followed(rig: Rig, store: TestStore): Promise<RigRun> {
  const run = await runRig(rig, store);
  await followProvider(run.start(), store.clock, NOW + rig.laterMs);
  return run;
}

describe.each(rigs.map((rig) => [rig.provider.id, rig] as const))(
  "the provider %s",
  PATIENT,
  (_, rig) => {
    const { provider, laterMs, lagMs } = rig;
    const until = NOW + laterMs;
    const settled = (data: readonly string[]) => publicBy(data, until - lagMs);

    it("polling delivers the history and then new records, without gaps or duplicates, within the request budget by the provider's clock", async () => {
      const store = await openStore(model);
      const { server } = await followed(rig, store);
      expect(maxRequestsInWindow(rig, server.asked)).toBeLessThanOrEqual(provider.budget.requests);
      const kept = await storedObservationsOf(rig, store);
      const truth = expectedObservationsOf(rig, until);
      expect(settled(kept)).toEqual(settled(truth));
      expect(publicBy(kept, NOW - lagMs).length).toBeGreaterThan(0);
      const cursors = await readAll(store.records, seriesProgress, seriesGroup(provider.id));
      expect(cursors.length).toBeGreaterThan(0);
      for (const { value } of cursors) {
        expect(value.cursor?.length).toBeLessThanOrEqual(MAX_CURSOR);
        expect(value.failures).toBe(0);
      }
      expect((await store.records.get(providerProgress, provider.id))?.value.lastFault).toBeNull();
    });

    it("polling delivers only plausible records, from which the market builds lists in order of time", async () => {
      const store = await openStore(model);
      await followed(rig, store);
      const content = await contentOf(store, provider.feeds);
      expect(content.map(shapeFaults).filter((wrong) => wrong !== undefined)).toEqual([]);
      const market = new LiveMarket(RIG_INSTRUMENTS, new Map());
      market.take(content.map((one) => ({ ...one, observedAt: one.record.availableAt }) as never));
      const lists = market
        .recordsUntil(until)
        .flatMap(({ instrument: _one, ...all }) =>
          Object.values(all).map((list) => Array.from<PointInTimeRecord>(list)),
        );
      for (const list of lists) {
        const times = list.map(({ availableAt }) => availableAt);
        expect(times).toEqual(times.toSorted((one, other) => one - other));
      }
    });

    it("polling delivers the same records even if the process is killed at any point", async () => {
      const { whole, before } = await history(rig);
      const store = await openStore(model);
      const { kept, asked, deaths } = await killed(rig, store, Math.ceil(before / 3));
      expect(publicBy(kept, NOW - lagMs)).toEqual(publicBy(whole, NOW - lagMs));
      expect(deaths).toBeGreaterThan(0);
      expect(asked.length).toBeLessThanOrEqual(before + deaths);
      expect(maxRequestsInWindow(rig, asked)).toBeLessThanOrEqual(provider.budget.requests);
    });
  },
);

/** Follows the history without a kill. @returns The stored records and the number of requests. */
async function history(rig: Rig) {
  const store = await openStore(model);
  const { start, server } = await runRig(rig, store);
  await followProvider(start(), store.clock, NOW + HISTORY_MS);
  return { whole: await storedObservationsOf(rig, store), before: server.asked.length };
}

/**
 * Reads the history in several runs, each of which is killed before the answer or its position is
 * stored.
 */
async function killed(rig: Rig, store: TestStore, pace: number) {
  const run = await runRig(rig, store);
  let place = store;
  let deaths = 0;
  for (const writes of [0, 1, 2, pace]) {
    const life = followProvider(
      run.start(storeThatDies(place, writes)),
      store.clock,
      NOW + HISTORY_MS,
    );
    deaths += await life.then(() => 0, ifKilled);
    store.clock.now += RESTART_MS;
    place = await place.reopen();
  }
  await followProvider(run.start(place), store.clock, NOW + HISTORY_MS);
  return { asked: run.server.asked, kept: await storedObservationsOf(rig, place), deaths };
}

function ifKilled(error: unknown): number {
  if (error instanceof Error && error.message === KILLED) return 1;
  throw error;
}
