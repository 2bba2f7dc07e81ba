import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { allScopes } from "../../src/access/scopes.ts";
import { type AlertThresholds, alertGroup, alerts } from "../../src/alerts/alert.ts";
import { deliveries, EVENT_ARCHIVE_KIND } from "../../src/alerts/delivery/delivery.ts";
import {
  alertConditionOf,
  type ConditionState,
  evaluateCondition,
} from "../../src/alerts/rules/condition.ts";
import { progressRecords } from "../../src/alerts/rules/evaluation-state.ts";
import { createVolatilityTracker } from "../../src/factors/volatility.ts";
import { DAY_MS } from "../../src/lib/day.ts";
import { countKnownRecords } from "../../src/market/point-in-time.ts";
import type { Bar, RecordList } from "../../src/market/records.ts";
import { runningMethod } from "../../src/method/running.ts";
import { ScoringEngine } from "../../src/score/scoring-engine.ts";
import type { Snapshot } from "../../src/score/snapshot.ts";
import { createSnapshotArchive } from "../../src/score/snapshot-archive.ts";
import { createSandbox } from "../../src/sources/sandbox/sandbox.ts";
import { removeGroup, replace } from "../../src/store/port/operations.ts";
import { readAll } from "../../src/store/port/read-all.ts";
import { collection, type Records } from "../../src/store/port/records.ts";
import {
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
  summaryOf,
  symbolSelector,
} from "../support/scripted-market.ts";
import {
  describeEngines,
  type Engine,
  embedded,
  model,
  openStore,
  START,
  slowRecords,
  type TestStore,
} from "../support/stores.ts";

const LONG: SnapshotOverrides = { direction: "LONG" };

/** 310 daily bars, of which the 302nd has an extreme range. */
const BARS = barsOf(
  Array.from({ length: 310 }, (_, day) => (day === 301 ? 0.05 : 0.01 + 0.001 * Math.sin(day))),
);

/** A market that emits every kind of event in the sessions after the 300th. */
function lively(): ScriptedMarket {
  const stage = createScriptedMarket({ A: BARS, B: BARS });
  stage.close(300, { A: {}, B: {}, C: {} });
  return stage;
}

/** The three sessions after the 300th, by symbol. */
const SESSIONS: readonly Readonly<Record<string, SnapshotOverrides>>[] = [
  { A: { score: 66 }, B: {}, C: LONG },
  { A: { score: 51, ...LONG }, B: { score: 80 }, C: LONG },
  { A: {}, B: { score: 80 }, C: {} },
];

const sessionEnds = (stage: ScriptedMarket, index: number) =>
  stage.close(301 + index, SESSIONS[index] ?? {});

/** Alerts for all events by webhook, for large score moves by polling, and for volatility only. */
const ALERTS = [
  ...alertSteps("all", { kinds: ["signal_shift", "volatility"] }),
  ...alertSteps("polled", {
    owner: { ...OWNER, id: "client-2" },
    ...{ way: { by: "poll" }, thresholds: { scoreMove: 30 } },
  }),
  ...alertSteps("volatile", { kinds: ["volatility"] }),
];

/** The expected events; within a session their order does not matter. */
const HEARD = [
  ...["all A@301 score", "all C@301 direction", "polled C@301 direction"],
  ...["all A@302 direction", "all A@302 extreme", "all B@302 extreme", "all B@302 score"],
  ...["polled A@302 direction", "polled B@302 score"],
  ...["volatile A@302 extreme", "volatile B@302 extreme"],
  ...["all A@303 direction", "all C@303 direction", "polled A@303 direction"],
  "polled C@303 direction",
];

async function heardIn(store: TestStore): Promise<readonly string[]> {
  const [summary, told] = [await summaryOf(store), await recordedEventsIn(store)];
  return told.map(({ alertId }, index) => `${alertId} ${summary[index]}`);
}

