import type { Archive, ArchiveRow, ArchiveSelection } from "../../src/store/port/archive.ts";
import type {
  Collection,
  DueRecordSelection,
  Operation,
  RecordSelection,
  Records,
  Stored,
  WriteOptions,
} from "../../src/store/port/records.ts";
import type { DumpRow, Store, StoreIdentity } from "../../src/store/port/store.ts";
import { storeUnavailableProblem } from "../../src/store/port/unavailable.ts";

type RecordRow = Extract<DumpRow, { table: "record" }>;
type HistoryRow = Extract<DumpRow, { table: "archive" }>;
type PlacedRow = HistoryRow & { readonly place: number };

/** Everything that the model stores. It is plain data, so that a clone is an independent store. */
export interface ModelDisk {
  identity: StoreIdentity;
  /** The highest number assigned so far, as the revision of a record or the place of a row. */
  revision: number;
  /** Ordered by revision; expired records remain until they are purged or overwritten. */
  records: readonly RecordRow[];
  /** Archive rows in insertion order. */
  archive: readonly PlacedRow[];
}

/** The data and the clock of a model. */
export interface ModelPlace {
  readonly disk: ModelDisk;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The data of an empty store. */
export function emptyDisk(identity: StoreIdentity): ModelDisk {
  return { identity, revision: 0, records: [], archive: [] };
}

/**
 * A minimal reference implementation of the store's ports, with which the engines are compared:
 * linear searches, one operation at a time, nothing durable.
 */
export function openModel({ disk, now }: ModelPlace): Store {
  let isOpen = true;
  const answer = async <T>(work: () => T): Promise<T> => {
    if (!isOpen) throw storeUnavailableProblem("The store is closed.");
    return work();
  };
  return {
    engine: "embedded",
    get identity() {
      return disk.identity;
    },
    records: modelRecords({ disk, now }, answer),
    archive: modelArchive(disk, answer),
    counts: () => answer(() => ({ records: disk.records.length, archive: disk.archive.length })),
    size: () => answer(() => ({ records: disk.records.length, bytes: 0 })),
    backlog: ({ name }) =>
      answer(() => {
        const rows = disk.records.filter((row) => row.collection === name && isAlive(row, now()));
        const waiting = rows.flatMap(({ dueAt }) => dueAt ?? []);
        const due = waiting.filter((dueAt) => dueAt <= now());
        const oldestDueMs = now() - Math.min(now(), ...due);
        return { waiting: waiting.length, due: due.length, oldestDueMs };
      }),
    async *dump() {
      const rows = () => disk.archive.map(({ place: _, ...row }) => row);
      yield* inBatches(await answer(() => [...disk.records, ...rows()]));
    },
    async load(identity, batches) {
      const rows = await allOf(batches);
      await answer(() => replaceAll(disk, identity, rows));
    },
    async settle() {},
    async close() {
      isOpen = false;
    },
  };
}

type Answer = <T>(work: () => T) => Promise<T>;

function modelRecords({ disk, now }: ModelPlace, answer: Answer): Records {
  let listeners: readonly Listener[] = [];
  const alive = (collection: string) =>
    disk.records.filter((row) => row.collection === collection && isAlive(row, now()));
  return {
    get: <T>(from: Collection<T>, key: string) =>
      answer(() => {
        const row = alive(from.name).find((each) => each.key === key);
        return row && stored<T>(row);
      }),
    list: <T>(from: Collection<T>, { group, after = 0, limit }: RecordSelection) =>
      answer(() =>
        alive(from.name)
          .filter((row) => group === undefined || row.groups.includes(group))
          .filter((row) => row.revision > after)
          .slice(0, limit)
          .map((row) => stored<T>(row)),
      ),
    listRevisions: ({ name }, { after = 0, limit }) =>
      answer(() =>
        alive(name)
          .filter(({ revision }) => revision > after)
          .slice(0, limit)
          .map(({ key, revision }) => ({ key, revision })),
      ),
    commit: (operations) =>
      answer(() => {
        const after = committed(disk, operations, now());
        if (after === undefined) return false;
        Object.assign(disk, after);
        queueMicrotask(() => tell(listeners, operations));
        return true;
      }),
    claimDue: <T>(from: Collection<T>, { limit, leaseMs, except = [] }: DueRecordSelection) =>
      answer(() => {
        const claimed = alive(from.name)
          .filter(({ dueAt }) => dueAt !== null && dueAt <= now())
          .filter(({ groups }) => !groups.some((group) => except.includes(group)))
          .sort((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0) || a.revision - b.revision)
          .slice(0, limit);
        for (const row of claimed) {
          Object.assign(disk, written(disk, { ...row, dueAt: Math.round(now() + leaseMs) }));
        }
        return disk.records.slice(disk.records.length - claimed.length).map(stored<T>);
      }),
    purgeExpired: (limit) =>
      answer(() => {
        const gone = disk.records.filter((row) => !isAlive(row, now())).slice(0, limit);
        disk.records = disk.records.filter((row) => !gone.includes(row));
        return gone.length;
      }),
    onAnnounce(topic, listener) {
      const added = { topic, listener };
      listeners = [...listeners, added];
      return () => {
        listeners = listeners.filter((other) => other !== added);
      };
    },
  };
}

interface Listener {
  readonly topic: string;
  readonly listener: (text: string) => void;
}

function tell(listeners: readonly Listener[], operations: readonly Operation[]): void {
  for (const operation of operations) {
    if (operation.kind !== "announce") continue;
    for (const { topic, listener } of listeners) {
      if (topic === operation.topic) attempt(() => listener(operation.text));
    }
  }
}

/** Calls a listener and ignores its errors, so that other listeners are not affected. */
function attempt(work: () => void): void {
  try {
    work();
  } catch {}
}

type Held = Pick<ModelDisk, "revision" | "records" | "archive">;

function committed(before: Held, operations: readonly Operation[], now: number): Held | undefined {
  let held: Held | undefined = before;
  for (const operation of operations) {
    checkNames(operation);
    held = held && afterStep(held, operation, now);
  }
  return held;
}

/** Applies one operation. @returns The new state; `undefined` when the operation fails. */
function afterStep(before: Held, operation: Operation, now: number): Held | undefined {
  switch (operation.kind) {
    case "announce":
      return before;
    case "append":
      return withRow(before, historyRow(operation.row));
    case "removeGroup": {
      const goes = (row: RecordRow) => isAlive(row, now) && row.groups.includes(operation.group);
      return { ...before, records: before.records.filter((row) => !goes(row)) };
    }
    case "checkList":
      return isSameList(before, operation, now) ? before : undefined;
    default:
      return afterRecordStep(before, operation, now);
  }
}

/** Operations on a single record. */
type RecordStep = Exclude<Operation, { kind: "removeGroup" | "append" | "announce" | "checkList" }>;

function isSameList(
  { records }: Held,
  { collection, group, after, count, newest, isWhole }: Extract<Operation, { kind: "checkList" }>,
  now: number,
): boolean {
  const listed = records
    .filter((row) => row.collection === collection && isAlive(row, now))
    .filter((row) => group === undefined || row.groups.includes(group))
    .filter(({ revision }) => revision > after && (isWhole || revision <= newest));
  return listed.length === count && (listed.at(-1)?.revision ?? after) === newest;
}

function afterRecordStep(before: Held, operation: RecordStep, now: number): Held | undefined {
  const there = before.records.find((row) => isSame(row, operation) && isAlive(row, now));
  if (operation.kind === "remove") {
    const { revision } = operation;
    const holds = revision === undefined || there?.revision === revision;
    return holds ? without(before, there) : undefined;
  }
  if (operation.kind === "check") {
    return there?.revision === operation.revision ? before : undefined;
  }
  if (operation.kind === "checkAbsent") return there === undefined ? before : undefined;
  const row = rowAfter(there, operation, now);
  return row && written(before, row);
}

/**
 * Applies a writing operation to a record. @returns The new record; `undefined` when the operation
 * fails.
 */
function rowAfter(
  there: RecordRow | undefined,
  operation: Exclude<RecordStep, { kind: "check" | "checkAbsent" | "remove" }>,
  now: number,
): RecordRow | undefined {
  switch (operation.kind) {
    case "put":
      return freshRow(operation, now);
    case "insert":
      return there ? undefined : freshRow(operation, now);
    case "replace":
      return there?.revision === operation.revision
        ? replacedRow(there, operation, now)
        : undefined;
    case "consume":
      return there?.consumedAt === null ? { ...there, consumedAt: now } : undefined;
  }
}

function without(before: Held, gone: RecordRow | undefined): Held {
  return { ...before, records: before.records.filter((row) => row !== gone) };
}

function written(before: Held, row: RecordRow): Held {
  const revision = before.revision + 1;
  const others = before.records.filter((other) => !isSame(other, row));
  return { ...before, revision, records: [...others, { ...row, revision }] };
}

function freshRow(
  operation: Extract<Operation, { kind: "put" | "insert" }>,
  now: number,
): RecordRow {
  const { collection, key, value, placing } = operation;
  const { groups, dueAt, expiresAt } = placed(placing, now);
  const text = jsonOf(value);
  return {
    ...{ table: "record", collection, key, text, revision: 0 },
    ...{ groups, expiresAt, dueAt, consumedAt: null },
  };
}

function placed({ groups = [], ttlMs, dueInMs }: WriteOptions, now: number) {
  const at = (ms: number | undefined) => (ms === undefined ? null : Math.round(now + ms));
  return { groups: [...groups], expiresAt: at(ttlMs), dueAt: at(dueInMs) };
}

function replacedRow(
  there: RecordRow,
  { value, placing }: Extract<Operation, { kind: "replace" }>,
  now: number,
): RecordRow {
  const moved = (ms: number | null | undefined, kept: number | null) => {
    if (ms === undefined) return kept;
    return ms === null ? null : Math.round(now + ms);
  };
  return {
    ...there,
    text: jsonOf(value),
    groups: [...(placing.groups ?? there.groups)],
    expiresAt: moved(placing.ttlMs, there.expiresAt),
    dueAt: moved(placing.dueInMs, there.dueAt),
  };
}

const isAlive = ({ expiresAt }: RecordRow, now: number) => expiresAt === null || expiresAt > now;

type Place = Pick<RecordRow, "collection" | "key">;
const isSame = (a: Place, b: Place) => a.collection === b.collection && a.key === b.key;

function stored<T>(row: RecordRow): Stored<T> {
  return {
    key: row.key,
    value: JSON.parse(row.text) as T,
    revision: row.revision,
    groups: [...row.groups],
    expiresAt: row.expiresAt ?? undefined,
    dueAt: row.dueAt ?? undefined,
    consumedAt: row.consumedAt ?? undefined,
  };
}

function checkNames(operation: Operation): void {
  const key = "key" in operation ? [operation.key] : [];
  const group = "group" in operation ? [operation.group] : [];
  const groups = "placing" in operation ? (operation.placing.groups ?? []) : [];
  for (const name of [...key, ...group, ...groups]) {
    checkName(name);
  }
}

function checkName(name: string): void {
  checkText(name);
  if (name.length > 512 || Buffer.byteLength(name) > 1000)
    throw new RangeError("A key or group is too long.");
}

function checkText(text: string): void {
  if (text.includes("\0") || !text.isWellFormed()) throw new RangeError("That is no text.");
}

function jsonOf(value: unknown): string {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new TypeError("That is not JSON.");
  return text;
}

function modelArchive(disk: ModelDisk, answer: Answer): Archive {
  return {
    append: (rows) =>
      answer(() => {
        const before = disk.archive.length;
        const { archive, revision } = rows.map(historyRow).reduce<Held>(withRow, disk);
        Object.assign(disk, { archive, revision });
        return archive.length - before;
      }),
    read: (kind, selection) =>
      answer(() =>
        selected(
          disk.archive.filter((row) => row.kind === kind),
          selection,
        ).map(archiveRow),
      ),
    follow: (kinds, after, limit) =>
      answer(() => {
        const next = disk.archive.filter(({ place }) => place > after).slice(0, limit);
        const rows = next.filter(({ kind }) => kinds.has(kind)).map(archiveRow);
        return { rows, place: next.at(-1)?.place ?? after };
      }),
    lastPlace: () => answer(() => disk.archive.at(-1)?.place ?? 0),
    prune: (kind, before) =>
      answer(() => {
        const kept = disk.archive.filter((row) => row.kind !== kind || row.at >= before);
        const gone = disk.archive.length - kept.length;
        disk.archive = kept;
        return gone;
      }),
  };
}

function withRow(before: Held, row: HistoryRow): Held {
  if (before.archive.some((other) => isSameRow(other, row))) return before;
  const revision = before.revision + 1;
  return { ...before, revision, archive: [...before.archive, { ...row, place: revision }] };
}

type Identity = Pick<HistoryRow, "kind" | "at" | "id">;
const isSameRow = (a: Identity, b: Identity) => a.kind === b.kind && a.at === b.at && a.id === b.id;

function historyRow({
  kind,
  at,
  id,
  subject = null,
  body,
}: Omit<ArchiveRow, "subject"> & {
  readonly subject?: string | null;
}): HistoryRow {
  for (const text of [kind, id, subject ?? ""]) checkName(text);
  if (Number.isNaN(at)) throw new RangeError("That is no instant.");
  return { table: "archive", kind, at, id, subject, text: jsonOf(body) };
}

function archiveRow({ kind, at, id, subject, text }: HistoryRow): ArchiveRow {
  return { kind, at, id, ...(subject === null ? {} : { subject }), body: JSON.parse(text) };
}

type Instant = Pick<HistoryRow, "at" | "id">;
const compared = (a: Instant, b: Instant) =>
  a.at - b.at || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));

