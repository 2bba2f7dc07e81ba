import { expect, it } from "vitest";
import { instrumentAnswerMembers, snapshotId } from "../../../src/answers/shared-members.ts";
import {
  createSessionArchiveJob,
  serveRecordedSnapshots,
} from "../../../src/ingest/session-archive.ts";
import type { Market } from "../../../src/market/market.ts";
import { closeOf, DAYS, METHOD_MARKET } from "../../../src/method/invented-market.ts";
import { runningMethod } from "../../../src/method/running.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import type { PastSnapshot } from "../../../src/score/snapshot.ts";
import { createSnapshotArchive } from "../../../src/score/snapshot-archive.ts";
import { model, openStore } from "../../support/stores.ts";

/** The close of the last recorded session, and a much earlier close. */
const LAST = closeOf(DAYS - 5);
const EARLY = closeOf(DAYS - 80);
const range = { from: METHOD_MARKET.servedFrom(LAST), to: LAST };

/** The market after a correction that raised the closes of one stock by 20 % for 60 days. */
const CORRECTED: Market = {
  ...METHOD_MARKET,
  recordsUntil: (at) =>
    METHOD_MARKET.recordsUntil(at).map((one) => {
      if (one.instrument.symbol !== "S0") return one;
      const isWrong = (known: number) => known > closeOf(DAYS - 90) && known < closeOf(DAYS - 30);
      const bars = [...one.bars].map((bar) =>
        isWrong(bar.availableAt)
          ? { ...bar, close: bar.close * 1.2, logReturn: (bar.logReturn ?? 0) + 0.02 }
          : bar,
      );
      return { ...one, bars };
    }),
};

/** Scores a market up to an instant, and returns the snapshots in memory. */
async function walked(market: Market, at: number) {
  const snapshots = createSnapshotArchive();
  new ScoringEngine(market, snapshots).refresh(at);
  return snapshots;
}

const signalsOf = (list: Iterable<PastSnapshot>) =>
  Array.from(list, ({ at, score, signal, status, price }) => ({
    at,
    score,
    signal,
    status,
    price,
  }));

it("sessions are served as they were recorded, even after the market data were corrected", async () => {
  const { archive } = await openStore(model);
  const before = await walked(METHOD_MARKET, LAST);
  const record = createSessionArchiveJob({
    archive,
    snapshots: before,
    knownUntil: () => LAST,
    dayMs: METHOD_MARKET.dayMs,
    hasWholeHistory: true,
    idOf: snapshotId,
  });
  while ((await record()) > 0);

  const after = await walked(CORRECTED, closeOf(DAYS));
  const recordedFrom = LAST - 30 * METHOD_MARKET.dayMs;
  const unrecorded = signalsOf(after.history("S0", recordedFrom, LAST));
  expect(unrecorded).not.toEqual(signalsOf(before.history("S0", recordedFrom, LAST)));
  await serveRecordedSnapshots(archive, after, range);
  for (const { instrument } of before.allNewest()) {
    const told = after.history(instrument.symbol, recordedFrom, LAST);
    expect(signalsOf(told)).toEqual(
      signalsOf(before.history(instrument.symbol, recordedFrom, LAST)),
    );
    const last = after.lastAt(instrument.symbol, LAST);
    expect(last?.score).toBe(before.lastAt(instrument.symbol, LAST)?.score);
  }
  // Sessions that were not recorded are served as they are known now.
  const fresh = await walked(CORRECTED, closeOf(DAYS));
  expect(after.newest("S0")).toEqual(fresh.newest("S0"));
  expect(after.lastAt("S0", EARLY)?.score).toBe(fresh.lastAt("S0", EARLY)?.score);
});

it("a session is served with the method version that recorded it, unless the current method has recorded it too", async () => {
  const { archive } = await openStore(model);
  const snapshots = await walked(METHOD_MARKET, LAST);
  // This snapshot was recorded before series had ids.
  const { series: _, ...said } = snapshots.lastAt("S2", EARLY) as PastSnapshot;
  const row = (methodVersion: string, score: number) => ({
    kind: "snapshot",
    at: EARLY,
    id: snapshotId({ ...said, methodVersion }),
    subject: "S2",
    body: { ...said, score, tables: undefined, tablesEpoch: null },
  });
  await archive.append([row("0.9.0", 12)]);
  await serveRecordedSnapshots(archive, snapshots, range);
  const old = snapshots.lastAt("S2", EARLY) as PastSnapshot;
  expect(old).toMatchObject({ score: 12, methodVersion: "0.9.0" });
  expect(snapshotId(old)).toBe(`S2/${new Date(EARLY).toISOString()}/0.9.0`);
  expect(instrumentAnswerMembers({ market: METHOD_MARKET }, old).methodVersion).toBe("0.9.0");

  // A record of the current method takes precedence over a record of an earlier method.
  await archive.append([row(runningMethod().version, 34)]);
  await serveRecordedSnapshots(archive, snapshots, range);
  expect(snapshots.lastAt("S2", EARLY)).toMatchObject({ score: 34 });
  expect(
    instrumentAnswerMembers(
      { market: METHOD_MARKET },
      snapshots.lastAt("S2", EARLY) as PastSnapshot,
    ),
  ).toMatchObject({
    methodVersion: runningMethod().version,
  });
});

