// @module-tag full

import { expect, it } from "vitest";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import { createSnapshotArchive, type MemoryArchive } from "../../../src/score/snapshot-archive.ts";
import { createSandbox } from "../../../src/sources/sandbox/sandbox.ts";

const DAY_MS = 60_000;
const YEAR_DAYS = 252;
const WALK_DAYS = 63;

/** Sessions after which the signals of a later walk have forgotten where they began. */
const SETTLED_DAYS = 60;

const YEAR_START = Math.floor(Date.UTC(2026, 10, 21) / DAY_MS / YEAR_DAYS) * YEAR_DAYS;

/** Everything that is remembered at an instant. */
function rememberedAt(at: number): MemoryArchive {
  const archive = createSnapshotArchive();
  new ScoringEngine(createSandbox({ seed: 7, sessionSeconds: 60 }), archive).refresh(at);
  return archive;
}

it.each([1, 2, 3])(
  "quarter %i of a sandbox year has the same scores when it is replayed from a later start",
  (quarter) => {
    const turn = (YEAR_START + quarter * WALK_DAYS) * DAY_MS;
    const [before, after] = [rememberedAt(turn - 1), rememberedAt(turn)];
    const beginning = turn - YEAR_DAYS * DAY_MS;
    const settled = beginning + SETTLED_DAYS * DAY_MS;
    const scores = (archive: MemoryArchive, symbol: string) =>
      [...archive.history(symbol, beginning, turn - 1)].map(({ at, score, signal }) => ({
        at,
        score,
        ...(at >= settled && { direction: signal.direction }),
      }));
    const symbols = after.allNewest().map(({ instrument }) => instrument.symbol);
    expect(symbols.length).toBeGreaterThan(40);
    for (const symbol of symbols) expect(scores(after, symbol)).toEqual(scores(before, symbol));
  },
);
