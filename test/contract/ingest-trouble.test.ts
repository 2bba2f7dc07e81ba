import { describe, expect, it } from "vitest";
import { createPoller, type Poller } from "../../src/ingest/poller.ts";
import type { SendProviderRequest } from "../../src/ingest/provider-client.ts";
import {
  NEW_PROVIDER_PROGRESS,
  NEW_SERIES_PROGRESS,
  providerProgress,
  seriesKey,
  seriesProgress,
} from "../../src/ingest/provider-progress.ts";
import { openResponseCache, type ResponseCache } from "../../src/ingest/response-cache.ts";
import { DAY_MS } from "../../src/lib/day.ts";
import type {
  Observation,
  PolledProvider,
  ProviderSeries,
} from "../../src/sources/live/provider.ts";
import { coinbase } from "../../src/sources/live/providers/coinbase.ts";
import { put } from "../../src/store/port/operations.ts";
import { temporaryFolder } from "../support/process.ts";
import { serveCoinbase } from "../support/providers/coinbase.ts";
import {
  contentOf,
  followProvider,
  pollerOf,
  rejectedObservationsIn,
} from "../support/providers/follow.ts";
import { RIG_INSTRUMENTS } from "../support/providers/rigs.ts";
import { startProvider } from "../support/providers/server.ts";
import {
  beforeWrites,
  describeEngines,
  embedded,
  model,
  openStore,
  START,
  type TestStore,
} from "../support/stores.ts";

const YEAR_MS = 365 * DAY_MS;

/** Number of stored bars: 400 days of two coins. */
const CONTENT = 2 * 400;

const options = {
  instruments: RIG_INSTRUMENTS.filter(({ symbol }) => ["BTC-USD", "ETH-USD"].includes(symbol)),
  ...{ feeds: new Set(["bars"] as const), historyFrom: START - 400 * DAY_MS, settings: {} },
};

/** A Coinbase server that dates its answers by its own clock. */
async function startCoinbase(clock: () => number) {
  const serve = serveCoinbase({ products: ["BTC-USD", "ETH-USD"], since: "2020-01-01" });
  const dated = (...[request]: Parameters<typeof serve>) => {
    const answer = serve(request, clock());
    return { ...answer, headers: { ...answer.headers, date: new Date(clock()).toUTCString() } };
  };
  return startProvider(dated, clock);
}

/** A store whose writes fail while the corresponding flag is set. */
function failing(store: TestStore, isBroken: { append?: boolean; commit?: boolean }): TestStore {
  const unless = (isFailing: boolean | undefined) => {
    if (isFailing) throw new Error("no space left");
  };
  return beforeWrites(store, {
    append: () => unless(isBroken.append),
    commit: () => unless(isBroken.commit),
  });
}

const progressOf = async (store: TestStore, id: string) =>
  (await store.records.get(providerProgress, id))?.value;

/**
 * Runs the poller twice a second for a time in milliseconds.
 * @returns The number of failed steps.
 */
async function lookFor(ms: number, store: TestStore, poller: { step(): Promise<number> }) {
  let failed = 0;
  for (const until = store.clock.now + ms; store.clock.now < until; store.clock.now += 500) {
    await poller.step().catch(() => failed++);
  }
  return failed;
}

describe("a store that rejects writes during ingestion", () => {
  it.each([
    ["the archive", { append: true }],
    ["the record tables", { commit: true }],
    ["archive and record tables", { append: true, commit: true }],
  ])("pauses the provider without losing data: %s", async (_, what) => {
    const store = await openStore(embedded);
    const server = await startCoinbase(() => store.clock.now);
    const isBroken: { append?: boolean; commit?: boolean } = { ...what };
    const place = failing(store, isBroken);
    const poller = pollerOf({ provider: coinbase, options, origin: server.origin, store: place });
    expect(await lookFor(60_000, store, poller)).toBeGreaterThan(1);
    expect(server.asked.length).toBeLessThanOrEqual(6);
    if (!isBroken.commit) {
      expect(await progressOf(store, "coinbase")).toMatchObject({
        lastFault: { kind: "unkept", text: expect.stringContaining("no space left") },
      });
    }
    isBroken.append = false;
    isBroken.commit = false;
    await followProvider(poller, store.clock, store.clock.now + 120_000);
    expect(await contentOf(store, ["bars"])).toHaveLength(CONTENT);
    expect(await progressOf(store, "coinbase")).toMatchObject({ failures: 0 });
  });
});

