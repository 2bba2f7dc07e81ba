import { describe, expect, it } from "vitest";
import { allScopes } from "../../../../src/access/scopes.ts";
import { alertGroup, alerts, type InstrumentSelector } from "../../../../src/alerts/alert.ts";
import { watchlists } from "../../../../src/alerts/watchlists/watchlist.ts";
import { DAY_MS } from "../../../../src/lib/day.ts";
import { put, remove, removeGroup } from "../../../../src/store/port/operations.ts";
import { readAll } from "../../../../src/store/port/read-all.ts";
import { collection, type Records } from "../../../../src/store/port/records.ts";
import { looseLimits } from "../../../support/alert-service.ts";
import { eachCaller } from "../../../support/limits.ts";
import {
  type AlertOverrides,
  alertSteps,
  barsOf,
  createScriptedMarket,
  leaderOf,
  OWNER,
  queuedIn,
  recordedEventsIn,
  type ScriptedMarket,
  type SnapshotOverrides,
  snapshotOf,
  steadinessOf,
  summaryOf,
  symbolSelector,
  webhook,
} from "../../../support/scripted-market.ts";
import { model, openStore, START, type TestStore } from "../../../support/stores.ts";
import { madeBars } from "../../risk/bars.ts";

const watchStates = collection<{ readonly at: number }>("watch-states");

/** Opens a store with one alert and a leader that has evaluated the first session. */
async function begun(
  wanted: AlertOverrides = {},
  stage = createScriptedMarket(),
  first: SnapshotOverrides = {},
) {
  const store = await openStore(model);
  await store.records.commit(alertSteps("a1", wanted));
  stage.close(1, { A: first });
  const leader = leaderOf(store, stage);
  await leader.run();
  return { store, stage, leader };
}

/**
 * Closes one session per day from day `from` on, and lets the leader evaluate each before the next.
 */
async function play(
  {
    stage,
    leader,
  }: { readonly stage: ScriptedMarket; readonly leader: { run(): Promise<number> } },
  said: readonly SnapshotOverrides[],
  from = 2,
) {
  for (const [index, one] of said.entries()) {
    stage.close(from + index, { A: one });
    await leader.run();
  }
}

const statesIn = async ({ records }: TestStore) =>
  (await readAll(records, watchStates)).map(({ key }) => key);

const LONG: SnapshotOverrides = { direction: "LONG" };

describe("expected company reports", () => {
  const fundamentals = [30, 31, 32, 45, 33].map((lag, index) => {
    const end = 91 * (index + 1);
    const availableAt = (end + lag) * DAY_MS;
    return { metric: "netIncome", value: 1, periodEnd: end * DAY_MS, availableAt } as const;
  });

  it("cause one event at the configured number of sessions before the expected date, one on filing, and one when the report is late", async () => {
    const store = await openStore(model);
    await store.records.commit([
      ...alertSteps("a1", { kinds: ["report"] }),
      ...alertSteps("a2", { kinds: ["report"], thresholds: { reportSessions: 2 } }),
    ]);
    const stage = createScriptedMarket({ A: [], C: [] }, fundamentals);
    const leader = leaderOf(store, stage);
    for (const day of [478, 479, 480, 481, 483, 488, 489, 601, 602]) {
      stage.close(day, { A: {}, C: { assetClass: "crypto" } });
      await leader.run();
    }
    const told = (await recordedEventsIn(store)).map(({ alertId, payload: { type, data } }) => {
      const { reason } = data;
      return `${alertId} ${data.symbol}@${Date.parse(data.asOf) / DAY_MS} ${type} ${reason}`;
    });
    expect(told).toEqual([
      "a1 A@480 report.alert report_ahead",
      "a2 A@483 report.alert report_ahead",
      "a1 A@488 report.alert report_filed",
      "a2 A@488 report.alert report_filed",
      "a1 A@602 report.alert report_late",
      "a2 A@602 report.alert report_late",
    ]);
  });
});

