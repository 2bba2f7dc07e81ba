import type { AlertService } from "../../../src/alerts/api/alert-service.ts";
import type { ChannelService } from "../../../src/alerts/channels/channels.ts";
import type { WatchlistService } from "../../../src/alerts/watchlists/watchlists.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { Market } from "../../../src/market/market.ts";
import { countKnownRecords } from "../../../src/market/point-in-time.ts";
import {
  FEEDS,
  type InstrumentRecords,
  type PointInTimeRecord,
} from "../../../src/market/records.ts";
import { RISK_TABLE } from "../../../src/risk/measured-table.ts";
import { peerSigmas, riskOutlook } from "../../../src/risk/outlook.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import type { Snapshot } from "../../../src/score/snapshot.ts";
import { createSnapshotArchive } from "../../../src/score/snapshot-archive.ts";
import type { ToolContext } from "../../../src/tool/tool.ts";

type Lists = Omit<InstrumentRecords, "instrument">;
type Change = <R extends PointInTimeRecord>(list: readonly R[], kind: keyof Lists) => readonly R[];

const changed = (
  { instrument, ...lists }: InstrumentRecords,
  change: Change,
): InstrumentRecords => {
  const kinds = (["doubtedBars", ...FEEDS] as const).filter((kind) => lists[kind] !== undefined);
  const entries = kinds.map(
    (kind) => [kind, change<PointInTimeRecord>([...(lists[kind] ?? [])], kind)] as const,
  );
  return { instrument, ...(Object.fromEntries(entries) as unknown as Lists) };
};

/** Deletes all records that became known after an instant, including feeds that began later. */
export const withoutFuture = (records: InstrumentRecords, at: number): InstrumentRecords => {
  const past = changed(records, (list) => list.slice(0, countKnownRecords(list, at)));
  const isKnown = ([name, list]: [string, unknown]) =>
    name === "instrument" || name === "bars" || (list as readonly PointInTimeRecord[]).length > 0;
  return Object.fromEntries(Object.entries(past).filter(isKnown)) as unknown as InstrumentRecords;
};

/** Number of days of false data after the instant. */
const FUTURE_DAYS = 20;

/**
 * Distorts all records that become known after an instant, and restates every fundamental known by
 * then, with distorted values, one millisecond after the instant.
 */
export const withAnotherFuture = (
  records: InstrumentRecords,
  at: number,
  dayMs: number,
): InstrumentRecords =>
  changed(records, <R extends PointInTimeRecord>(list: readonly R[], kind: keyof Lists) => {
    const known = countKnownRecords(list, at);
    const future = list
      .slice(known, countKnownRecords(list, at + FUTURE_DAYS * dayMs))
      .map(distorted);
    const restated =
      kind === "fundamentals"
        ? list.slice(0, known).map((figure) => ({ ...distorted(figure), availableAt: at + 1 }))
        : [];
    return [...list.slice(0, known), ...restated, ...future] as readonly R[];
  });

/** Returns a record with the same times, but other numbers and text. */
function distorted<R extends PointInTimeRecord>(record: R): R {
  const entries = Object.entries(record).map(([name, value]) => {
    if (name === "availableAt" || name === "periodEnd" || name === "tradedAt") return [name, value];
    if (typeof value === "number") return [name, value * 1.7 + 0.1];
    return [name, name === "text" ? "crash, avoid, terrible loss" : value];
  });
  return Object.fromEntries(entries) as R;
}

/** A market that consists of the given records and is scored from an instant on. */
export const marketOf = (
  market: Market,
  records: readonly InstrumentRecords[],
  origin: number,
): Market => ({
  ...market,
  recordsUntil: () => records,
  scoredFrom: () => origin,
  servedFrom: () => origin,
});

/** A market of daily records that is scored and served from an instant on. */
export const dailyMarket = (
  records: readonly InstrumentRecords[],
  from: number,
  sessionOf: (day: number) => string = String,
): Market => ({
  mode: "files",
  source: { id: "test", name: "Test", terms: "", simulated: false },
  dayMs: DAY_MS,
  recordsUntil: () => records,
  sessionAt: (at) => sessionOf(Math.floor(at / DAY_MS)),
  scoredFrom: () => from,
  servedFrom: () => from,
});

