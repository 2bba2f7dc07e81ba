import { describe, expect, it } from "vitest";
import { providerProgress } from "../../src/ingest/provider-progress.ts";
import { coinbase } from "../../src/sources/live/providers/coinbase.ts";
import { instrument } from "../support/instruments.ts";
import { serveCoinbase } from "../support/providers/coinbase.ts";
import { contentOf, followProvider, pollerOf } from "../support/providers/follow.ts";
import { startProvider } from "../support/providers/server.ts";
import { describeEngines, embedded, openStore, START, type TestStore } from "../support/stores.ts";

const DAY_MS = 86_400_000;

/**
 * Instant by which the request budget has permitted all requests for the history, Unix
 * milliseconds.
 */
const CAUGHT_UP = START + 60_000;

const options = {
  instruments: ["BTC-USD", "ETH-USD", "SOL-USD"].map(instrument),
  feeds: new Set(["bars"] as const),
  historyFrom: START - 700 * DAY_MS,
  settings: {},
};

const world = { products: ["BTC-USD", "ETH-USD", "SOL-USD"], since: "2020-01-01" };

async function rig(store: TestStore) {
  const server = await startProvider(serveCoinbase(world), () => store.clock.now);
  const start = (on: TestStore = store) =>
    pollerOf({ provider: coinbase, options, origin: server.origin, store: on });
  return { server, start };
}

describe("a provider that is polled", () => {
  it("delivers its whole history first, and then each day as that day ends", async () => {
    const store = await openStore(embedded);
    const { server, start } = await rig(store);
    const poller = start();
    await followProvider(poller, store.clock, CAUGHT_UP);
    expect(await contentOf(store, ["bars"])).toHaveLength(3 * 700);
    const before = server.asked.length;
    expect(before).toBeLessThanOrEqual(3 * 3);
    await followProvider(poller, store.clock, CAUGHT_UP + 3 * DAY_MS);
    expect(await contentOf(store, ["bars"])).toHaveLength(3 * 703);
    expect(server.asked.length - before).toBeLessThanOrEqual(3 * 3);
  });

  it("is resumed at the saved position after a kill, and no record is requested or stored twice", async () => {
    const [undisturbed, killed] = [await openStore(embedded), await openStore(embedded)];
    const whole = await rig(undisturbed);
    await followProvider(whole.start(), undisturbed.clock, CAUGHT_UP);
    const { start, server } = await rig(killed);
    let store = killed;
    for (let kill = 0; kill < 3; kill++) {
      await followProvider(start(store), store.clock, CAUGHT_UP, 2);
      store = await store.reopen();
    }
    await followProvider(start(store), store.clock, CAUGHT_UP);
    expect(await contentOf(store, ["bars"])).toEqual(await contentOf(undisturbed, ["bars"]));
    expect(server.asked.length).toBe(whole.server.asked.length);
  });
});

describeEngines("a provider that two leaders poll", (engine) => {
  it("has a request count that is preserved when the leader changes", async () => {
    const store = await openStore(engine);
    const { start } = await rig(store);
    const [one, other] = [start(), start()];
    await followProvider(one, store.clock, CAUGHT_UP, 4);
    await followProvider(other, store.clock, CAUGHT_UP);
    const progress = (await store.records.get(providerProgress, "coinbase"))?.value;
    expect(progress?.lastSuccessAt).toBe(store.clock.now);
    // The first poller's cached state is stale, so it rereads the store before it requests
    // anything.
    expect(await followProvider(one, store.clock, CAUGHT_UP)).toBe(0);
    expect(await contentOf(store, ["bars"])).toHaveLength(3 * 700);
  });
});

describe("the request budget", () => {
  it("is counted by the provider's clock, not the local one", async () => {
    const { model } = await import("../support/stores.ts");
    const store = await openStore(model);
    const { server, start } = await rig(store);
    await followProvider(start(), store.clock, START + DAY_MS);
    const { requests, perMs } = coinbase.budget;
    for (const at of server.asked) {
      const within = server.asked.filter((other) => other <= at && other > at - perMs);
      expect(within.length).toBeLessThanOrEqual(requests);
    }
  });
});
