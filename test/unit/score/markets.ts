import type { Market } from "../../../src/market/market.ts";
import { countKnown } from "../../../src/market/point-in-time.ts";
import type { InstrumentRecords, Known } from "../../../src/market/records.ts";
import { createEngine } from "../../../src/score/engine.ts";
import { createSnapshotArchive } from "../../../src/store/snapshot-archive.ts";
import type { ToolContext } from "../../../src/tool.ts";

type Lists = Omit<InstrumentRecords, "instrument">;
type Change = <R extends Known>(list: readonly R[], kind: keyof Lists) => readonly R[];

const changed = (
  { instrument, ...lists }: InstrumentRecords,
  change: Change,
): InstrumentRecords => {
  const kinds = Object.keys(lists) as (keyof Lists)[];
  const entries = kinds.map((kind) => [kind, change<Known>(lists[kind] ?? [], kind)] as const);
  return { instrument, ...(Object.fromEntries(entries) as unknown as Lists) };
};

/** Everything that became known after an instant is deleted, a feed that began then as well. */
export const withoutFuture = (records: InstrumentRecords, at: number): InstrumentRecords => {
  const past = changed(records, (list) => list.slice(0, countKnown(list, at)));
  const isKnown = ([name, list]: [string, unknown]) =>
    name === "instrument" || name === "bars" || (list as readonly Known[]).length > 0;
  return Object.fromEntries(Object.entries(past).filter(isKnown)) as unknown as InstrumentRecords;
};

/** Everything that became known after an instant is wrong, and every figure is restated then. */
export const withAnotherFuture = (records: InstrumentRecords, at: number): InstrumentRecords =>
  changed(records, <R extends Known>(list: readonly R[], kind: keyof Lists) => {
    const known = countKnown(list, at);
    const future = list.slice(known).map(distorted);
    const restated =
      kind === "fundamentals"
        ? list.slice(0, known).map((figure) => ({ ...distorted(figure), availableAt: at + 1 }))
        : [];
    return [...list.slice(0, known), ...restated, ...future] as readonly R[];
  });

/** A record of the same kind that says something else. */
function distorted<R extends Known>(record: R): R {
  const entries = Object.entries(record).map(([name, value]) => {
    if (name === "availableAt" || name === "periodEnd" || name === "tradedAt") return [name, value];
    if (typeof value === "number") return [name, value * 1.7 + 0.1];
    return [name, name === "text" ? "crash, avoid, terrible loss" : value];
  });
  return Object.fromEntries(entries) as R;
}

/** A market that consists of some records, scored from an instant on. */
export const marketOf = (
  market: Market,
  records: readonly InstrumentRecords[],
  origin: number,
): Market => ({ ...market, recordsUntil: () => records, walkStart: () => origin });

/** What every instrument's snapshot says at an instant, to the last bit. */
export function scoredAt(market: Market, at: number): ReadonlyMap<string, string> {
  const archive = createSnapshotArchive();
  createEngine(market, archive).refresh(at);
  return new Map(
    archive.allNewest().map((snapshot) => [snapshot.instrument.symbol, JSON.stringify(snapshot)]),
  );
}

/** What a tool sees of a market that is known up to an instant, and the tables behind it. */
export function toolContextAt(market: Market, at: number) {
  const archive = createSnapshotArchive();
  createEngine(market, archive).refresh(at);
  const records = new Map(
    market.recordsUntil(at).map((one) => [one.instrument.symbol, one] as const),
  );
  const found = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error("not listed");
    return value;
  };
  const context: ToolContext = {
    market: {
      mode: market.mode,
      source: market.source,
      dayMs: market.dayMs,
      now: () => at,
      knownUntil: () => at,
      instruments: () => archive.allNewest().map(({ instrument }) => instrument),
      records: (symbol) => found(records.get(symbol)),
    },
    snapshots: { ...archive, newest: (symbol) => found(archive.newest(symbol)) },
  };
  return { context, tables: archive.tables };
}
