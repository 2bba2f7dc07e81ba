// @module-tag full

import { expect, it } from "vitest";
import { FACTORS } from "../../../src/factors/reading.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import { factorEvidenceOf } from "../../../src/score/snapshot.ts";
import { createSnapshotArchive, type MemoryArchive } from "../../../src/score/snapshot-archive.ts";
import { createSandbox } from "../../../src/sources/sandbox/sandbox.ts";

const DAY_MS = 60_000;
const YEAR_DAYS = 252;
const WALK_DAYS = 63;

const YEAR_START = Math.floor(Date.UTC(2026, 10, 21) / DAY_MS / YEAR_DAYS) * YEAR_DAYS;

/** Returns the archive of everything served at an instant. */
function rememberedAt(at: number): MemoryArchive {
  const archive = createSnapshotArchive();
  new ScoringEngine(createSandbox({ seed: 7, sessionSeconds: 60 }), archive).refresh(at);
  return archive;
}

it.each([1, 2, 3])(
  "the signals before quarter %i of a sandbox year are the same when the replay moves on to that quarter",
  (quarter) => {
    const turn = (YEAR_START + quarter * WALK_DAYS) * DAY_MS;
    const [before, after] = [rememberedAt(turn - 1), rememberedAt(turn)];
    const beginning = turn - YEAR_DAYS * DAY_MS;
    const signals = (archive: MemoryArchive, symbol: string) =>
      [...archive.history(symbol, beginning, turn - 1)].map((record) => ({
        ...record,
        evidence: FACTORS.map((factor) => {
          const { z, confidence } = factorEvidenceOf(record)?.[factor] ?? {};
          return { z, confidence };
        }),
        tables: null,
        factors: null,
        candidate: null,
        steadiness: null,
        exposures: null,
        ranking: null,
      }));
    const symbols = after.allNewest().map(({ instrument }) => instrument.symbol);
    expect(symbols.length).toBeGreaterThan(40);
    for (const symbol of symbols) expect(signals(after, symbol)).toEqual(signals(before, symbol));
  },
);
