import { describe, expect, it } from "vitest";
import { newLogState } from "../../../src/log/new-log.ts";
import { verifyLog } from "../../../src/log/verify/verify-log.ts";
import type { VerificationCheck } from "../../../src/tree/check.ts";
import type { CheckpointSighting } from "../../../src/tree/known-log.ts";
import { treeSizeOf } from "../../../src/tree/tree-store.ts";
import { gradedRunsOf } from "../../support/answered-track-record.ts";
import { logSourceOf } from "../../support/log-source.ts";
import {
  closeOf,
  dataFolder,
  Sessions,
  signalLog,
  verifierTextOf,
} from "../../support/signal-log.ts";
import { model, openStore, type TestStore } from "../../support/stores.ts";

/** So many that neither the results of a run nor the outcomes of a settlement fit into a bundle. */
const SYMBOLS = Array.from({ length: 260 }, (_, at) => `S${String(at).padStart(3, "0")}`);

/** The instrument with late prices. */
const [LATE] = SYMBOLS as [string];

/** Number of sessions in which the first runs are settled. */
const SETTLED_DAYS = 9;

/** Number of sessions in which the first settlements are corrected. */
const CORRECTED_DAYS = 35;

/** What a log contains at the end. */
interface Written {
  readonly leaves: readonly string[];
  /** What a verifier that has seen every checkpoint holds against it. */
  readonly failures: readonly VerificationCheck[];
  /** The graded runs over the shortest horizon. */
  readonly grades: readonly unknown[];
  /** Number of processes that wrote it. */
  readonly processes: number;
}

/** The end of a process in a commit: the commit is durable, or it is not. */
class Crash extends Error {}

/** Records whose commit number `commits` ends the process, before it is durable or after. */
function crashingRecords({ records }: TestStore, commits: number, isDurable: boolean) {
  let left = commits;
  const commit: typeof records.commit = async (operations) => {
    left -= 1;
    if (left > 0) return records.commit(operations);
    if (isDurable) await records.commit(operations);
    throw new Crash();
  };
  return Object.create(records, { commit: { value: commit } }) as typeof records;
}

/** How the processes of a log end, and where they run. */
interface Life {
  /** Number of sessions that are played. */
  readonly days: number;
  /** The commit in which each process ends; infinite if a single process writes the log. */
  readonly commits: number;
  /** Number of machines that take turns, each with a `log-head` of its own. */
  readonly machines: number;
}

/** Plays the same sessions with processes that end as described. */
async function written({ days, commits, machines }: Life): Promise<Written> {
  const store = await openStore(model);
  const sessions = new Sessions();
  sessions.delayPrices(LATE);
  const folders = Array.from({ length: machines }, dataFolder);
  let processes = 0;
  const open = () => {
    const folder = folders[processes % machines] as string;
    // Of two processes in succession, one loses its last commit.
    const records = crashingRecords(store, commits, processes % 2 === 1);
    processes += 1;
    const isShared = machines > 1;
    return signalLog({ ...store, records }, sessions, { folder, isShared });
  };
  let log = open();
  const id = "0123456789ab";
  const beginning = { createdAt: 0, beganAt: closeOf(0), recordedUntil: {}, replaces: null };
  const origin = `log.example/log/${id}`;
  await signalLog(store, sessions).store.start(undefined, {
    ...newLogState("log.example", beginning),
    ...{ id, origin },
  });
  const sightings: CheckpointSighting[] = [];
  const refusals: string[] = [];
  for (let day = 0; day < days; day++) {
    sessions.close(day, "stock", day % 4 === 0 ? SYMBOLS : SYMBOLS.slice(0, -1));
    for (let worked = 1; worked > 0; ) {
      worked = await log.writer.tick().catch((error) => {
        if (!(error instanceof Crash)) throw error;
        refusals.push(...log.refusals);
        log = open();
        return 1;
      });
      const served = await log.reader.checkpoint();
      if (served === undefined || served.root === sightings.at(-1)?.root) continue;
      sightings.push({ size: served.size, root: served.root, seenAt: sessions.knownUntil() });
    }
  }
  expect([...refusals, ...log.refusals]).toEqual([]);
  const leaves = await log.leaves();
  expect(treeSizeOf((await log.store.state())?.value ?? { edge: [] })).toBe(leaves.length);
  const graded = await gradedRunsOf(log);
  const of = { assetClass: "stock", horizon: 5 } as const;
  const grades = graded.methodsOf(of).map((methodHash) => graded.runsOf({ ...of, methodHash }));
  const { checks } = await verifyLog({
    ...{ source: logSourceOf(log), keys: [], prices: sessions.market, now: sessions.knownUntil },
    known: { origin, keys: [verifierTextOf(origin)], sightings },
  });
  const failures = checks.filter(({ outcome }) => outcome === "failed");
  return { leaves, failures, grades, processes };
}

/** Number of settlements that correct an earlier one. */
const correctionsIn = (leaves: readonly string[]): number =>
  leaves.filter((leaf) => JSON.parse(leaf).corrects !== undefined).length;

/** Expects a log whose processes end as described to be the log of a single process. */
async function expectSameBytes(life: Life): Promise<void> {
  const whole = await written({ ...life, commits: Number.POSITIVE_INFINITY, machines: 1 });
  expect(whole.processes).toBe(1);
  expect(whole.grades.flat()).not.toEqual([]);
  expect(correctionsIn(whole.leaves)).toBe(life.days === CORRECTED_DAYS ? 2 : 0);

  const { leaves, grades, failures, processes } = await written(life);
  expect(processes).toBeGreaterThan(life.days);
  expect(leaves).toEqual(whole.leaves);
  expect(grades).toEqual(whole.grades);
  expect(failures).toEqual([]);
}

describe("a log has the same bytes wherever the processes that write it end, and never forks", () => {
  it("on one machine, up to corrections", { tags: ["full"] }, () =>
    expectSameBytes({ days: CORRECTED_DAYS, commits: 1, machines: 1 }),
  );

  it("on two machines, up to settlements", () =>
    expectSameBytes({ days: SETTLED_DAYS, commits: 2, machines: 2 }));
});
