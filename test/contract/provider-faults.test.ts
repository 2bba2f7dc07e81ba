// @module-tag full

import { describe, expect, it } from "vitest";
import {
  providerProgress,
  seriesGroup,
  seriesProgress,
} from "../../src/ingest/provider-progress.ts";
import { DAY_MS } from "../../src/lib/day.ts";
import type { ProviderFaultKind } from "../../src/sources/live/fault.ts";
import { readAll } from "../../src/store/port/read-all.ts";
import { followProvider } from "../support/providers/follow.ts";
import {
  expectedObservationsOf,
  NOW,
  publicBy,
  runRig,
  storedObservationsOf,
} from "../support/providers/rig-run.ts";
import { type Rig, rigsFor } from "../support/providers/rigs.ts";
import { type Fault, RETRY_AFTER_S } from "../support/providers/server.ts";
import { model, openStore, PATIENT, type TestStore } from "../support/stores.ts";

/** Unix time in milliseconds by which a provider has recovered and its history is stored. */
const RECOVERED = NOW + 45 * 60_000;

/**
 * Number of requests that a fault affects; a fault that takes real time affects only one request.
 */
const TWICE = 2;

/** Maximum bytes that may be read of an endless answer, including all buffers. */
const MOST_POURED = 64 * 1024 * 1024;

/** The expected progress record after a fault. */
interface Noted {
  readonly kind: ProviderFaultKind;
  readonly text: RegExp;
  readonly questions: number;
  /** Pause after the first failure in milliseconds, with the random jitter at its midpoint. */
  readonly pauseMs: number;
}

const UNREACHABLE = { kind: "unreachable", questions: TWICE, pauseMs: 3_750 } as const;
const MALFORMED = { kind: "malformed", questions: TWICE, pauseMs: 45_000, text: /\w/ } as const;
const NO_ANSWER = /^no (whole )?answer/;

const expected: Readonly<Record<Fault, Noted>> = {
  silence: { ...UNREACHABLE, questions: 1, text: /^no answer \(UND_ERR_HEADERS_TIMEOUT\)$/ },
  reset: { ...UNREACHABLE, text: NO_ANSWER },
  "limited with a time": {
    ...{ kind: "limited", text: /^answered 429$/, questions: TWICE },
    pauseMs: RETRY_AFTER_S * 1_000,
  },
  "limited without": {
    ...{ kind: "limited", text: /^answered 429$/, questions: TWICE },
    pauseMs: 22_500,
  },
  broken: { kind: "failing", text: /^answered 500$/, questions: TWICE, pauseMs: 3_750 },
  "a page with 200": MALFORMED,
  "half an answer": { ...UNREACHABLE, text: NO_ANSWER },
  "half a text": MALFORMED,
  "another shape": MALFORMED,
  "an endless answer": { ...UNREACHABLE, questions: 1, text: /^The body has more than \d+ bytes/ },
};

/**
 * Providers in the quick test tier: one with paged series, one with whole-day files, one with
 * messages.
 */
const QUICK: ReadonlySet<string> = new Set(["coinbase", "finra-daily", "stocktwits"]);

const rigs = rigsFor().map((rig) => {
  const { id } = rig.provider;
  return { id, rig, options: { ...PATIENT, tags: QUICK.has(id) ? [] : ["full"] } };
});
const cases = Object.entries(expected) as readonly (readonly [Fault, Noted])[];

for (const { id, rig, options } of rigs) describe(id, options, () => provesFaults(rig));

function provesFaults(rig: Rig) {
  const truth = expectedObservationsOf(rig, RECOVERED);
  const settled = (data: readonly string[]) => publicBy(data, NOW - rig.lagMs);

  it.each(cases)("ingestion recovers from the simulated fault %j", async (fault, noted) => {
    const store = await openStore(model);
    const { server, start } = await runRig(rig, store);
    const poller = start();
    await followProvider(poller, store.clock, RECOVERED, 1);
    server.become(fault);
    expect(await followProvider(poller, store.clock, RECOVERED, 1)).toBe(1);
    await expectNoted(rig, store, noted);
    await followProvider(poller, store.clock, RECOVERED, noted.questions - 1);
    expectAmong(truth, await storedObservationsOf(rig, store));
    expect(server.poured()).toBeLessThan(MOST_POURED);

    server.become(undefined);
    await followProvider(poller, store.clock, RECOVERED);
    expect(settled(await storedObservationsOf(rig, store))).toEqual(settled(truth));
    await expectWell(rig, store);
  });

  it.each([
    ["ahead", DAY_MS],
    ["behind", -DAY_MS],
  ])("ingestion stores no wrong record if a provider's clock is a day %s", async (_way, skewMs) => {
    let skew = skewMs;
    const store = await openStore(model);
    const { start } = await runRig(rig, store, () => skew);
    const poller = start();
    await followProvider(poller, store.clock, RECOVERED);
    expectAmong(
      expectedObservationsOf(rig, RECOVERED + rig.laterMs),
      await storedObservationsOf(rig, store),
    );
    skew = 0;
    const until = RECOVERED + rig.laterMs;
    await followProvider(poller, store.clock, until);
    const well = publicBy(expectedObservationsOf(rig, until), until - rig.lagMs);
    expect(publicBy(await storedObservationsOf(rig, store), until - rig.lagMs)).toEqual(well);
    await expectWell(rig, store);
  });
}

/** Expects every stored record to be one that the provider published. */
function expectAmong(truth: readonly string[], kept: readonly string[]) {
  const known = new Set(truth);
  expect(kept.filter((datum) => !known.has(datum))).toEqual([]);
}

/**
 * Expects the first fault to be recorded for the operator, and the pause after it to have the right
 * length.
 */
async function expectNoted({ provider: { id } }: Rig, store: TestStore, noted: Noted) {
  const progress = (await store.records.get(providerProgress, id))?.value;
  expect(progress?.lastFault).toEqual({
    at: store.clock.now,
    kind: noted.kind,
    text: expect.stringMatching(noted.text),
  });
  const series = await seriesOf(id, store);
  const paused = series.filter(({ failures }) => failures > 0);
  const until = noted.kind === "malformed" ? paused[0]?.notBefore : progress?.openUntil;
  expect(until).toBe(store.clock.now + noted.pauseMs);
}

/** Expects no failure in the progress of the provider and of its series. */
async function expectWell({ provider: { id } }: Rig, store: TestStore) {
  expect((await store.records.get(providerProgress, id))?.value.failures).toBe(0);
  const series = await seriesOf(id, store);
  expect(series.filter(({ failures }) => failures > 0)).toEqual([]);
}

const seriesOf = async (id: string, { records }: TestStore) =>
  (await readAll(records, seriesProgress, seriesGroup(id))).map(({ value }) => value);
