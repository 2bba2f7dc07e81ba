import { describe, expect, it } from "vitest";
import type { InstrumentRecords, Known } from "../../../src/market/records.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import { createSnapshotArchive } from "../../../src/score/snapshot-archive.ts";
import { createSandbox } from "../../../src/sources/sandbox/sandbox.ts";
import { differences, marketOf } from "./markets.ts";

const DAY_MS = 60_000;
const START = Math.floor(Date.UTC(2026, 10, 21, 4) / DAY_MS) * DAY_MS;
/** One session and the close after it. */
const END = START + 1.2 * DAY_MS;

const sandbox = createSandbox({ seed: 11, sessionSeconds: DAY_MS / 1000 });
const market = marketOf(sandbox, sandbox.recordsUntil(END), START - 2 * DAY_MS);

function start() {
  const archive = createSnapshotArchive();
  return { archive, engine: new ScoringEngine(market, archive) };
}

/** When something became known, and of whom, instants ascending. */
function news(): readonly (readonly [number, readonly string[]])[] {
  const known = market.recordsUntil(END).flatMap(({ instrument, ...lists }) =>
    Object.values(lists as Omit<InstrumentRecords, "instrument">)
      .flatMap((list) => Array.from<Known>(list).map(({ availableAt }) => availableAt))
      .filter((at) => at > START && at <= END)
      .map((at) => [at, instrument.symbol] as const),
  );
  const byInstant = Map.groupBy(known, ([at]) => at);
  return [...byInstant]
    .sort(([a], [b]) => a - b)
    .map(([at, list]) => [at, [...new Set(list.map(([, symbol]) => symbol))]]);
}

describe("an engine that is updated record by record", () => {
  const told = start();
  told.engine.refresh(START);
  const asked = start();
  const events = news();

  const startedOver = (at: number) => {
    const fresh = start();
    fresh.engine.refresh(at);
    return fresh;
  };
  /** Where some instruments are not as another engine has them. */
  const wrong = (other: typeof told.archive, symbols: readonly string[]) =>
    symbols.flatMap((symbol) =>
      differences(told.archive.newest(symbol), other.newest(symbol), symbol),
    );

  it("has the same instruments as a full refresh, and as a fresh start", () => {
    expect(events.length).toBeGreaterThan(200);
    asked.engine.refresh(START);
    for (const [index, [at, symbols]] of events.entries()) {
      told.engine.update(symbols, at);
      asked.engine.refresh(at);
      const isChosen = index % Math.floor(events.length / 4) === 7;
      const others = isChosen ? [asked, startedOver(at)] : [asked];
      for (const { archive } of others) expect(wrong(archive, symbols), `${at}`).toEqual([]);
    }
  });

  it("closes each session once, for every class", () => {
    const last = events.at(-1)?.[0] ?? END;
    for (const { instrument } of market.recordsUntil(END)) {
      const { symbol } = instrument;
      const closes = ({ archive }: typeof told) =>
        Array.from(archive.history(symbol, START - 2 * DAY_MS, last), ({ at, signal }) => ({
          at,
          signal,
        }));
      expect(closes(told).length, symbol).toBeLessThanOrEqual(4);
      expect(closes(told), symbol).toEqual(closes(asked));
    }
    expect(told.archive.allNewest().length).toBeGreaterThan(40);
  });

  it("drifts by rounding only", () => {
    expect(told.engine.drift()).toBeLessThan(1e-13);
    expect(told.engine.drift()).toBe(asked.engine.drift());
  });
});
