// @module-tag full

import { describe, expect, it } from "vitest";
import type { InstrumentRecords, PointInTimeRecord } from "../../../src/market/records.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import { createSnapshotArchive } from "../../../src/score/snapshot-archive.ts";
import { createSandbox } from "../../../src/sources/sandbox/sandbox.ts";
import { differences, marketOf } from "./markets.ts";

const DAY_MS = 60_000;
const START = Math.floor(Date.UTC(2026, 10, 21, 4) / DAY_MS) * DAY_MS;
/** End of the tested period: one whole session and part of the next after `START`. */
const END = START + 1.2 * DAY_MS;

const sandbox = createSandbox({ seed: 11, sessionSeconds: DAY_MS / 1000 });
const market = marketOf(sandbox, sandbox.recordsUntil(END), START - 2 * DAY_MS);

function start() {
  const archive = createSnapshotArchive();
  return { archive, engine: new ScoringEngine(market, archive) };
}

/** Returns the instants at which records became known, ascending. */
function news(): readonly number[] {
  const known = market.recordsUntil(END).flatMap(({ instrument: _, ...lists }) =>
    Object.values(lists as Omit<InstrumentRecords, "instrument">)
      .flatMap((list) => Array.from<PointInTimeRecord>(list).map(({ availableAt }) => availableAt))
      .filter((at) => at > START && at <= END),
  );
  return [...new Set(known)].sort((a, b) => a - b);
}

describe("an engine that is refreshed at every new record", () => {
  const told = start();
  told.engine.refresh(START);
  const instants = news();
  const symbols = market.recordsUntil(END).map(({ instrument }) => instrument.symbol);

  const startedOver = (at: number) => {
    const fresh = start();
    fresh.engine.refresh(at);
    return fresh;
  };

  it("has the same snapshots as a freshly started engine", () => {
    expect(instants.length).toBeGreaterThan(200);
    for (const [index, at] of instants.entries()) {
      told.engine.refresh(at);
      if (index % Math.floor(instants.length / 4) !== 7) continue;
      const { archive } = startedOver(at);
      for (const symbol of symbols) {
        const found = differences(told.archive.newest(symbol), archive.newest(symbol), symbol);
        expect(found, `${at}`).toEqual([]);
      }
    }
    expect(told.archive.allNewest().length).toBeGreaterThan(40);
  });

  it("closes each session once, in every asset class", () => {
    const last = instants.at(-1) ?? END;
    const asked = startedOver(last);
    for (const symbol of symbols) {
      const closes = ({ archive }: typeof told) =>
        Array.from(archive.history(symbol, START - 2 * DAY_MS, last), ({ at, signal }) => ({
          at,
          signal,
        }));
      expect(closes(told).length, symbol).toBeLessThanOrEqual(4);
      expect(closes(told), symbol).toEqual(closes(asked));
    }
  });

  it("deviates from a full recomputation only by rounding", () => {
    expect(told.engine.drift()).toBeLessThan(1e-13);
  });
});
