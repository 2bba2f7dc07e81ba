// @module-tag full

import { expect, it } from "vitest";
import { snapshotId } from "../../../src/answers/shared-members.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import type { PastSnapshot } from "../../../src/score/snapshot.ts";
import { createSnapshotArchive } from "../../../src/score/snapshot-archive.ts";
import { createSandbox } from "../../../src/sources/sandbox/sandbox.ts";

const DAY_MS = 60_000;
const YEAR_DAYS = 252;

/** First instant of a sandbox year, Unix milliseconds. */
const NEW_YEAR = Math.floor(Date.UTC(2026, 10, 21) / DAY_MS / YEAR_DAYS) * YEAR_DAYS * DAY_MS;

/**
 * Starts a process. @returns A function that returns the figures of every served session by
 * snapshot id.
 */
function start() {
  const market = createSandbox({ seed: 7, sessionSeconds: DAY_MS / 1_000 });
  const archive = createSnapshotArchive();
  const engine = new ScoringEngine(market, archive);
  return (at: number): ReadonlyMap<string, string> => {
    engine.refresh(at);
    const symbols = archive.allNewest().map(({ instrument }) => instrument.symbol);
    const all = symbols.flatMap((symbol) => [
      ...archive.history(symbol, market.servedFrom(at), at),
      archive.newest(symbol) as PastSnapshot,
    ]);
    return new Map(all.map((one) => [snapshotId(one), figuresOf(one)]));
  };
}

const figuresOf = ({ status, score, confidence, coverage, signal, price }: PastSnapshot): string =>
  JSON.stringify([status, score, confidence, coverage, signal, price]);

it("a sandbox that runs through New Year gives the same answers as a sandbox started afterwards, and never reuses a snapshot id", () => {
  const process = start();
  const before = process(NEW_YEAR - 1.5 * DAY_MS);
  expect(before.size).toBeGreaterThan(8_000);
  const eve = process(NEW_YEAR - 0.5 * DAY_MS);
  const after = process(NEW_YEAR + 1.5 * DAY_MS);
  expect(start()(NEW_YEAR + 1.5 * DAY_MS)).toEqual(after);

  const closed = [...before].filter(([id]) => eve.has(id));
  expect(closed.length).toBeGreaterThan(0.95 * before.size);
  for (const [id, figures] of closed) expect(eve.get(id)).toBe(figures);
  // In the new year, sessions are served from records that begin a year later, so their ids differ.
  const told = [...eve].filter(([id]) => after.has(id));
  expect(told).toEqual([]);
});