describe("the expected range of a price", () => {
  /**
   * Bars of days 0 to 329 with low volatility, except for log returns of -0.7 (about a halving) on
   * days 303 and 313.
   */
  const bars = madeBars(330, 1, 1).map((bar, day) =>
    day === 303 || day === 313 ? { ...bar, logReturn: -0.7 } : bar,
  );
  const all = { A: {}, F: { assetClass: "etf" }, Y: {} } as const;

  /**
   * Evaluates range alerts on a stock, a fund, and a stock whose history is too short. `leaders`
   * selects the days on which a new leader starts.
   */
  async function watched(leaders: (day: number) => boolean) {
    const store = await openStore(model);
    await store.records.commit([
      ...alertSteps("a1", { kinds: ["range"] }),
      ...alertSteps("a2", { kinds: ["range"], thresholds: { cooldownDays: 30 } }),
    ]);
    const stage = createScriptedMarket({ A: bars, F: bars, Y: bars.slice(100, 330) });
    let leader = leaderOf(store, stage);
    for (let day = 299; day < 330; day++) {
      if (leaders(day)) leader = leaderOf(store, stage);
      stage.close(day, all);
      await leader.run();
    }
    return (await recordedEventsIn(store)).map(({ alertId, payload: { type, data } }) => {
      const { reason, sequence } = data;
      const day = Date.parse(data.asOf) / DAY_MS;
      return `${alertId} ${data.symbol}@${day} ${type} ${reason} ${sequence}`;
    });
  }

  const TOLD = [
    "a1 A@303 range.alert below 1",
    "a2 A@303 range.alert below 1",
    "a1 A@313 range.alert below 2",
    "a2 A@313 range.alert below 2",
  ];

  it("causes an event whenever a close falls outside the range, without a cooldown", async () => {
    expect(await watched(() => false)).toEqual(TOLD);
  });

  it("continues across restarts and changes of the leader", async () => {
    expect(await watched(() => true)).toEqual(TOLD);
    expect(await watched((day) => day % 3 === 0)).toEqual(TOLD);
  });

  it("is stored once for all range alerts, and deleted with the last range alert", async () => {
    const store = await openStore(model);
    await store.records.commit(alertSteps("a1", { kinds: ["range"] }));
    const stage = createScriptedMarket({ A: bars });
    const leader = leaderOf(store, stage);
    for (const day of [300, 301]) {
      stage.close(day, { A: {} });
      await leader.run();
    }
    expect(await statesIn(store)).toEqual(["range A"]);
    await store.records.commit([remove(alerts, "a1"), removeGroup(alertGroup("a1"))]);
    stage.close(302, { A: {} });
    await leader.run();
    expect(await statesIn(store)).toEqual([]);
  });

  it("causes no event for scores restored by a warm start", async () => {
    const store = await openStore(model);
    await store.records.commit(alertSteps("a1", { kinds: ["range"] }));
    const stage = createScriptedMarket({ A: bars });
    stage.close(302, { A: {} });
    await leaderOf(store, stage).run();
    stage.snapshots.showLast([snapshotOf("A", 303 * DAY_MS)]);
    stage.know(303);
    await leaderOf(store, stage).run();
    expect(await recordedEventsIn(store)).toEqual([]);
    stage.close(303, { A: {} });
    stage.know(304);
    await leaderOf(store, stage).run();
    expect(await recordedEventsIn(store)).toHaveLength(1);
  });
});

describe("the steadiness of a stock", () => {
  /** Closes a day on which stock A has a steadiness; `null`: it was not ranked. */
  const closed = (stage: ScriptedMarket, day: number, value: number | null) =>
    stage.close(day, {
      A: value === null ? {} : { steadiness: steadinessOf(value, day * DAY_MS) },
    });

  /** The events of an alert at the default level of 20 while steadiness goes through `values`. */
  async function told(values: readonly (number | null)[], isLeaderNew: boolean) {
    const store = await openStore(model);
    await store.records.commit([
      ...alertSteps("a1", { kinds: ["steadiness"] }),
      ...alertSteps("a2", { kinds: ["steadiness"], thresholds: { steadinessLevel: 50 } }),
    ]);
    const stage = createScriptedMarket();
    let leader = leaderOf(store, stage);
    for (const [index, value] of values.entries()) {
      if (isLeaderNew) leader = leaderOf(store, stage);
      closed(stage, index + 1, value);
      await leader.run();
    }
    return (await recordedEventsIn(store)).map(({ alertId, payload: { type, data } }) => {
      const { steadiness, level } = data as { steadiness: number; level: number };
      const day = Date.parse(data.asOf) / DAY_MS;
      return `${alertId} @${day} ${type} ${data.reason} ${level}: ${steadiness}, ${data.sequence}`;
    });
  }

  it.each([false, true])(
    "causes an event when it crosses the level, and again once it has been 5 points away (new leaders: %j)",
    async (isLeaderNew) => {
      // On day 5 it is back above 20, but was never 5 points away; a day without a rank changes nothing.
      const values = [60, 19.4, 18, 19.6, 20, null, 19, 14.6, 21, 17, 25, 16];
      expect(await told(values, isLeaderNew)).toEqual([
        "a1 @2 steadiness.alert below 20: 19, 1",
        "a2 @2 steadiness.alert below 50: 19, 1",
        "a1 @9 steadiness.alert above 20: 21, 2",
        "a1 @12 steadiness.alert below 20: 16, 3",
      ]);
    },
  );

  it("causes no event for what is so when watching begins", async () => {
    expect(await told([10, 12, null, 9], false)).toEqual([]);
  });
});