function selected(
  rows: readonly HistoryRow[],
  { subject, from = -Infinity, to = Infinity, order, after, limit }: ArchiveSelection,
): readonly HistoryRow[] {
  const inOrder = (a: Instant, b: Instant) => (order === "oldest" ? 1 : -1) * compared(a, b);
  return rows
    .filter((row) => subject === undefined || row.subject === subject)
    .filter(({ at }) => at >= from && at <= to)
    .filter((row) => after === undefined || inOrder(row, after) > 0)
    .toSorted(inOrder)
    .slice(0, limit);
}

async function* inBatches(rows: readonly DumpRow[]): AsyncIterable<readonly DumpRow[]> {
  for (let at = 0; at < rows.length; at += 100) yield rows.slice(at, at + 100);
}

async function allOf(batches: AsyncIterable<readonly DumpRow[]>): Promise<readonly DumpRow[]> {
  const rows: DumpRow[] = [];
  for await (const batch of batches) rows.push(...batch);
  return rows;
}

function replaceAll(disk: ModelDisk, identity: StoreIdentity, rows: readonly DumpRow[]): void {
  for (const { text } of rows) JSON.parse(text);
  const records = rows.filter((row) => row.table === "record");
  const history = rows.filter((row) => row.table === "archive");
  const names = records.map(({ collection, key }) => JSON.stringify([collection, key]));
  if (new Set(names).size < names.length) throw new Error("A record is there twice.");
  const revision = Math.max(disk.revision, ...records.map((row) => row.revision));
  const { archive } = history.reduce<Held>(withRow, { revision, records, archive: [] });
  Object.assign(disk, { identity, revision: revision + history.length, records, archive });
}
