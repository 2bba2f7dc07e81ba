// @module-tag nightly

import { describe, expect, it } from "vitest";
import { newYorkInstant } from "../../../src/market/new-york.ts";
import type { SavedSignals, SavedSignalsStore } from "../../../src/score/saved-signals.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import { createSnapshotArchive } from "../../../src/score/snapshot-archive.ts";
import { readMarketFolder } from "../../../src/sources/files/market-folder.ts";
import { sharedFolder } from "../../support/shared.ts";

const { path, isMissing } = sharedFolder("market", "signals on both sides of New Year");

const TIMEOUT_MS = 600_000;
const YEARS = [2016, 2017, 2018, 2019, 2020, 2021, 2022];

const newYear = (year: number): number => newYorkInstant(`${year}-01-01`, "00:00");

describe.skipIf(isMissing)("signals on real history", { timeout: TIMEOUT_MS }, async () => {
  if (isMissing) return;
  const market = await readMarketFolder(path);
  const kept: SavedSignals[] = [];
  const keeper: SavedSignalsStore = {
    keep: (signals) => void kept.push(signals),
    newest: (assetClass, before) =>
      kept.findLast((one) => one.assetClass === assetClass && one.at < before),
  };

  /** Returns, for every instrument, the sessions of a year as they are served at an instant. */
  function servedOf(
    year: number,
    at: number,
    use?: SavedSignalsStore,
  ): ReadonlyMap<string, string> {
    const archive = createSnapshotArchive();
    new ScoringEngine(market, archive, use).refresh(at);
    const records = archive.allNewest().flatMap(({ instrument: { symbol } }) =>
      [...archive.history(symbol, newYear(year), newYear(year + 1) - 1)].map((record) => {
        const text = JSON.stringify({ ...record, tables: null, factors: null });
        return [`${symbol} ${record.at}`, text] as const;
      }),
    );
    return new Map(records);
  }

  it("are the same whether they continue from stored signals or from the first session", () => {
    const last = newYear(2024) + 1;
    const whole = servedOf(2023, last, keeper);
    expect(whole.size).toBeGreaterThan(50_000);
    // A run that continues from saved signals gives the same result as a run from the first
    // session.
    expect(servedOf(2023, last, keeper)).toEqual(whole);
  });

  it.each(YEARS)("of the year %i are the same before and after the following New Year", (year) => {
    const before = servedOf(year, newYear(year + 1) - 1, keeper);
    const after = servedOf(year, newYear(year + 1) + 1, keeper);
    expect(before.size).toBeGreaterThan(50_000);
    const others = [...before].filter(([id, record]) => after.get(id) !== record);
    expect(others).toEqual([]);
    expect(after.size).toBe(before.size);
  });
});