describe("events of an account", () => {
  it("have a daily limit that does not affect other accounts", async () => {
    const store = await openStore(model);
    const owner = { kind: "agent", id: "client-1", accountId: "acc_1" } as const;
    await store.records.commit([
      ...alertSteps("a1", { owner }),
      ...alertSteps("a2", { owner: { ...owner, kind: "service", id: "key-1" } }),
      ...alertSteps("b1", { owner: { ...owner, id: "client-2", accountId: "acc_2" } }),
    ]);
    const stage = createScriptedMarket();
    const limits = looseLimits({ events: eachCaller(3) });
    const leader = leaderOf(store, stage, { limits });
    stage.close(1, { A: {} });
    await leader.run();
    await play({ stage, leader }, [LONG, {}, LONG]);
    const told = (await recordedEventsIn(store)).map(({ alertId }) => alertId);
    const of = (id: string) => told.filter((alertId) => alertId === id).length;
    expect([of("a1") + of("a2"), of("b1")]).toEqual([3, 3]);
  });
});

describe("the evaluation of a session", () => {
  it("fires on a change since the previous session, but never on an instrument's first session", async () => {
    const testService = await begun({}, createScriptedMarket(), LONG);
    expect(await summaryOf(testService.store)).toEqual([]);
    await play(testService, [LONG, {}, {}]);
    expect(await summaryOf(testService.store)).toEqual(["A@3 direction"]);
    testService.stage.close(5, { A: {}, NEW: LONG });
    await testService.leader.run();
    expect(await summaryOf(testService.store)).toEqual(["A@3 direction"]);
  });

  it("fires a new alert on a change since the previous close", async () => {
    const store = await openStore(model);
    const stage = createScriptedMarket();
    const leader = leaderOf(store, stage);
    stage.close(1, { A: LONG });
    await leader.run();
    stage.close(2, { A: {} });
    await leader.run();
    await store.records.commit(alertSteps("a1"));
    stage.close(3, { A: LONG });
    await leader.run();
    expect(await summaryOf(store)).toEqual(["A@3 direction"]);
  });

  it("fires when small moves over several sessions add up to the threshold", async () => {
    const testService = await begun();
    await play(
      testService,
      [54, 58, 62, 66, 70].map((score) => ({ score })),
    );
    expect(await summaryOf(testService.store)).toEqual(["A@5 score"]);
  });

  it("fires once for a score that moves back and forth, until the condition rearms", async () => {
    const testService = await begun();
    await play(
      testService,
      [66, 82, 49, 66, 82, 66].map((score) => ({ score })),
    );
    expect(await summaryOf(testService.store)).toEqual(["A@2 score", "A@6 score"]);
  });

  it("does not fire during the cooldown, and fires afterwards if the change persists", async () => {
    const testService = await begun({ thresholds: { cooldownDays: 3 } });
    await play(testService, [LONG, {}, LONG, {}, {}]);
    expect(await summaryOf(testService.store)).toEqual(["A@2 direction", "A@5 direction"]);
  });

  it("proceeds in the order of closes when the leader catches up on several sessions", async () => {
    const testService = await begun();
    await play(testService, [{}]);
    testService.stage.close(3, { A: LONG, B: {} });
    testService.stage.close(4, { A: {}, B: LONG });
    testService.stage.close(5, { A: LONG, B: {} });
    await leaderOf(testService.store, testService.stage).run();
    expect(await summaryOf(testService.store)).toEqual([
      ...["A@3 direction", "A@4 direction", "B@4 direction"],
      ...["A@5 direction", "B@5 direction"],
    ]);
    const told = await recordedEventsIn(testService.store);
    expect(told.map(({ payload }) => payload.data.sequence)).toEqual([1, 2, 1, 3, 2]);
  });

  it("is skipped when the factors of the session are no longer stored", async () => {
    const testService = await begun();
    for (let day = 2; day <= 50; day++)
      testService.stage.close(day, { A: day % 2 === 0 ? LONG : {} });
    await leaderOf(testService.store, testService.stage).run();
    const told = await summaryOf(testService.store);
    expect(told).toHaveLength(29);
    expect(told.at(0)).toBe("A@22 direction");
    expect(told.at(-1)).toBe("A@50 direction");
  });

  it("does not access the store while market time stands still", async () => {
    const store = await openStore(model);
    await store.records.commit(alertSteps("a1"));
    const stage = createScriptedMarket();
    stage.close(1, { A: {} });
    stage.close(2, { A: LONG });
    let asked = 0;
    const counting: Records = {
      ...store.records,
      get: (...of) => {
        asked++;
        return store.records.get(...of);
      },
      list: (...of) => {
        asked++;
        return store.records.list(...of);
      },
      commit: (...of) => {
        asked++;
        return store.records.commit(...of);
      },
    };
    const leader = leaderOf(store, stage, { records: counting });
    expect(await leader.run()).toBe(0);
    const atStart = asked;
    for (let look = 0; look < 10; look++) expect(await leader.step()).toBe(0);
    expect(asked).toBe(atStart);
    expect(await summaryOf(store)).toEqual([]);
    expect(await statesIn(store)).toEqual([]);
  });

  it("commits alerts in batches of 100", async () => {
    const store = await openStore(model);
    await store.records.commit(alertSteps("a1"));
    const stage = createScriptedMarket();
    const symbols = Array.from({ length: 450 }, (_, index) => `S${index}`);
    const all = (said: SnapshotOverrides) =>
      Object.fromEntries(symbols.map((symbol) => [symbol, said]));
    stage.close(1, all({}));
    const leader = leaderOf(store, stage);
    await leader.run();
    stage.close(2, all(LONG));
    expect(await leader.run()).toBe(10);
    expect(await recordedEventsIn(store)).toHaveLength(450);
    stage.close(3, all(LONG));
    expect(await leader.run()).toBe(10);
    expect(await recordedEventsIn(store)).toHaveLength(450);
  });
});