/** Expects consistent sequence numbers, bodies and queued deliveries after any failure. */
async function expectWhole(store: TestStore): Promise<void> {
  const told = await recordedEventsIn(store);
  for (const [index, event] of told.entries()) {
    expect(event.at).toBeGreaterThan(told[index - 1]?.at ?? 0);
    expect(event.payload.data).toMatchObject({ alertId: event.alertId, eventId: event.id });
  }
  const series = Map.groupBy(told, ({ alertId, payload }) => `${alertId} ${payload.data.symbol}`);
  for (const events of series.values()) {
    const numbers = events.map(({ payload }) => payload.data.sequence);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  }
  const bodies = new Map(told.map(({ id, alertId, body }) => [id, `${alertId} ${body}`]));
  const queued = await queuedIn(store);
  for (const { key, value } of queued)
    expect(`${value.alertId} ${value.body}`).toBe(bodies.get(key));
  const byWebhook = told.filter(({ alertId }) => alertId !== "polled");
  expect(queued.map(({ key }) => key).sort()).toEqual(byWebhook.map(({ id }) => id).sort());
}

async function begun(engine: Engine = embedded): Promise<TestStore> {
  const store = await openStore(engine);
  await store.records.commit(ALERTS);
  await leaderOf(store, lively()).run();
  return store;
}

/**
 * Wraps records so that the process seems to die just before or after the commit with this index.
 */
function dyingAt(records: Records, commit: number, when: "before" | "after"): Records {
  let commits = 0;
  return {
    ...records,
    async commit(operations) {
      if (commits++ < commit) return records.commit(operations);
      if (when === "after") await records.commit(operations);
      throw new Error("the process has ended");
    },
  };
}

/**
 * Runs a leader over the sessions until it dies.
 * @returns The number of sessions that the leader completed.
 */
async function playUntilDeath(store: TestStore, records: Records, from: number): Promise<number> {
  const stage = lively();
  for (let index = 0; index < from; index++) sessionEnds(stage, index);
  const leader = leaderOf(store, stage, { records });
  for (let index = from; index < SESSIONS.length; index++) {
    sessionEnds(stage, index);
    try {
      await leader.run();
    } catch {
      return index;
    }
  }
  return SESSIONS.length;
}

