// @module-tag full
import { setImmediate as settled } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { openObservationFollower, readObservations } from "../../src/ingest/follow-observations.ts";
import type { Poller } from "../../src/ingest/poller.ts";
import { assignProviders, type ProviderAssignment } from "../../src/ingest/setup.ts";
import { createStreamListener } from "../../src/ingest/stream-listener.ts";
import { DAY_MS } from "../../src/lib/day.ts";
import { FEEDS } from "../../src/market/records.ts";
import { LiveMarket } from "../../src/sources/live/live-market.ts";
import type { Observation, Provider, ProviderOptions } from "../../src/sources/live/provider.ts";
import { jetstream } from "../../src/sources/live/providers/jetstream.ts";
import { unusualWhales } from "../../src/sources/live/providers/unusual-whales.ts";
import { providers } from "../../src/sources/live/providers.ts";
import { type DrivenPolling, drivePolling } from "../support/providers/drive.ts";
import { contentOf, pollerOf, rejectedObservationsIn } from "../support/providers/follow.ts";
import { drawnEvents, serveJetstream } from "../support/providers/jetstream.ts";
import {
  maxRequestsInWindow,
  publicBy,
  sortedObservationTexts,
} from "../support/providers/rig-run.ts";
import { RIG_INSTRUMENTS, type Rig, rigsFor } from "../support/providers/rigs.ts";
import { startProvider } from "../support/providers/server.ts";
import { model, openStore, START, type TestStore } from "../support/stores.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Sunday noon, before a week of trading, in milliseconds. */
const BEGIN = START + DAY_MS;
const END = BEGIN + 7 * DAY_MS;

/** Time that one polling round may take within the budgets, in milliseconds. */
const LOOK_MS = 50_000;

/**
 * Interval in milliseconds at which a provider is polled for the expected records, short enough
 * that no record is lost.
 */
const SLOW_MS = 6 * HOUR_MS;

/**
 * Interval of the checks in milliseconds, chosen so that the checks fall on various times of day.
 */
const CHECK_EVERY_MS = 10 * HOUR_MS;

/** Time for reading the initial history, in milliseconds. */
const HISTORY_MS = HOUR_MS;

const POSTS = { from: BEGIN + HISTORY_MS, until: END, everyMs: HOUR_MS };
const CASHTAGS = ["$AAPL", "$BTC"];

/** A polled provider in the simulated week. */
interface Followed {
  readonly rig: Rig;
  readonly poller: Poller;
  readonly asked: readonly number[];
  /** All records of the provider, each with the instant at which it becomes public. */
  readonly truth: readonly string[];
}

async function followed(
  { provider, feeds }: ProviderAssignment,
  store: TestStore,
): Promise<Followed> {
  const rig = rigsFor().find((one) => one.provider === provider);
  if (rig === undefined) throw new Error(`${provider.id} has no rig`);
  const { settings, shortMs, serve } = rig;
  const instruments = RIG_INSTRUMENTS.filter((one) => provider.classes.includes(one.assetClass));
  const options = { instruments, feeds, historyFrom: BEGIN - shortMs, settings };
  const { origin, asked } = await startProvider(serve(), () => store.clock.now);
  const poller = pollerOf({ provider: rig.provider, options, origin, store });
  return { rig, poller, asked, truth: truthOf(rig, options) };
}

/** Reads everything that a provider publishes in the week, without HTTP, ingestion or a store. */
function truthOf({ provider, serve }: Rig, options: ProviderOptions): readonly string[] {
  const server = serve();
  const data: Observation[] = [];
  let cursors: DrivenPolling["cursors"] = {};
  for (let now = BEGIN; now <= END + DAY_MS; now += SLOW_MS) {
    const driven = drivePolling(provider, server, { ...options, now, cursors });
    data.push(...driven.data);
    cursors = driven.cursors;
  }
  return [
    ...new Set(sortedObservationTexts(data.map((datum) => ({ ...datum, provider: provider.id })))),
  ];
}

/** Sends all due requests until an instant, one provider at a time, as far as the budgets allow. */
async function look(all: readonly Followed[], clock: { now: number }, until: number) {
  for (;;) {
    const [next] = all.toSorted((one, other) => one.poller.nextAt() - other.poller.nextAt());
    if (next === undefined || next.poller.nextAt() > until) return;
    clock.now = Math.max(clock.now, next.poller.nextAt());
    if ((await next.poller.step()) === 0) clock.now++;
  }
}