describe("a volatility condition", () => {
  const calm = Array.from({ length: 300 }, (_, day) => 0.01 + 0.001 * Math.sin(day));

  async function played(
    ranges: readonly number[],
    wanted: AlertOverrides,
    said: SnapshotOverrides = {},
  ) {
    const stage = createScriptedMarket({ A: barsOf([...calm, ...ranges]) });
    const store = await openStore(model);
    await store.records.commit(alertSteps("a1", { kinds: ["volatility"], ...wanted }));
    stage.close(300, { A: {} });
    const leader = leaderOf(store, stage);
    await leader.run();
    for (const [index] of ranges.entries()) {
      stage.close(301 + index, { A: said });
      await leader.run();
    }
    return store;
  }

  it("fires once when volatility becomes unusual, and not again until volatility has been calm", async () => {
    const store = await played([0.03, 0.05, 0.01, 0.01, 0.01, ...calm.slice(0, 40), 0.05], {});
    expect(await summaryOf(store)).toEqual(["A@301 extreme", "A@346 extreme"]);
    const [event] = await recordedEventsIn(store);
    expect(event?.payload).toMatchObject({
      type: "volatility.alert",
      data: { severity: "extreme", sequence: 1, signal: "WAIT", score: 50, logReturn: 0 },
    });
  });

  it("uses the volatility threshold of each alert", async () => {
    const mild = [0.013];
    const [at15, at4] = [{ volatilityZ: 1.5 }, { volatilityZ: 4 }];
    expect(await summaryOf(await played(mild, { thresholds: at15 }))).toEqual(["A@301 high"]);
    expect(await summaryOf(await played(mild, { thresholds: at4 }))).toEqual([]);
  });

  it("is not evaluated while there is no trading", async () => {
    expect(await summaryOf(await played([0.05], {}, { status: "stale" }))).toEqual([]);
  });

  it.each<Partial<InstrumentSelector>>([
    { by: "filter", signal: "LONG" },
    { by: "symbols", symbols: ["A"], signal: "LONG" },
  ])("respects the signal of the alert at the time of the event: %o", async (watched) => {
    expect(await summaryOf(await played([0.05], { watched }))).toEqual([]);
    expect(await summaryOf(await played([0.05], { watched }, LONG))).toEqual(["A@301 extreme"]);
  });

  it("shares one sequence of event numbers with the signal shifts of the same alert", async () => {
    const kinds = ["signal_shift", "volatility"] as const;
    const store = await played([0.05], { kinds }, LONG);
    const told = await recordedEventsIn(store);
    expect(told.map(({ type }) => type).sort()).toEqual(["signal.shift", "volatility.alert"]);
    expect(told.map(({ payload }) => payload.data.sequence)).toEqual([1, 2]);
  });
});