describeEngines("a provider that two leaders poll", (engine) => {
  it("has a request count that is preserved when the leader changes", async () => {
    const store = await openStore(engine);
    const { origin } = await startCoinbase(() => store.clock.now);
    const [one, other] = [0, 1].map(() =>
      pollerOf({ provider: coinbase, options, origin, store }),
    ) as [Poller, Poller];
    const until = START + 60_000;
    await followProvider(one, store.clock, until, 2);
    await followProvider(other, store.clock, until);
    expect((await progressOf(store, "coinbase"))?.lastSuccessAt).toBe(store.clock.now);
    // The state that the first poller has in memory is old, so that it reads the store before it
    // sends a request.
    expect(await followProvider(one, store.clock, until)).toBe(0);
    expect(await contentOf(store, ["bars"])).toHaveLength(CONTENT);
  });
});

describeEngines("a provider answer with records that no store accepts", (engine) => {
  const print = (id: string): Observation => ({
    ...{ feed: "prints", symbol: "AAPL", at: START - 1_000, id },
    record: {
      ...{ id, session: "2026-11-20", availableAt: START, tradedAt: START - 1_000, price: 1 },
      ...{ sizeShares: 1, venue: "", conditions: "\u0000", bid: null, ask: null },
      ...{ canceled: false, signable: false },
    },
  });

  const told = (data: readonly Observation[]): Pick<ProviderSeries, "next"> => ({
    next: (cursor) =>
      cursor === "read"
        ? { waitUntil: START + YEAR_MS }
        : { request: { path: "/bad" }, read: () => ({ data, cursor: "read" }) },
  });

  const followed = async (data: readonly Observation[]) => {
    const { store, asked, start, series } = await asking(
      provided({ bad: told(data), good: {} }),
      {},
      engine,
    );
    expect(await lookFor(60_000, store, start())).toBe(0);
    expect(asked.filter((path) => path === "/good").length).toBeGreaterThan(50);
    expect(await progressOf(store, "made")).toMatchObject({ failures: 0 });
    return { store, series };
  };

  it("loses only the records with an invalid id or name", async () => {
    const ids = ["1/\u0000x", "2/\ud800", "3".repeat(600), "4/\u001b[31m", "5/x"];
    const { store, series } = await followed(ids.map(print));
    expect((await contentOf(store, ["prints"])).map(({ id }) => id)).toEqual(["5/x"]);
    const why = { symbol: "AAPL", reason: expect.stringContaining("its id is") };
    expect(await rejectedObservationsIn(store)).toEqual([why, why, why, why]);
    expect(await series("bad")).toMatchObject({ cursor: "read", failures: 0 });
  });

  it("causes a fault only in the series that requested it, and the fault is recorded", async () => {
    const { series } = await followed([{ ...print("1"), symbol: "A\u0000" }]);
    expect(await series("bad")).toMatchObject({
      ...{ cursor: null, failures: 2 },
      fault: expect.stringMatching(/^what came cannot be kept: /),
    });
  });
});