describe("the evaluation of alerts", () => {
  it("stores a signal shift only once when the process restarts between sessions", async () => {
    const store = await begun();
    const stage = lively();
    sessionEnds(stage, 0);
    await leaderOf(store, stage).run();
    const restarted = await store.reopen();
    await leaderOf(restarted, stage).run();
    sessionEnds(stage, 1);
    sessionEnds(stage, 2);
    await leaderOf(restarted, stage).run();
    const again = await restarted.reopen();
    await leaderOf(again, stage).run();
    expect([...(await heardIn(again))].sort()).toEqual([...HEARD].sort());
    await expectWhole(again);
  });

  it.each(["before", "after"] as const)(
    "stores each event exactly once when the process dies just %s any of its commits",
    async (when) => {
      for (let commit = 0; ; commit++) {
        const store = await begun();
        const dying = dyingAt(store.records, commit, when);
        const lived = await playUntilDeath(store, dying, 0);
        if (lived === SESSIONS.length) break;
        const back = await store.reopen();
        expect(await playUntilDeath(back, back.records, lived)).toBe(SESSIONS.length);
        expect([...(await heardIn(back))].sort()).toEqual([...HEARD].sort());
        await expectWhole(back);
      }
    },
  );

  it("stores no second event after a crash for an alert whose event was already stored", async () => {
    for (const when of ["before", "after"] as const) {
      const store = await openStore(embedded);
      const ids = Array.from({ length: 130 }, (_, index) => `a${index}`);
      await store.records.commit(ids.flatMap((id) => alertSteps(id)));
      const stage = createScriptedMarket();
      stage.close(1, { A: {}, B: {} });
      await leaderOf(store, stage).run();
      stage.close(2, { A: { score: 66 }, B: { score: 66 } });
      const dying = dyingAt(store.records, 1, when);
      await expect(leaderOf(store, stage, { records: dying }).run()).rejects.toThrow("ended");
      expect(await recordedEventsIn(store)).toHaveLength(when === "before" ? 100 : 230);
      await leaderOf(store, stage).run();
      const heard = (await recordedEventsIn(store)).map(
        ({ alertId, payload }) => `${alertId} ${payload.data.symbol}`,
      );
      expect(heard).toHaveLength(260);
      expect(new Set(heard).size).toBe(260);
      await expectWhole(store);
      // The score has not returned below the threshold, so the alerts do not fire again.
      stage.close(3, { A: { score: 82 }, B: { score: 82 } });
      await leaderOf(store, stage).run();
      expect(await recordedEventsIn(store)).toHaveLength(260);
    }
  });

  it("stores each event once when alerts with smaller ids are added between a crash and the restart", async () => {
    const store = await openStore(embedded);
    const idsOf = (letter: string, length: number) =>
      Array.from({ length }, (_, index) => `${letter}${index}`);
    const [earlyIds, lateIds] = [idsOf("a", 130), idsOf("b", 200)];
    const early = earlyIds.flatMap((id) => alertSteps(id, { watched: symbolSelector("S0") }));
    await store.records.commit(early);
    const stage = createScriptedMarket();
    const all = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`S${index}`, {}]));
    stage.close(1, all);
    await leaderOf(store, stage).run();
    stage.close(2, { ...all, S0: { score: 66 } });
    const dying = dyingAt(store.records, 1, "before");
    await expect(leaderOf(store, stage, { records: dying }).run()).rejects.toThrow("ended");
    expect(await recordedEventsIn(store)).toHaveLength(100);
    const late = lateIds.flatMap((id) => alertSteps(id, { thresholds: { scoreMove: 10 } }));
    await store.records.commit([...late, ...early]);
    await leaderOf(store, stage).run();
    const told = (await recordedEventsIn(store)).map(({ alertId }) => alertId);
    expect(told.sort()).toEqual([...earlyIds, ...lateIds].sort());
    await expectWhole(store);
  });

  it("tells each alert once of a switch of the method, whenever the process dies, and no later alert", async () => {
    const [from, to] = ["1.1.0+f0dc5dcb6c4877bb", runningMethod().version];
    const change = { previousMethodVersion: from, methodVersion: to };
    const earlier = Array.from({ length: 130 }, (_, index) => `a${index}`);
    for (const [commit, when] of [0, 1, 2].flatMap((index) => [
      [index, "before"] as const,
      [index, "after"] as const,
    ])) {
      const store = await openStore(embedded);
      await store.records.commit([
        ...earlier.flatMap((id) => alertSteps(id, { kinds: ["report"] })),
        ...alertSteps("shift"),
        ...alertSteps("paused", { isPaused: true }),
        ...alertSteps("snoozed", { snoozedUntil: START + 1 }),
        ...alertSteps("over", { expiresAt: START - 1 }),
      ]);
      const stage = createScriptedMarket();
      stage.close(1, { A: { score: 10 } });
      await leaderOf(store, stage).run();
      const [progress] = await readAll(store.records, progressRecords);
      if (progress === undefined) throw new Error("there is no progress");
      const value = { ...progress.value, methodVersion: from };
      await store.records.commit([replace(progressRecords, progress, { value })]);
      stage.snapshots.addRecorded({
        ...snapshotOf("A", DAY_MS, { score: 10 }),
        methodVersion: from,
      });
      stage.close(2, { A: { score: 90, ...LONG } });
      const dying = dyingAt(store.records, commit, when);
      await leaderOf(store, stage, { records: dying })
        .run()
        .catch(() => undefined);
      await store.records.commit(alertSteps("later", { createdAt: START + 1 }));
      const back = await store.reopen();
      await leaderOf(back, stage).run();
      const told = await recordedEventsIn(back);
      expect(told.map(({ alertId }) => alertId).sort()).toEqual([...earlier, "shift"].sort());
      for (const { payload } of told) {
        expect(payload).toMatchObject({ type: "method.changed", data: change });
      }
      expect((await queuedIn(back)).map(({ key }) => key).sort()).toEqual(
        told.map(({ id }) => id).sort(),
      );
      stage.close(3, { A: { score: 50 } });
      const again = await back.reopen();
      await leaderOf(again, stage).run();
      const kinds = Map.groupBy(await recordedEventsIn(again), ({ type }) => type);
      expect(kinds.get("method.changed")).toHaveLength(earlier.length + 1);
      expect(kinds.get("signal.shift")?.map(({ alertId }) => alertId)).toEqual(["later", "shift"]);
    }
  });

  it("catches up after a store outage", async () => {
    const store = await begun();
    const stage = lively();
    const fails = new Set([2, 9, 21, 40, 66, 80]);
    let calls = 0;
    const failing = <T>(answer: () => Promise<T>): Promise<T> =>
      fails.delete(calls++) ? Promise.reject(new Error("no answer")) : answer();
    const records: Records = {
      ...store.records,
      get: (from, key) => failing(() => store.records.get(from, key)),
      commit: (operations) => failing(() => store.records.commit(operations)),
    };
    const leader = leaderOf(store, stage, { records });
    const stubborn = (): Promise<unknown> => leader.run().catch(stubborn);
    for (const index of SESSIONS.keys()) {
      sessionEnds(stage, index);
      await stubborn();
    }
    expect(fails.size).toBeLessThan(3);
    expect([...(await heardIn(store))].sort()).toEqual([...HEARD].sort());
    await expectWhole(store);
  });

  it("leaves no data behind for an alert that is deleted during evaluation", async () => {
    const store = await begun();
    const stage = lively();
    let isGone = false;
    const scopesOf = async () => {
      if (!isGone) await store.records.commit([removeGroup(alertGroup("all"))]);
      isGone = true;
      return new Set(allScopes);
    };
    sessionEnds(stage, 0);
    await leaderOf(store, stage, { scopesOf }).run();
    expect(await heardIn(store)).toEqual(["polled C@301 direction"]);
    for (const kind of [alerts, deliveries, collection("alert-sequences")]) {
      expect(await readAll(store.records, kind, alertGroup("all"))).toEqual([]);
    }
  });

  it("stores events in an order that lets a reader resume from its last cursor without missing any", async () => {
    const store = await begun();
    const { archive } = store;
    const seen: string[] = [];
    let cursor = 0;
    const read = async () => {
      const rows = await archive.read(EVENT_ARCHIVE_KIND, {
        ...{ from: cursor + 1, order: "oldest", limit: 3 },
      });
      for (const { id, at } of rows) {
        seen.push(id);
        cursor = at;
      }
      return rows.length;
    };
    const stage = lively();
    const leader = leaderOf(store, stage);
    let isOver = false;
    const reading = (async () => {
      while (!isOver) await Promise.all([read(), setImmediate()]);
    })();
    for (const index of SESSIONS.keys()) {
      sessionEnds(stage, index);
      await leader.run();
    }
    isOver = true;
    await reading;
    const told = (await recordedEventsIn(store)).map(({ id }) => id);
    while ((await read()) > 0);
    expect(seen).toEqual(told);
    expect(seen).toHaveLength(HEARD.length);
  });
});