describe("the recipients of an event", () => {
  it("are the alerts that cover the instrument, each at its own thresholds", async () => {
    const store = await openStore(model);
    const of = (scoreMove: number): AlertOverrides => ({ thresholds: { scoreMove } });
    await store.records.commit([
      ...alertSteps("at5", of(5)),
      ...alertSteps("at15", of(15)),
      ...alertSteps("at50", of(50)),
      ...alertSteps("onlyB", { watched: symbolSelector("B") }),
      ...alertSteps("coins", { watched: { by: "filter", assetClass: "crypto" } }),
      ...alertSteps("longs", { watched: { by: "filter", signal: "LONG" } }),
      ...alertSteps("volatile", { kinds: ["volatility"] }),
      put(watchlists, { key: "list", value: { owner: OWNER, name: "mine", symbols: ["B", "C"] } }),
      ...alertSteps("listed", { watched: { by: "watchlist", key: "list", name: "mine" } }),
      ...alertSteps("listedLong", {
        watched: { by: "watchlist", key: "list", name: "mine", signal: "LONG" },
      }),
    ]);
    const stage = createScriptedMarket();
    const leader = leaderOf(store, stage);
    stage.close(1, { A: {}, B: {}, C: { assetClass: "crypto" } });
    await leader.run();
    stage.close(2, { A: { score: 60 }, B: { score: 65 }, C: { assetClass: "crypto", ...LONG } });
    await leader.run();
    const told = await recordedEventsIn(store);
    const heard = told.map(({ alertId, payload }) => `${alertId} ${payload.data.symbol}`);
    expect(heard.sort()).toEqual([
      ...["at15 B", "at15 C", "at5 A", "at5 B", "at5 C", "at50 C"],
      ...["coins C", "listed B", "listed C", "listedLong C", "longs C", "onlyB B"],
    ]);
  });

  it("exclude paused, snoozed, expired and unentitled alerts, and alerts whose webhook is disabled", async () => {
    const store = await openStore(model);
    const gone = { kind: "agent", id: "gone", accountId: undefined } as const;
    await store.records.commit([
      ...alertSteps("active"),
      ...alertSteps("pending", { way: webhook({ is: "pending", since: 0, challenge: "c" }) }),
      ...alertSteps("polled", { way: { by: "poll" } }),
      ...alertSteps("paused", { isPaused: true }),
      ...alertSteps("snoozed", { snoozedUntil: START + 1 }),
      ...alertSteps("awake", { snoozedUntil: START }),
      ...alertSteps("disabled", {
        way: webhook({ is: "disabled", since: 0, reason: "failing" }),
      }),
      ...alertSteps("expired", { expiresAt: START }),
      ...alertSteps("stranger", { owner: gone }),
    ]);
    const stage = createScriptedMarket();
    const scopesOf = async ({ id }: { readonly id: string }) =>
      new Set(id === "gone" ? [] : allScopes);
    const leader = leaderOf(store, stage, { scopesOf });
    stage.close(1, { A: {} });
    await leader.run();
    stage.close(2, { A: LONG });
    await leader.run();
    const told = (await recordedEventsIn(store)).map(({ alertId }) => alertId);
    expect(told.sort()).toEqual(["active", "awake", "disabled", "pending", "polled"]);
    const queued = (await queuedIn(store)).map(({ value }) => value.alertId);
    expect(queued.sort()).toEqual(["active", "awake", "pending"]);
  });

  it("never receive the events that they missed while paused", async () => {
    const testService = await begun({ isPaused: true });
    await play(testService, [LONG]);
    await testService.store.records.commit(alertSteps("a1"));
    await play(testService, [LONG, {}], 3);
    expect(await summaryOf(testService.store)).toEqual(["A@4 direction"]);
  });

  it.each<readonly [string, AlertOverrides]>([
    ["paused", { isPaused: true }],
    ["changed to watch another instrument", { watched: symbolSelector("B") }],
    ["changed to other thresholds", { thresholds: { scoreMove: 20 } }],
    ["changed to another event kind", { kinds: ["volatility"] }],
  ])("exclude an alert that was %s after the evaluation began", async (_, wanted) => {
    const { store, stage } = await begun();
    stage.close(2, { A: LONG });
    const changed: Records = {
      ...store.records,
      async get(from, key) {
        if (from.name === alerts.name) await store.records.commit(alertSteps("a1", wanted));
        return store.records.get(from, key);
      },
    };
    await leaderOf(store, stage, { records: changed }).run();
    expect(await summaryOf(store)).toEqual([]);
  });
});