/** The final snapshots of the sessions that close while an engine is refreshed at instants. */
export function closedSnapshots(market: Market, instants: readonly number[]): readonly Snapshot[] {
  const closed: Snapshot[] = [];
  const addClosed = (snapshot: Snapshot) => void closed.push(snapshot);
  const engine = new ScoringEngine(market, { clear() {}, setNewest() {}, addClosed });
  for (const at of instants) engine.refresh(at);
  return closed;
}

/**
 * Returns the newest snapshot of each instrument at an instant, and the snapshots of earlier closes
 * as stored at a later instant.
 */
export function scoredAt(market: Market, at: number, later = at) {
  const archive = createSnapshotArchive();
  const engine = new ScoringEngine(market, archive);
  engine.refresh(at);
  const newest = new Map(archive.allNewest().map((one) => [one.instrument.symbol, one] as const));
  engine.refresh(later);
  const closed = [...newest.keys()].map((symbol) => [...archive.history(symbol, 0, at)]);
  return { newest, closed };
}

/**
 * Returns the risk outlooks at an instant, and the peer forecasts with which risk levels are
 * compared.
 */
export const risksAt = (records: readonly InstrumentRecords[], at: number) => ({
  outlooks: records.map((one) => riskOutlook(one, one.instrument.assetClass, at, RISK_TABLE)),
  peers: peerSigmas(
    records.map(({ bars }) => bars),
    "stock",
    { at, newestSince: 0 },
  ),
});

/**
 * Pairs of tables already found to be equal, so that tables that many snapshots share are compared
 * only once.
 */
const twins = new WeakMap<object, object>();

/** Returns the member paths at which two immutable values differ in any bit. */
export function differences(a: unknown, b: unknown, path = ""): readonly string[] {
  if (Object.is(a, b)) return [];
  if (!isObject(a) || !isObject(b)) return [`${path} ${String(a)} ${String(b)}`];
  if (twins.get(a) === b) return [];
  const [mine, other] = [membersOf(a), membersOf(b)];
  const names = new Set([...mine.keys(), ...other.keys()]);
  const found = [...names].flatMap((name) =>
    differences(mine.get(name), other.get(name), `${path}/${String(name)}`),
  );
  if (found.length === 0 && path.endsWith("/tables")) twins.set(a, b);
  return found;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Returns the members of an object, including members that are computed on access. */
function membersOf(value: object): ReadonlyMap<unknown, unknown> {
  if (value instanceof Map) return value;
  const plain = "toJSON" in value && typeof value.toJSON === "function" ? value.toJSON() : value;
  return new Map(Object.entries(plain));
}

/** Creates a stand-in for a service that the tool must not use: every access throws. */
const nothing = <T extends object>(): T =>
  new Proxy({} as T, {
    get(_, name) {
      throw new Error(`there is nothing here to ${String(name)}`);
    },
  });

/** The context of a tool for a market that is known up to an instant, and the tables in use. */
export function toolContextAt(market: Market, at: number) {
  const archive = createSnapshotArchive();
  new ScoringEngine(market, archive).refresh(at);
  const records = new Map(
    market.recordsUntil(at).map((one) => [one.instrument.symbol, one] as const),
  );
  const found = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error("not listed");
    return value;
  };
  const context: ToolContext = {
    alerts: nothing<AlertService>(),
    watchlists: nothing<WatchlistService>(),
    channels: nothing<ChannelService>(),
    market: {
      mode: market.mode,
      source: market.source,
      dayMs: market.dayMs,
      now: () => at,
      knownUntil: () => at,
      sessionAt: market.sessionAt,
      instruments: () => archive.allNewest().map(({ instrument }) => instrument),
      records: (symbol) => found(records.get(symbol)),
    },
    snapshots: { ...archive, newest: (symbol) => found(archive.newest(symbol)) },
  };
  return { context, tables: archive.tables };
}