describeEngines("the evaluation of alerts by two leaders", (engine) => {
  it("stores each event once when two processes act as leader at the same time", async () => {
    const store = await begun(engine);
    const other = engine.isShared ? await store.openBeside() : store;
    const stages = [lively(), lively()] as const;
    const late = { clock: { now: START - 3_600_000 } };
    const leaders = [
      leaderOf(store, stages[0], { records: slowRecords(store.records) }),
      leaderOf({ ...other, ...late }, stages[1], { records: slowRecords(other.records) }),
    ];
    for (const index of SESSIONS.keys()) {
      for (const stage of stages) sessionEnds(stage, index);
      await Promise.all(leaders.map((leader) => leader.run()));
    }
    expect([...(await heardIn(store))].sort()).toEqual([...HEARD].sort());
    await expectWhole(store);
  });

  it("stores each event once when a former leader runs again with stale state", async () => {
    const store = await begun(engine);
    const other = engine.isShared ? await store.openBeside() : store;
    const stages = [lively(), lively()] as const;
    const leaders = [leaderOf(store, stages[0]), leaderOf(other, stages[1])];
    const bothRun = async () => {
      for (const leader of leaders) await leader.run();
    };
    await bothRun();
    for (const index of SESSIONS.keys()) {
      for (const stage of stages) sessionEnds(stage, index);
      await bothRun();
    }
    expect([...(await heardIn(store))].sort()).toEqual([...HEARD].sort());
    await expectWhole(store);
  });
});