/** Follows the stream, whose connection is dropped between any two polling rounds. */
async function followStream(store: TestStore) {
  const events = drawnEvents(CASHTAGS, POSTS);
  const server = await serveJetstream();
  const { records, archive, clock } = store;
  const listener = createStreamListener({
    provider: jetstream,
    options: {
      ...{ instruments: RIG_INSTRUMENTS, settings: {} },
      ...{ feeds: new Set(["mentions"] as const), historyFrom: BEGIN },
    },
    ...{ origin: server.origin, records, archive, now: () => clock.now, random: () => 0.5 },
  });
  onTestFinished(() => listener.close());
  onTestFinished(server.close);
  let told = 0;
  const posts = () =>
    events.slice(0, told).filter(({ commit }) => /"text":"\$/.test(JSON.stringify(commit)));
  const kept = async () =>
    (await contentOf(store, ["mentions"])).filter(({ provider }) => provider === "jetstream");
  return {
    visits: server.visits,
    posts,
    kept,
    /** Runs the stream until everything posted by now is stored. */
    async look() {
      const visits = server.visits.length;
      await listener.step();
      clock.now += MINUTE_MS;
      while (server.visits.length === visits) {
        await listener.step();
        await settled();
      }
      for (const event of events.slice(told)) {
        if (event.time_us > clock.now * 1_000) break;
        server.tell(event);
        told++;
      }
      while ((await kept()).length < posts().length) {
        await listener.step();
        await settled();
      }
    },
  };
}

/** A market that follows the records that are persisted, as the service does. */
async function createFollower(store: TestStore) {
  const market = new LiveMarket(RIG_INSTRUMENTS, new Map());
  const readOn = await openObservationFollower({
    archive: store.archive,
    ...{ market, now: () => store.clock.now },
    async takeAll() {
      for (const feed of FEEDS) {
        for await (const page of readObservations(store.archive, feed, 0)) market.take(page);
      }
    },
  });
  return {
    market,
    async catchUp() {
      while ((await readOn()) > 0);
    },
  };
}

/** Expects all records that were public at the last check to be stored. */
async function expectFresh(all: readonly Followed[], store: TestStore, lookedAt: number) {
  const kept = new Set(sortedObservationTexts(await contentOf(store, FEEDS)));
  for (const { rig, truth } of all) {
    const wanted = publicBy(truth, lookedAt - rig.lagMs);
    expect(wanted.filter((datum) => !kept.has(datum))).toEqual([]);
  }
}

/** Expects the newest bar of each instrument to be the bar that was due. */
function expectBars({ market }: Awaited<ReturnType<typeof createFollower>>, lookedAt: number) {
  for (const { instrument, bars } of market.recordsUntil(lookedAt + HOUR_MS)) {
    const due = market.barsDue?.(lookedAt - 7 * DAY_MS, lookedAt, instrument.assetClass);
    const session = (at: number) => market.sessionAt(at - DAY_MS / 2, instrument.assetClass);
    expect(bars.at(-1)?.session).toBe(session(due?.at(-1) ?? 0));
  }
}

describe.each([
  ["preferred providers first, polled every 30 minutes", providers, 30 * MINUTE_MS],
  [
    "preferred providers last, polled every 2 hours",
    [unusualWhales, ...providers.toReversed()],
    2 * HOUR_MS,
  ],
] as const)("a week of trading with all providers: %s", (_, order, everyMs) => {
  it("stays within all budgets, keeps data fresh, and stores everything once", async () => {
    const store = await openStore(model);
    store.clock.now = BEGIN;
    const polled = assignProviders(order, RIG_INSTRUMENTS).filter(({ provider }) =>
      isPolled(provider),
    );
    const all = await Promise.all(polled.map((one) => followed(one, store)));
    const stream = await followStream(store);

    await look(all, store.clock, BEGIN + HISTORY_MS);
    const follower = await createFollower(store);
    for (let at = BEGIN + 2 * HOUR_MS; at <= END; at += everyMs) {
      store.clock.now = Math.max(store.clock.now, at);
      await look(all, store.clock, at + LOOK_MS);
      await follower.catchUp();
      if ((at - BEGIN) % CHECK_EVERY_MS !== 0) continue;
      await stream.look();
      await expectFresh(all, store, at);
      expectBars(follower, at);
    }

    for (const { rig, asked } of all) {
      expect(maxRequestsInWindow(rig, asked)).toBeLessThanOrEqual(rig.provider.budget.requests);
    }
    const content = await contentOf(store, FEEDS);
    const truth = all.flatMap((one) => publicBy(one.truth, END - one.rig.lagMs));
    const everything = new Set(all.flatMap((one) => one.truth));
    const kept = sortedObservationTexts(content.filter(({ provider }) => provider !== "jetstream"));
    expect(kept.filter((datum) => !everything.has(datum))).toEqual([]);
    const known = new Set(kept);
    expect(truth.filter((datum) => !known.has(datum))).toEqual([]);
    const places = content.map(({ symbol, record }) => `${symbol} ${JSON.stringify(record)}`);
    expect(new Set(places).size).toBe(places.length);
    expect(await stream.kept()).toHaveLength(stream.posts().length);
    expect(stream.visits.length).toBeGreaterThan(10);
    expect(await rejectedObservationsIn(store)).toEqual([]);
  }, 120_000);
});

const isPolled = ({ kind }: Provider): boolean => kind === "polled";
