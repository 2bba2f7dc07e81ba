import { setTimeout } from "node:timers/promises";
import { put, remove } from "../../src/store/port/operations.ts";
import { type Cluster, postgresAvailable, startPostgres } from "../support/postgres.ts";
import { startBlackHole } from "./black-hole.ts";
import { type Child, startChild } from "./child.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { openStore } from "./open-store.ts";
import { type Measure, type Outcome, skip } from "./outcome.ts";
import { createPace, type Pace, untilHealed } from "./pace.ts";
import { documentOf, slots } from "./places.ts";
import { checkStore, commonMeasures } from "./store-check.ts";

/** Number of writers of each process, 20 in total. */
const LANES = [7, 7, 6];

/** Duration of the write load before and after each disturbance, in milliseconds. */
const CALM_MS = 1_000;

/** Goal for the longest time without an acknowledged write around a restart, in milliseconds. */
const GAP_MS = 1_000;

/** Time for which the store retries a write before it refuses it, in milliseconds. */
const RETRY_BUDGET_MS = 2_000;

/** Maximum time until a write that cannot be done is refused, in milliseconds. */
const REFUSAL_MS = 3_000;

/** Goal for the time from the return of the network until writes succeed, in milliseconds. */
const HEAL_MS = 3_000;

/** Goal for the time until all processes see the removal of a record, in milliseconds. */
const REVOKED_MS = 1_000;

/** Number of measured removals. */
const REVOCATIONS = 50;

type Scenario = (cluster: Cluster) => Promise<readonly Measure[]>;

/**
 * Restarts the database under the write load of three processes: once gracefully, and once as a
 * crash.
 */
export function databaseRestarts(): Promise<Outcome> {
  return onPostgres("PostgreSQL: restart under 20 writers in 3 processes", async (cluster) => {
    const url = await cluster.createDatabase();
    const storm = await startStorm(url);
    // If the server stays away for the whole retry budget, a write just before the end of the
    // budget may be applied although it is refused.
    storm.ledger.silence(Number.POSITIVE_INFINITY);
    const measures: Measure[] = [];
    let longestAway = 0;
    for (const how of ["fast", "immediate"] as const) {
      storm.pace.restart();
      const startedAt = performance.now();
      await cluster.restart(how);
      const away = performance.now() - startedAt;
      longestAway = Math.max(longestAway, away);
      await setTimeout(CALM_MS);
      const [gap, wait] = [storm.pace.longestGap(), storm.pace.longestWait()];
      measures.push(
        { name: `${how}: restarted after`, unit: "ms", value: away },
        {
          name: `${how}: longest time without an acknowledged write`,
          unit: "ms",
          value: gap,
          most: GAP_MS,
        },
        {
          name: `${how}: longest wait of one writer`,
          unit: "ms",
          value: wait,
          most: RETRY_BUDGET_MS,
        },
      );
    }
    const { refused } = storm.ledger.tally;
    await storm.end();
    const { damages } = await checkStore(url, storm.ledger);
    const goal = longestAway < RETRY_BUDGET_MS / 2 ? { most: 0 } : {};
    return [
      ...commonMeasures(storm.ledger),
      { name: "writes refused", value: refused, ...goal },
      { name: "refused writes that were applied", value: storm.ledger.tally.uncertain, ...goal },
      { name: "database damaged", value: damages.length, most: 0 },
      ...measures,
    ];
  });
}

/** Drops all traffic between the processes and the database. @param seconds Duration. */
export function databaseBlackHole(seconds: number): Promise<Outcome> {
  return onPostgres("PostgreSQL: black hole under 20 writers in 3 processes", async (cluster) => {
    const url = await cluster.createDatabase();
    const hole = await startBlackHole(url);
    const { ledger, pace, end } = await startStorm(hole.url);
    pace.restart();
    hole.open();
    // Not before the hole is open: what begins in between still reaches the database.
    ledger.silence(Date.now());
    await setTimeout(seconds * 1_000);
    const [wait, { refused, strange }] = [pace.longestWait(), { ...ledger.tally }];
    hole.close();
    const healMs = await untilHealed(pace);
    await end();
    hole.end();
    const { damages } = await checkStore(url, ledger);
    return [
      { name: "duration of the black hole", unit: "s", value: seconds },
      ...commonMeasures(ledger),
      { name: "refused writes begun before the outage and applied", value: ledger.tally.uncertain },
      { name: "database damaged", value: damages.length, most: 0 },
      { name: "writes and reads refused", value: refused, least: 1 },
      { name: "refusals other than store_unavailable", value: strange, most: 0 },
      { name: "longest wait of one writer", unit: "ms", value: wait, most: REFUSAL_MS },
      { name: "all writes succeed again after", unit: "ms", value: healMs, most: HEAL_MS },
    ];
  });
}

/** Removes records in one process and measures when two other processes see it. */
export function removalSeenByProcesses(): Promise<Outcome> {
  return onPostgres("PostgreSQL: a removal is seen by 2 other processes", async (cluster) => {
    const url = await cluster.createDatabase();
    const store = await openStore(url);
    const keys = Array.from({ length: REVOCATIONS }, (_, i) => `revoked.${i}`);
    await store.records.commit(keys.map((key) => put(slots, { key, value: documentOf(key) })));
    const removedAt = new Map<string, number>();
    const times: number[] = [];
    const watchers = LANES.slice(1).map(() =>
      startChild("watcher", [url, ...keys], (report) => {
        if (report.is !== "gone") return;
        times.push(performance.now() - (removedAt.get(report.key) ?? performance.now()));
      }),
    );
    await Promise.all(watchers.map((watcher) => watcher.said("open")));
    for (const key of keys) {
      await store.records.commit([remove(slots, key)]);
      removedAt.set(key, performance.now());
      await setTimeout(20);
    }
    await Promise.all(watchers.map(({ ended }) => ended));
    await store.close();
    return [
      { name: "removals seen", value: times.length, least: 2 * REVOCATIONS },
      {
        name: "longest time until a removal is seen",
        unit: "ms",
        value: Math.max(...times),
        most: REVOKED_MS,
      },
    ];
  });
}

async function onPostgres(title: string, scenario: Scenario): Promise<Outcome> {
  if (!postgresAvailable) return skip(title, "there is no PostgreSQL for this platform");
  const cluster = await startPostgres({ durable: true });
  try {
    return { title, measures: await scenario(cluster) };
  } finally {
    await cluster.stop();
  }
}

/** Three processes that write to one database. */
interface Storm {
  readonly ledger: Ledger;
  readonly pace: Pace;
  /** Stops the processes. */
  end(): Promise<void>;
}

async function startStorm(url: string): Promise<Storm> {
  const [ledger, pace] = [createLedger(), createPace()];
  const writers: readonly Child[] = LANES.map((lanes, process) => {
    const args = ["--store", url, `--process=${process}`, `--lanes=${lanes}`];
    return startChild("writer", args, (report) => {
      ledger.note(report);
      pace.note(report);
    });
  });
  await Promise.all(writers.map((writer) => writer.said("held")));
  await setTimeout(CALM_MS);
  return {
    ledger,
    pace,
    async end() {
      for (const writer of writers) writer.stop();
      await Promise.all(writers.map((writer) => writer.said("complete")));
      await Promise.all(writers.map(({ ended }) => ended));
    },
  };
}
