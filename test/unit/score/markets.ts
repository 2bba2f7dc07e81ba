import type { AlertService } from "../../../src/alerts/api/alert-service.ts";
import type { Channels } from "../../../src/alerts/channels/channels.ts";
import type { Watchlists } from "../../../src/alerts/watchlists/watchlists.ts";
import { LEXICON_READER } from "../../../src/ingest/sentiment-model.ts";
import type { Market } from "../../../src/market/market.ts";
import { countKnown } from "../../../src/market/point-in-time.ts";
import { FEEDS, type InstrumentRecords, type Known } from "../../../src/market/records.ts";
import { RISK_TABLE } from "../../../src/risk/measured-table.ts";
import { peerSigmas, riskOutlook } from "../../../src/risk/outlook.ts";
import { ScoringEngine } from "../../../src/score/scoring-engine.ts";
import { createSnapshotArchive } from "../../../src/score/snapshot-archive.ts";
import type { ToolContext } from "../../../src/tool.ts";

type Lists = Omit<InstrumentRecords, "instrument">;
type Change = <R extends Known>(list: readonly R[], kind: keyof Lists) => readonly R[];

const changed = (
  { instrument, ...lists }: InstrumentRecords,
  change: Change,
): InstrumentRecords => {
  const kinds = (["doubtedBars", ...FEEDS] as const).filter((kind) => lists[kind] !== undefined);
  const entries = kinds.map(
    (kind) => [kind, change<Known>([...(lists[kind] ?? [])], kind)] as const,
  );
  return { instrument, ...(Object.fromEntries(entries) as unknown as Lists) };
};

/** Everything that became known after an instant is deleted, a feed that began then as well. */
export const withoutFuture = (records: InstrumentRecords, at: number): InstrumentRecords => {
  const past = changed(records, (list) => list.slice(0, countKnown(list, at)));
  const isKnown = ([name, list]: [string, unknown]) =>
    name === "instrument" || name === "bars" || (list as readonly Known[]).length > 0;
  return Object.fromEntries(Object.entries(past).filter(isKnown)) as unknown as InstrumentRecords;
};

/** How much of a future is made up. */
const FUTURE_DAYS = 20;

/** Everything that becomes known after an instant is wrong, and every figure is restated then. */
export const withAnotherFuture = (
  records: InstrumentRecords,
  at: number,
  dayMs: number,
): InstrumentRecords =>
  changed(records, <R extends Known>(list: readonly R[], kind: keyof Lists) => {
    const known = countKnown(list, at);
    const future = list.slice(known, countKnown(list, at + FUTURE_DAYS * dayMs)).map(distorted);
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
): Market => ({
  ...market,
  recordsUntil: () => records,
  scoredFrom: () => origin,
  servedFrom: () => origin,
});

/** Texts are read once, however often a market is scored. */
const polarities = new Map<string, number>();
function polarityOf(text: string): number {
  const known = polarities.get(text) ?? LEXICON_READER.polarityOf(text);
  polarities.set(text, known);
  return known;
}

/**
 * Every instrument's newest snapshot at an instant, and those of the closes by then as they are
 * remembered at a later one.
 */
export function scoredAt(market: Market, at: number, later = at) {
  const archive = createSnapshotArchive();
  const engine = new ScoringEngine(market, archive, polarityOf);
  engine.refresh(at);
  const newest = new Map(archive.allNewest().map((one) => [one.instrument.symbol, one] as const));
  engine.refresh(later);
  const closed = [...newest.keys()].map((symbol) => [...archive.history(symbol, 0, at)]);
  return { newest, closed };
}

/** What is expected of every instrument at an instant, and what its level is compared with. */
export const risksAt = (records: readonly InstrumentRecords[], at: number) => ({
  outlooks: records.map((one) => riskOutlook(one, one.instrument.assetClass, at, RISK_TABLE)),
  peers: peerSigmas(
    records.map(({ bars }) => bars),
    "stock",
    { at, newestSince: 0 },
  ),
});

/** Tables that were found to be the same as others: many snapshots share them. */
const twins = new WeakMap<object, object>();

/** Where two immutable values differ in any bit, as ways through their members. */
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

/** The members of an object, those that are worked out when asked for as well. */
function membersOf(value: object): ReadonlyMap<unknown, unknown> {
  if (value instanceof Map) return value;
  const plain = "toJSON" in value && typeof value.toJSON === "function" ? value.toJSON() : value;
  return new Map(Object.entries(plain));
}

/** A market alone has nobody who could be told, and no lists. */
const nothing = <T extends object>(): T =>
  new Proxy({} as T, {
    get(_, name) {
      throw new Error(`there is nothing here to ${String(name)}`);
    },
  });

/** What a tool sees of a market that is known up to an instant, and the tables behind it. */
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
    watchlists: nothing<Watchlists>(),
    channels: nothing<Channels>(),
    analyser: LEXICON_READER.analyser,
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