describe("a wrong local clock", () => {
  it("that was a year ahead leaves neither a gap in the data nor a fault after its correction", async () => {
    const store = await openStore(model);
    let aheadMs = YEAR_MS;
    const server = await startCoinbase(() => store.clock.now - aheadMs);
    const rig = { provider: coinbase, options, origin: server.origin, store };
    const poller = pollerOf(rig);
    store.clock.now = START + YEAR_MS;
    await lookFor(DAY_MS / 48, store, poller);
    expect(await contentOf(store, ["bars"])).toEqual([]);
    const { lastFault } = (await progressOf(store, "coinbase")) ?? {};
    expect(lastFault).toMatchObject({
      kind: "clock",
      text: expect.stringMatching(
        /^its clock says Sat, 21 Nov 2026 12:[\d:]+ GMT, ours Sun, 21 Nov 2027 12:/,
      ),
    });
    aheadMs = 0;
    for (const one of [poller, pollerOf(rig)]) {
      store.clock.now = START;
      await followProvider(one, store.clock, START + 300_000);
      expect(await contentOf(store, ["bars"])).toHaveLength(CONTENT);
      const progress = await progressOf(store, "coinbase");
      expect(progress).toMatchObject({ failures: 0, lastFault: { kind: "clock" } });
      expect(progress?.lastFault?.at).toBeLessThan(progress?.lastSuccessAt ?? 0);
    }
  });

  it.each([
    ["9 minutes ahead", 9 * 60_000, {}, null],
    ["11 minutes behind", -11 * 60_000, {}, "clock"],
    ["ahead by the age of a cached answer", DAY_MS, { age: "86400" }, null],
    ["compared with an unreadable Date field", DAY_MS, { date: "soon" }, null],
  ])("is reported as a fault only beyond the tolerance: %s", async (_, aheadMs, headers, kind) => {
    const store = await openStore(model);
    const date = new Date(START - aheadMs).toUTCString();
    const dated = () => ({ status: 200, headers: { date, ...headers }, body: "[]" });
    const { origin } = await startProvider(dated, () => START);
    await pollerOf({ provider: coinbase, options, origin, store }).step();
    expect((await progressOf(store, "coinbase"))?.lastFault?.kind ?? null).toBe(kind);
  });

  it("that was ahead when a pause was saved does not extend the pause", async () => {
    const store = await openStore(model);
    const server = await startCoinbase(() => store.clock.now);
    const later = START + YEAR_MS;
    const noted = { sentAt: [later, later], openUntil: later, newestAt: later, failures: 3 };
    await store.records.commit([
      put(providerProgress, { key: "coinbase", value: { ...NEW_PROVIDER_PROGRESS, ...noted } }),
      put(seriesProgress, {
        key: seriesKey("coinbase", "BTC-USD"),
        value: { ...NEW_SERIES_PROGRESS, notBefore: later },
        groups: ["ingest coinbase"],
      }),
    ]);
    const poller = pollerOf({ provider: coinbase, options, origin: server.origin, store });
    await followProvider(poller, store.clock, START + 60_000);
    expect(await contentOf(store, ["bars"])).toHaveLength(CONTENT);
    const { newestAt, sentAt = [] } = (await progressOf(store, "coinbase")) ?? {};
    expect(Math.max(newestAt ?? 0, ...sentAt)).toBeLessThanOrEqual(store.clock.now);
  });
});

/** A provider with the given series, each with its own overridden behavior. */
function provided(
  all: Readonly<Record<string, Partial<Pick<ProviderSeries, "next">> & { read?: () => never }>>,
  perMs = 1_000,
): PolledProvider {
  const series = Object.entries(all).map(
    ([key, { next, read }]): ProviderSeries => ({
      key,
      next:
        next ??
        (() => ({
          request: { path: `/${key}` },
          read: read ?? (({ receivedAt }) => ({ data: [], cursor: "", notBefore: receivedAt + 1 })),
        })),
    }),
  );
  return { ...coinbase, id: "made", budget: { requests: 2, perMs }, series: () => series };
}

async function asking(
  provider: PolledProvider,
  {
    ask,
    cache,
    mirror,
  }: { ask?: SendProviderRequest; cache?: ResponseCache; mirror?: string } = {},
  engine = model,
) {
  const store = await openStore(engine);
  const asked: string[] = [];
  const { records, archive, clock } = store;
  const now = () => clock.now;
  const start = (origin = mirror) =>
    createPoller({
      ...{ provider, series: provider.series(options), records, archive, now, cache },
      mirror: origin,
      random: () => 0.5,
      ask: async (request) => {
        asked.push(request.path);
        if (ask) return ask(request);
        const body = Buffer.from("[]");
        return { status: 200, header: () => undefined, body, receivedAt: now() };
      },
    });
  const series = async (key: string) =>
    (await records.get(seriesProgress, seriesKey("made", key)))?.value;
  return { store, asked, start, series };
}

const breaks = (): never => {
  throw new RangeError("Invalid time value");
};