describe("an alert event", () => {
  it("is stored as one row and one delivery with the same body, and is deleted with its alert", async () => {
    const testService = await begun();
    await play(testService, [{ score: 70, direction: "LONG" }]);
    const [event] = await recordedEventsIn(testService.store);
    const [delivery] = await queuedIn(testService.store);
    expect(delivery?.key).toBe(event?.id);
    expect(delivery?.value.body).toBe(event?.body);
    expect(delivery?.value.type).toBe("signal.shift");
    expect(event?.subject).toBe("alerts:agent:client-1");
    expect(event?.payload).toMatchObject({
      type: "signal.shift",
      timestamp: new Date(START).toISOString(),
      data: {
        ...{ alertId: "a1", eventId: event?.id, sequence: 1, symbol: "A", market: "replay" },
        ...{ reason: "direction", signal: "LONG", previousSignal: "WAIT" },
        ...{ score: 70, previousScore: 50 },
        before: { asOf: new Date(DAY_MS).toISOString(), contributions: { momentum: 0 } },
        after: { asOf: new Date(2 * DAY_MS).toISOString(), contributions: { momentum: 20 } },
      },
    });
    await testService.store.records.commit([removeGroup(alertGroup("a1"))]);
    const left = [collection("alert-sequences"), collection("deliveries"), alerts];
    for (const each of left) expect(await readAll(testService.store.records, each)).toEqual([]);
  });

  it("has a later timestamp than the previous event, even after a clock change or a change of the leader", async () => {
    const testService = await begun();
    await play(testService, [LONG, {}]);
    testService.store.clock.now -= 3_600_000;
    await play(testService, [LONG], 4);
    const other = leaderOf(testService.store, testService.stage);
    await play({ stage: testService.stage, leader: other }, [{}], 5);
    testService.store.clock.now += 7_200_000;
    await play({ stage: testService.stage, leader: other }, [LONG], 6);
    const told = await recordedEventsIn(testService.store);
    const times = told.map(({ at }) => at - START);
    expect(times).toEqual([0, 1, 2, 3, 3_600_000]);
    const timestamps = told.map(({ payload }) => Date.parse(payload.timestamp) - START);
    expect(timestamps).toEqual([0, 0, -3_600_000, -3_600_000, 3_600_000]);
  });
});