describe("the evaluation in the sandbox", () => {
  const DAY = 1_000;
  const YEAR_DAYS = 252;
  const LOW: AlertThresholds = { scoreMove: 8, volatilityZ: 1.5, cooldownDays: 2 };

  /** A scored sandbox whose time the test advances. */
  function sandbox(day: number) {
    const market = createSandbox({ seed: 3, sessionSeconds: DAY / 1_000 });
    const snapshots = createSnapshotArchive();
    const engine = new ScoringEngine(market, snapshots);
    let until = 0;
    const go = (to: number) => {
      until = to * DAY;
      engine.refresh(until);
    };
    go(day);
    return { market, snapshots, knownUntil: () => until, go };
  }

  /** Computes the expected events independently, in one pass over all sessions in order. */
  function createOracle({ market, snapshots }: ReturnType<typeof sandbox>) {
    const watches = [alertConditionOf("signal_shift", LOW), alertConditionOf("volatility", LOW)];
    const states = new Map<string, ConditionState | undefined>();
    const decided = (snapshot: Snapshot, bars: RecordList<Bar>): readonly string[] =>
      watches.flatMap((watch) => {
        const { at, instrument } = snapshot;
        const key = `${watch.key} ${instrument.symbol}`;
        const { state, event } = evaluateCondition(watch, states.get(key), {
          ...{ snapshot, session: String(at), dayMs: DAY },
          reading: createVolatilityTracker().add(...bars.slice(0, countKnownRecords(bars, at))),
        });
        states.set(key, state);
        return event ? [`${instrument.symbol}@${at} ${event.kind}`] : [];
      });
    /** Returns the events of the session that ends with this day. */
    return (day: number): readonly string[] =>
      market.recordsUntil(day * DAY).flatMap(({ instrument: { symbol }, bars }) => {
        const [final] = snapshots.closedAfter(symbol, (day - 1) * DAY);
        if (final !== undefined && "factors" in final) return decided(final, bars);
        // A new listing has no history in common with an earlier listing of the same symbol.
        for (const { key } of watches) states.delete(`${key} ${symbol}`);
        return [];
      });
  }

  it("emits the same events with and without restarts, pauses and a change of the sandbox year", {
    tags: ["full"],
  }, async () => {
    const store = await openStore(model);
    const newYear = 70_000 * YEAR_DAYS;
    const from = newYear - 30;
    await store.records.commit(
      alertSteps("a1", { kinds: ["signal_shift", "volatility"], thresholds: LOW }),
    );
    const testService = sandbox(from);
    const oracle = createOracle(testService);
    oracle(from);
    let leader = leaderOf(store, testService);
    await leader.run();

    const expected: string[] = [];
    for (let day = from + 1; day <= newYear + 30; day++) {
      testService.go(day);
      expected.push(...oracle(day));
      if (day % 7 === 0) leader = leaderOf(store, testService);
      if (day % 5 > 1) await leader.run();
    }
    await leader.run();
    const told = (await recordedEventsIn(store)).map(
      ({ type, payload: { data } }) => `${data.symbol}@${Date.parse(data.asOf)} ${type}`,
    );
    expect(expected.length).toBeGreaterThan(50);
    expect([...told].sort()).toEqual([...expected].sort());
    const days = told.map((each) => Number(each.slice(each.indexOf("@") + 1).split(" ")[0]));
    expect(days).toEqual([...days].sort((a, b) => a - b));
  });
});
