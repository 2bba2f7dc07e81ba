import { setImmediate as settled } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  announceObservations,
  openObservationFollower,
  startFollowing,
} from "../../src/ingest/follow-observations.ts";
import { archiveKindOf } from "../../src/ingest/market-rows.ts";
import { persistObservations } from "../../src/ingest/persist.ts";
import { seriesGroup } from "../../src/ingest/provider-progress.ts";
import { DAY_MS } from "../../src/lib/day.ts";
import type { Observation } from "../../src/sources/live/provider.ts";
import { coinbase } from "../../src/sources/live/providers/coinbase.ts";
import type { ReceivedObservation } from "../../src/sources/live/record-book.ts";
import type { Archive } from "../../src/store/port/archive.ts";
import { removeGroup } from "../../src/store/port/operations.ts";
import { transact } from "../../src/store/transact.ts";
import { serveCoinbase } from "../support/providers/coinbase.ts";
import { coinBars } from "../support/providers/coins.ts";
import { followProvider, pollerOf } from "../support/providers/follow.ts";
import { RIG_INSTRUMENTS } from "../support/providers/rigs.ts";
import { startProvider } from "../support/providers/server.ts";
import { describeEngines, model, openStore, START, type TestStore } from "../support/stores.ts";

const MINUTE_MS = 60_000;

/** Writes observations as a process does that dies before it announces them. */
const persist = ({ archive }: TestStore, data: readonly Observation[], observedAt = START) =>
  persistObservations({ data }, { provider: "test", observedAt }, archive);

/** A process that follows the observations in a store. */
async function following(
  { archive, clock }: TestStore,
  more: { follow?: Archive["follow"]; onOtherTime?: (ms: number) => void } = {},
) {
  const { follow = archive.follow, onOtherTime = () => {} } = more;
  const taken: ReceivedObservation[] = [];
  let firstReadings = 0;
  const step = await openObservationFollower({
    archive: { ...archive, follow },
    ...{ now: () => clock.now, onOtherTime },
    market: { take: (observed) => void taken.push(...observed) },
    takeAll: async () => void firstReadings++,
  });
  return {
    step,
    /** Reads to the end. @returns The names of what was read. */
    async readOn(): Promise<readonly string[]> {
      while ((await step()) > 0);
      return taken.splice(0).map(({ symbol, id }) => `${symbol} ${id}`);
    },
    taken,
    firstReadings: () => firstReadings,
  };
}

describeEngines("observations that a process has persisted", (engine) => {
  it("are read by every process without an announcement, once, in the order of their commits, however old they are", async () => {
    const store = await openStore(engine);
    await persist(store, coinBars("BTC-USD", "2024-12-31"));
    const beside = engine.isShared ? await store.openBeside() : store;
    const followers = [await following(store), await following(beside)];
    await persist(store, coinBars("BTC-USD", "2025-01-01", "2025-01-02"));
    await persist(beside, coinBars("ETH-USD", "2024-06-01"));
    await persist(beside, coinBars("BTC-USD", "2025-01-02", "2025-01-03"));
    for (const { readOn } of followers) {
      expect(await readOn()).toEqual([
        ...["BTC-USD 2025-01-01", "BTC-USD 2025-01-02"],
        ...["ETH-USD 2024-06-01", "BTC-USD 2025-01-03"],
      ]);
      expect(await readOn()).toEqual([]);
    }
  });

  it("are what the provider said, with its name and the time of arrival", async () => {
    const store = await openStore(engine);
    const { step, taken } = await following(store);
    const data = coinBars("BTC-USD", "2025-01-01", "2025-01-02");
    await persist(store, data, START + 1);
    await step();
    const given = { provider: "test", observedAt: START + 1 };
    expect(taken).toEqual(data.map((one) => ({ ...one, ...given })));
  });
});

describe("a follower of observations", () => {
  it("reads a page again when reading it failed", async () => {
    const store = await openStore(model);
    let isDown = true;
    const follow: Archive["follow"] = async (...given) => {
      if (isDown) throw new Error("down");
      return store.archive.follow(...given);
    };
    const { step, readOn } = await following(store, { follow });
    await persist(store, coinBars("BTC-USD", "2025-01-01"));
    await expect(step()).rejects.toThrow("down");
    isDown = false;
    expect(await readOn()).toEqual(["BTC-USD 2025-01-01"]);
  });

  it("goes on where it was after it stood still for a day, with what is left of the rows", async () => {
    const store = await openStore(model);
    const warnings: number[] = [];
    const { readOn, firstReadings } = await following(store, {
      onOtherTime: (ms) => warnings.push(ms),
    });
    await persist(store, coinBars("BTC-USD", "2025-01-01", "2025-01-09"));
    store.clock.now += DAY_MS;
    await persist(store, coinBars("ETH-USD", "2025-01-09"), store.clock.now);
    await store.archive.prune(archiveKindOf("bars"), Date.parse("2025-01-09"));
    expect(await readOn()).toEqual(["BTC-USD 2025-01-09", "ETH-USD 2025-01-09"]);
    expect(firstReadings()).toBe(1);
    expect(warnings).toEqual([]);
  });

  it("tells at most once an hour that the clock of the writing process is an hour behind", async () => {
    const store = await openStore(model);
    const ages: number[] = [];
    const { readOn } = await following(store, { onOtherTime: (ms) => ages.push(ms) });
    for (const [day, minutes] of [25, 60, 61, 62, 85, 110, 121, 122, 123].entries()) {
      store.clock.now = START + minutes * MINUTE_MS;
      await persist(store, coinBars("BTC-USD", `2025-01-0${day + 1}`));
      await readOn();
    }
    expect(ages).toEqual([62 * MINUTE_MS, 122 * MINUTE_MS]);
  });

  it("is woken by every answer of a provider that has something new, and by no other", async () => {
    const store = await openStore(model);
    const { records, clock } = store;
    const serve = serveCoinbase({ products: ["BTC-USD"], since: "2020-01-01" });
    const { origin, asked } = await startProvider(serve, () => clock.now);
    const instruments = RIG_INSTRUMENTS.filter(({ symbol }) => symbol === "BTC-USD");
    const feeds = new Set(["bars"] as const);
    const options = { instruments, feeds, historyFrom: START - 400 * DAY_MS, settings: {} };
    /** Asks, as a process that has just started does, until everything is read. */
    const ask = () =>
      followProvider(
        pollerOf({ provider: coinbase, options, origin, store }),
        clock,
        START + MINUTE_MS,
      );
    let wakes = 0;
    onTestFinished(records.onAnnounce("market-data", () => void wakes++));
    await ask();
    expect(wakes).toBe(2);
    expect(asked).toHaveLength(2);
    await records.commit([removeGroup(seriesGroup("coinbase"))]);
    await ask();
    expect(asked).toHaveLength(4);
    expect(wakes).toBe(2);
  });

  it("is woken by an announcement before its next poll is due", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { records } = await openStore(model);
    let looks = 0;
    const looked = Promise.withResolvers<void>();
    const step = async () => {
      if (++looks === 2) looked.resolve();
      return 0;
    };
    const reading = startFollowing(step, { records, onError: looked.reject });
    await settled();
    expect(looks).toBe(1);
    await transact(records, announceObservations);
    await looked.promise;
    await reading.stop();
  });
});