describe("the state of a condition", () => {
  it("is deleted with the last alert that needs it", async () => {
    const testService = await begun();
    await play(testService, [{ score: 60 }]);
    expect(await statesIn(testService.store)).toEqual(["signal_shift:15:method A"]);
    await testService.store.records.commit([remove(alerts, "a1")]);
    await play(testService, [{ score: 62 }], 3);
    expect(await statesIn(testService.store)).toEqual([]);
    await testService.store.records.commit(alertSteps("a2"));
    await play(testService, [{ score: 66 }], 4);
    expect(await summaryOf(testService.store)).toEqual([]);
    await play(testService, [{ score: 77 }], 5);
    expect(await summaryOf(testService.store)).toEqual(["A@5 score"]);
  });

  it("is deleted for instruments that are no longer covered by any alert", async () => {
    const testService = await begun({ watched: symbolSelector("A", "B") });
    testService.stage.close(2, { A: {}, B: {} });
    await testService.leader.run();
    expect(await statesIn(testService.store)).toHaveLength(2);
    await testService.store.records.commit(alertSteps("a1", { watched: symbolSelector("B") }));
    testService.stage.close(3, { A: {}, B: {} });
    await testService.leader.run();
    expect(await statesIn(testService.store)).toEqual(["signal_shift:15:method B"]);
  });

  it("supports symbols with spaces", async () => {
    const store = await openStore(model);
    await store.records.commit(alertSteps("a1", { watched: symbolSelector("A B") }));
    const stage = createScriptedMarket();
    const leader = leaderOf(store, stage);
    for (const [day, said] of [{}, {}, LONG].entries()) {
      stage.close(day + 1, { "A B": said });
      await leader.run();
    }
    expect(await summaryOf(store)).toEqual(["A B@3 direction"]);
    expect(await statesIn(store)).toEqual(["signal_shift:15:method A B"]);
  });

  it("is deleted when a replay starts over, after which every event fires again", async () => {
    const first = await begun();
    await play(first, [LONG, {}, {}, {}]);
    const again = createScriptedMarket();
    again.close(1, { A: LONG });
    const leader = leaderOf(first.store, again);
    await leader.run();
    expect(await statesIn(first.store)).toEqual([]);
    await play({ stage: again, leader }, [LONG, {}]);
    expect(await summaryOf(first.store)).toEqual([
      "A@2 direction",
      "A@3 direction",
      "A@3 direction",
    ]);
    const told = await recordedEventsIn(first.store);
    expect(told.map(({ payload }) => payload.data.sequence)).toEqual([1, 2, 3]);
    expect(new Set(told.map(({ id }) => id)).size).toBe(3);
  });

  it("is kept when a new leader's market time is a day behind", async () => {
    const testService = await begun();
    await play(testService, [LONG, {}]);
    const behind = createScriptedMarket();
    behind.close(1, { A: {} });
    behind.close(2, { A: LONG });
    const leader = leaderOf(testService.store, behind);
    expect(await leader.run()).toBe(0);
    await play({ stage: behind, leader }, [{}, LONG], 3);
    expect(await summaryOf(testService.store)).toEqual(
      [2, 3, 4].map((day) => `A@${day} direction`),
    );
  });

  it("is deleted when the method version changes", async () => {
    const testService = await begun();
    await play(testService, [{ score: 60 }]);
    const progress = collection<Record<string, unknown>>("alert-progress");
    const [stored] = await readAll(testService.store.records, progress);
    const value = { ...stored?.value, methodVersion: "0.9.0" };
    await testService.store.records.commit([put(progress, { key: stored?.key ?? "", value })]);
    const leader = leaderOf(testService.store, testService.stage);
    await play({ stage: testService.stage, leader }, [{ score: 70 }, { score: 76 }], 3);
    expect((await recordedEventsIn(testService.store)).map(({ type }) => type)).toEqual([
      "method.changed",
      "signal.shift",
    ]);
    expect((await summaryOf(testService.store)).slice(1)).toEqual(["A@4 score"]);
  });
});

describe("the sequence numbers of an alert", () => {
  it("have no gaps for any instrument", async () => {
    const store = await openStore(model);
    const owner = { ...OWNER, id: "client-2" };
    await store.records.commit([
      ...alertSteps("a1"),
      ...alertSteps("a2", { owner, way: { by: "poll" }, thresholds: { scoreMove: 20 } }),
    ]);
    const stage = createScriptedMarket();
    const leader = leaderOf(store, stage);
    for (let day = 1; day <= 12; day++) {
      stage.close(day, { A: day % 2 === 0 ? LONG : {}, B: day % 3 === 0 ? LONG : {} });
      await leader.run();
    }
    const told = await recordedEventsIn(store);
    const series = Map.groupBy(told, ({ alertId, payload }) => `${alertId} ${payload.data.symbol}`);
    expect([...series.keys()].sort()).toEqual(["a1 A", "a1 B", "a2 A", "a2 B"]);
    for (const events of series.values()) {
      const numbers = events.map(({ payload }) => payload.data.sequence);
      expect(numbers.length).toBeGreaterThan(6);
      expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    }
  });

  it("count an instrument once even if the alert lists it twice", async () => {
    const testService = await begun({
      watched: symbolSelector("A", "A"),
      kinds: ["signal_shift", "signal_shift"],
    });
    await play(testService, [LONG]);
    expect(await summaryOf(testService.store)).toEqual(["A@2 direction"]);
  });
});