describe("a series for which the provider's adapter throws", () => {
  it.each([
    ["when it reads the answer", { read: breaks }, "its answer cannot be read"],
    ["when it builds the next request", { next: breaks }, "its next question cannot be read"],
  ])(
    "is retried with growing delays while other series continue, if the adapter throws %s",
    async (_, bad, said) => {
      const { store, asked, start, series } = await asking(provided({ bad, good: {} }));
      expect(await lookFor(60_000, store, start())).toBe(0);
      expect(asked.filter((path) => path === "/bad").length).toBeLessThanOrEqual(2);
      expect(asked.filter((path) => path === "/good").length).toBeGreaterThan(50);
      expect((await series("bad"))?.failures).toBeGreaterThan(0);
      expect((await series("bad"))?.fault).toBe(`${said}: "RangeError: Invalid time value"`);
      expect(await series("good")).toMatchObject({ failures: 0, fault: null });
    },
  );

  it("passes its failure count to the adapter, so that the adapter can restart the pagination", async () => {
    const known: unknown[] = [];
    const next: ProviderSeries["next"] = (_cursor, _now, failures) => {
      known.push(failures);
      return { request: { path: "/" }, read: breaks };
    };
    const { store, start } = await asking(provided({ bad: { next } }));
    await followProvider(start(), store.clock, START + DAY_MS, 6);
    expect(known).toEqual([0, 1, 2, 3, 4, 5]);
  });
});

it("symbols that a provider does not know are recorded as missing until data exist", async () => {
  let unknown: readonly string[] = ["AAA"];
  const next: ProviderSeries["next"] = () => ({
    request: { path: "/" },
    read: () => ({ data: [], cursor: "", unknown }),
  });
  const { store, start, series } = await asking(provided({ one: { next } }));
  const poller = start();
  await poller.step();
  expect((await series("one"))?.unknown).toEqual(["AAA"]);
  unknown = [];
  store.clock.now += 1_000;
  await poller.step();
  expect((await series("one"))?.unknown).toEqual([]);
});

it("a request counts against the hourly budget even if the process is killed before the answer is stored", async () => {
  const killed = () => Promise.reject(new Error("killed"));
  const { store, asked, start } = await asking(provided({ one: {} }, 3_600_000), { ask: killed });
  const isBroken = { commit: true };
  for (let life = 0; life < 5; life++) {
    store.clock.now += 60_000;
    await start()
      .step()
      .catch(() => undefined);
  }
  expect(asked).toHaveLength(2);
  expect((await progressOf(store, "made"))?.sentAt).toHaveLength(2);
  const { archive, clock } = store;
  const { records } = failing(store, isBroken);
  clock.now += 3_600_000;
  const provider = provided({ one: {} }, 3_600_000);
  const poller = createPoller({
    ...{ provider, series: provider.series(options), records, archive, random: () => 0.5 },
    now: () => clock.now,
    ask: () => Promise.reject(new Error("asked though it could not be noted")),
  });
  await expect(poller.step()).rejects.toThrow("no space left");
});

describe("a cached answer", () => {
  const kept = (read: (body: string) => void): Pick<ProviderSeries, "next"> => ({
    next: (cursor) =>
      cursor === "read"
        ? { waitUntil: START + YEAR_MS }
        : {
            request: { path: "/kept", keepMs: YEAR_MS },
            read({ body }) {
              read(body.toString());
              return { data: [], cursor: "read" };
            },
          },
  });

  it("is requested again when it can no longer be parsed", async () => {
    const cache = await openResponseCache(temporaryFolder());
    const first = await asking(provided({ one: kept(() => undefined) }), { cache });
    await first.start().step();
    let isNew = false;
    const picky = provided({ one: kept(() => isNew || breaks()) });
    const again = await asking(picky, { cache });
    const poller = again.start();
    await poller.step();
    expect([first.asked, again.asked]).toEqual([["/kept"], []]);
    isNew = true;
    await followProvider(poller, again.store.clock, START + DAY_MS);
    expect(again.asked).toEqual(["/kept"]);
    expect(await again.series("one")).toMatchObject({ cursor: "read", failures: 0 });
  });

  it("is not used for another pagination position", async () => {
    const cache = await openResponseCache(temporaryFolder());
    for (const mirror of ["http://one.example", "http://two.example", undefined]) {
      const around = mirror === undefined ? { cache } : { cache, mirror };
      const { asked, start } = await asking(provided({ one: kept(() => undefined) }), around);
      await start().step();
      expect(asked).toEqual(["/kept"]);
    }
  });
});
