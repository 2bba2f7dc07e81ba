import { expect, it } from "vitest";
import type { Market } from "../../../src/market/market.ts";
import { countKnownRecords } from "../../../src/market/point-in-time.ts";
import type {
  InstrumentRecords,
  PointInTimeRecord,
  RecordList,
} from "../../../src/market/records.ts";
import { closeOf, DAYS, METHOD_MARKET } from "../../../src/method/invented-market.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import { createSnapshotArchive } from "../../../src/score/snapshot-archive.ts";
import { differences } from "./markets.ts";

const BEFORE = closeOf(DAYS - 70);
const FEEDS = ["fundamentals", "mentions", "prints", "shortVolumes"] as const;

it("the scoring engine uses a record as soon as it is known, even if it is inserted before a later-dated record", () => {
  const added: (() => number)[] = [];
  const until = closeOf(DAYS - 5);
  const list = METHOD_MARKET.recordsUntil(until).map((one): InstrumentRecords => {
    const lists = FEEDS.flatMap((feed) => {
      const list: RecordList<PointInTimeRecord> = one[feed] ?? [];
      const all = list.slice(0, countKnownRecords(list, closeOf(DAYS - 10)));
      const last = all.at(-1);
      if (last !== undefined) all.push({ ...last, availableAt: closeOf(DAYS - 8) });
      const from = countKnownRecords(all, BEFORE);
      const next = all[from]?.availableAt ?? 0;
      const to = countKnownRecords(all, Math.max(next, BEFORE + 2 * METHOD_MARKET.dayMs));
      if (to === from || to === all.length) return [];
      const some = all.splice(from, to - from);
      added.push(() => all.splice(from, 0, ...some).length);
      return [[feed, all] as const];
    });
    return { ...one, ...Object.fromEntries(lists) };
  });
  const market: Market = { ...METHOD_MARKET, recordsUntil: () => list };
  const started = () => {
    const archive = createSnapshotArchive();
    return { archive, engine: new ScoringEngine(market, archive) };
  };
  const running = started();
  // At the second instant, readers have already stored the time at which the next record becomes
  // known.
  for (const at of [BEFORE, BEFORE + 1]) running.engine.refresh(at);
  for (const add of added) add();
  expect(added.length).toBeGreaterThan(20);
  const fresh = started();
  for (let day = DAYS - 69; day <= DAYS - 5; day++) running.engine.refresh(closeOf(day));
  fresh.engine.refresh(until);
  for (const { instrument } of fresh.archive.allNewest()) {
    const { symbol } = instrument;
    for (let day = DAYS - 69; day <= DAYS - 5; day++) {
      const [one, other] = [running, fresh].map(({ archive }) =>
        archive.lastAt(symbol, closeOf(day)),
      );
      expect(one?.series).toBe(other?.series);
      expect(differences(one, other, symbol)).toEqual([]);
    }
  }
});
