// @module-tag nightly

import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { Market } from "../../../src/market/market.ts";
import { newYorkInstant } from "../../../src/market/new-york.ts";
import type { SavedSignals, SavedSignalsStore } from "../../../src/score/saved-signals.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import { createSnapshotArchive, type MemoryArchive } from "../../../src/score/snapshot-archive.ts";
import { readMarketFolder } from "../../../src/sources/files/market-folder.ts";
import { randomAt } from "../../../src/statistics/random.ts";
import { sharedFolder } from "../../support/shared.ts";

const { path, isMissing } = sharedFolder("market", "signals whatever the process start");

const TIMEOUT_MS = 1_800_000;
const SEED = 19;
const STARTS = 20;

const newYork = (date: string): number => newYorkInstant(date, "00:00");

/** Earliest instant at which a process starts, Unix milliseconds. */
const FIRST = newYork("2013-06-01");
/** Instants at which the data of the tested market folders end, Unix milliseconds. */
const ENDS = [newYork("2018-05-09"), newYork("2021-08-01"), newYork("2024-12-31")] as const;

/** The start time of each process, the end of its data, and how long the process runs. */
const starts = Array.from({ length: STARTS }, (_, index) => {
  const end = ENDS[index % ENDS.length] as number;
  const runsMs = Math.floor(randomAt(SEED, 2 * index + 1) * 90) * DAY_MS;
  const at = FIRST + Math.floor(randomAt(SEED, 2 * index) * (end - runsMs - FIRST));
  // Half of the processes find the signals saved by earlier processes.
  return { index, at, end, runsMs, hasKept: index % 2 === 1 };
});

const kept: SavedSignals[] = [];
const keep = (signals: SavedSignals) => void kept.push(signals);
const forgetful: SavedSignalsStore = { keep, newest: () => undefined };
const keeper: SavedSignalsStore = {
  keep,
  newest: (assetClass, before) =>
    kept
      .filter((one) => one.assetClass === assetClass && one.at < before)
      .sort((a, b) => a.at - b.at)
      .at(-1),
};

/** The signals of an instrument whose sessions closed in [from, to], as JSON. */
const signalsOf = (archive: MemoryArchive, symbol: string, from: number, to: number): string[] =>
  [...archive.history(symbol, from, to)].map(
    ({ at, series, status, score, confidence, coverage, signal, missingFactors, price }) =>
      JSON.stringify([
        ...[at, series, status, score, confidence, coverage],
        ...[signal, missingFactors, price],
      ]),
  );

describe.skipIf(isMissing)("signals on real history", { timeout: TIMEOUT_MS }, async () => {
  if (isMissing) return;
  const folders = new Map<number, Market>();
  for (const until of ENDS) folders.set(until, await readMarketFolder(path, { until }));
  const whole = folders.get(ENDS[2]) as Market;

  /** The expected signals of all sessions, scored in one run at the end of the data. */
  const reference = createSnapshotArchive();
  const everything = { ...whole, servedFrom: () => Number.NEGATIVE_INFINITY };
  new ScoringEngine(everything, reference).refresh(ENDS[2]);

  it.each(starts)(
    "are the same whenever the process starts (start $index)",
    ({ at, end, runsMs, hasKept }) => {
      const market = folders.get(end) as Market;
      const archive = createSnapshotArchive();
      const engine = new ScoringEngine(market, archive, hasKept ? keeper : forgetful);
      engine.refresh(at);
      engine.refresh(at + runsMs);
      let sessions = 0;
      const from = market.servedFrom(at + runsMs);
      const others = archive.allNewest().filter(({ instrument: { symbol } }) => {
        const served = signalsOf(archive, symbol, from, at + runsMs);
        sessions += served.length;
        return served.join("\n") !== signalsOf(reference, symbol, from, at + runsMs).join("\n");
      });
      expect(others.map(({ instrument }) => instrument.symbol)).toEqual([]);
      expect(sessions).toBeGreaterThan(50_000);
    },
  );
});