/** The market with price bars that begin later. */
const LATER: Market = {
  ...METHOD_MARKET,
  recordsUntil: (at) =>
    METHOD_MARKET.recordsUntil(at).map((one) => ({
      ...one,
      bars: [...one.bars].filter(({ availableAt }) => availableAt > closeOf(100)),
    })),
};

it("sessions keep the id and figures with which they were recorded, even if the series id changes later", async () => {
  const { archive } = await openStore(model);
  const later = await walked(LATER, LAST);
  const record = createSessionArchiveJob({
    archive,
    snapshots: later,
    knownUntil: () => LAST,
    dayMs: METHOD_MARKET.dayMs,
    hasWholeHistory: true,
    idOf: snapshotId,
  });
  while ((await record()) > 0);

  // The records of earlier years arrive.
  const whole = await walked(METHOD_MARKET, closeOf(DAYS));
  const computed = whole.lastAt("S0", LAST) as PastSnapshot;
  const said = later.lastAt("S0", LAST) as PastSnapshot;
  expect(snapshotId(computed)).not.toBe(snapshotId(said));
  const newest = whole.newest("S0")?.series;
  await serveRecordedSnapshots(archive, whole, range);
  const told = whole.lastAt("S0", LAST) as PastSnapshot;
  expect(snapshotId(told)).toBe(snapshotId(said));
  expect(signalsOf([told])).toEqual(signalsOf([said]));
  // Sessions that were not recorded belong to the series that is computed now.
  expect(whole.newest("S0")?.series).toBe(newest);

  // A recorded session is not recorded again under another series.
  const rows = async () =>
    (await archive.read("snapshot", { order: "oldest", limit: 5_000 })).length;
  const before = await rows();
  const again = createSessionArchiveJob({
    archive,
    snapshots: await walked(METHOD_MARKET, LAST),
    knownUntil: () => LAST,
    dayMs: METHOD_MARKET.dayMs,
    hasWholeHistory: true,
    idOf: snapshotId,
  });
  while ((await again()) > 0);
  expect(await rows()).toBe(before);
});

it("a session recorded without a series id keeps its snapshot id if its figures are unchanged", async () => {
  const { archive } = await openStore(model);
  const snapshots = await walked(METHOD_MARKET, LAST);
  const { series: _, ...said } = snapshots.lastAt("S2", LAST) as PastSnapshot;
  const id = `S2/${new Date(LAST).toISOString()}/${runningMethod().version}`;
  const body = { ...said, tables: undefined, tablesEpoch: null };
  await archive.append([{ kind: "snapshot", at: LAST, id, subject: "S2", body }]);
  await serveRecordedSnapshots(archive, snapshots, range);
  expect(snapshotId(snapshots.lastAt("S2", LAST) as PastSnapshot)).toBe(id);
  expect(snapshotId(snapshots.history("S2", LAST, LAST).at(0) as PastSnapshot)).toBe(id);
  expect(snapshotId(snapshots.lastAt("S2", EARLY) as PastSnapshot)).toMatch(/\/[0-9a-f]{16}$/);
});

it("a session recorded under another series id is served with its recorded factors and candidate", async () => {
  const { archive } = await openStore(model);
  const snapshots = await walked(METHOD_MARKET, LAST);
  const changes: Readonly<Record<string, [at: number, (one: PastSnapshot) => PastSnapshot]>> = {
    S0: [
      LAST,
      ({ candidate, ...one }) => ({ ...one, candidate: candidate && { ...candidate, z: 9 } }),
    ],
    S2: [LAST, ({ candidate: _, ...one }) => one],
    // The snapshot in memory has only the z-scores and confidences of its factors.
    S3: [EARLY, (one) => ({ ...one, evidence: otherMomentum(one.evidence) })],
    S4: [LAST, (one) => ({ ...one, factors: otherMomentum(one.factors) })],
    S8: [LAST, (one) => one],
  };
  const recorded = Object.entries(changes).map(([symbol, [at, change]]) => {
    const { tables: _, ...computed } = snapshots.lastAt(symbol, at) as PastSnapshot;
    return change({ ...JSON.parse(JSON.stringify(computed)), series: "0".repeat(16) });
  });
  for (const said of recorded) {
    const { at, instrument } = said;
    const row = { kind: "snapshot", at, id: snapshotId(said), subject: instrument.symbol };
    await archive.append([{ ...row, body: { ...said, tablesEpoch: null } }]);
  }
  await serveRecordedSnapshots(archive, snapshots, range);
  for (const said of recorded) {
    const { at, instrument } = said;
    const { tables: _, ...told } = snapshots.lastAt(instrument.symbol, at) as PastSnapshot;
    expect(JSON.parse(JSON.stringify(told))).toEqual(JSON.parse(JSON.stringify(said)));
  }
  expect(recorded[0]?.candidate?.z).toBe(9);
  // A recorded snapshot that equals the computed one is not stored in memory twice.
  expect(snapshots.lastAt("S8", LAST)?.tables).toBeDefined();
});

function otherMomentum<T extends { momentum: { z: number | null } }>(all: T | undefined): T {
  if (all === undefined) throw new Error("There are no factors to change.");
  return { ...all, momentum: { ...all.momentum, z: 0.125 } };
}
