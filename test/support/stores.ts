import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { beforeAll, describe, onTestFinished } from "vitest";
import type { Records } from "../../src/store/port/records.ts";
import type { DumpRow, Store, StoreMode } from "../../src/store/port/store.ts";
import { openPostgres } from "../../src/store/postgres/open.ts";
import { openEmbedded } from "../../src/store/sqlite/open.ts";
import type { TestTag } from "../tiers.ts";
import { atFileEnd } from "./file-end.ts";
import { createDatabase, postgresAvailable, sharedPostgres } from "./postgres.ts";
import { emptyDisk, openModel } from "./store-model.ts";

/** Mode of all stores in these tests. */
const MODE: StoreMode = "sandbox";

/** Test options for busy machines; `timeout` is in milliseconds. */
export const PATIENT = { timeout: 60_000 } as const;

/** Start of a test's clock, Unix milliseconds. */
export const START = Date.UTC(2026, 10, 21, 12);

/** Retry budget of the PostgreSQL store in milliseconds, long enough for a busy machine. */
const BUDGET_MS = 60_000;

/** The clock of a store. */
interface StoreClock {
  /** Unix milliseconds. */
  readonly now: () => number;
}

/**
 * A kind of store under test. Stores that are still open after the last test of the file are
 * discarded.
 */
export interface Engine {
  readonly name: string;
  /** Whether the engine cannot run on this machine; its tests are then skipped. */
  readonly isMissing: boolean;
  /** Whether two processes can open the same store. */
  readonly isShared: boolean;
  /** Tags of its tests: those on PostgreSQL belong to the full tier. */
  readonly tags: readonly TestTag[];
  /** Starts what all stores of this engine share. */
  start(): Promise<void>;
  /** Opens a new, empty store. */
  open(clock: StoreClock): Promise<Store>;
  /** Closes a store and opens it again, as a restart does. */
  reopen(store: Store): Promise<Store>;
  /** Opens an open store a second time, as a second process does. */
  openBeside(store: Store): Promise<Store>;
  /** Closes all handles of a store and removes its data. */
  discard(store: Store): Promise<void>;
}

/** Location of one store. */
interface Place {
  readonly open: () => Promise<Store>;
  readonly leave: () => Promise<void>;
}

const places = new Map<Store, Place>();

function placeOf(store: Store): Place {
  const place = places.get(store);
  if (place === undefined) throw new Error("No engine of the tests has this store.");
  return place;
}

async function openedAt(place: Place): Promise<Store> {
  const store = await place.open();
  places.set(store, place);
  discardAtFileEnd(store);
  return store;
}

async function discard(store: Store): Promise<void> {
  const place = placeOf(store);
  const handles = [...places.keys()].filter((other) => placeOf(other) === place);
  for (const handle of handles) places.delete(handle);
  await Promise.all(handles.map((handle) => handle.close()));
  await place.leave();
}

/** Discards a store after the last test of the file, unless a test has done so. */
function discardAtFileEnd(store: Store): void {
  atFileEnd(async () => {
    if (places.has(store)) await discard(store);
  });
}

function engine(
  traits: Pick<Engine, "name" | "isMissing" | "isShared" | "tags"> & Partial<Pick<Engine, "start">>,
  newPlace: (clock: StoreClock) => Promise<Place>,
): Engine {
  return {
    start: async () => undefined,
    ...traits,
    open: async (clock) => openedAt(await newPlace(clock)),
    async reopen(store) {
      await store.close();
      return openedAt(placeOf(store));
    },
    openBeside: (store) => openedAt(placeOf(store)),
    discard,
  };
}

/** The reference implementation, with which the engines are compared. */
export const model = engine(
  { name: "the model", isMissing: false, isShared: false, tags: [] },
  async ({ now }) => {
    const disk = emptyDisk({ id: crypto.randomUUID(), mode: MODE });
    return { open: async () => openModel({ disk, now }), leave: async () => undefined };
  },
);

/** The embedded engine, with a temporary folder for each store. */
export const embedded = engine(
  { name: "embedded", isMissing: false, isShared: false, tags: [] },
  async ({ now }) => {
    const folder = await mkdtemp(join(tmpdir(), "store-"));
    return {
      open: () => openEmbedded({ folder, mode: MODE, now }),
      leave: () => rm(folder, { recursive: true }),
    };
  },
);

if (!postgresAvailable) process.stderr.write("\nSKIPPED: the store on PostgreSQL\n\n");

/** Databases of discarded stores. Reusing one takes a tenth of the time of creating one. */
const databases: string[] = [];

async function emptyDatabase(): Promise<string> {
  const url = databases.pop();
  if (url === undefined) return createDatabase();
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("drop schema if exists market_signal cascade");
  await client.end();
  return url;
}

/** PostgreSQL, with one server for all test files of a worker and a database for each store. */
export const postgres = engine(
  {
    name: postgresAvailable ? "postgres" : "postgres (SKIPPED: it cannot be started here)",
    isMissing: !postgresAvailable,
    isShared: true,
    tags: ["full"],
    start: async () => void (await sharedPostgres()),
  },
  async ({ now }) => {
    const url = await emptyDatabase();
    return {
      open: () => openPostgres({ url, mode: MODE, now, budgetMs: BUDGET_MS }),
      leave: async () => void databases.push(url),
    };
  },
);

/** The engines with durable data. */
export const engines: readonly Engine[] = [embedded, postgres];

/** A store and a clock that the test controls. */
export interface TestStore extends Pick<Store, "records" | "archive"> {
  readonly store: Store;
  readonly clock: { now: number };
  /** Closes the store and opens it again, as a restart does. */
  reopen(): Promise<TestStore>;
  /** Opens the store a second time, as a second process does. */
  openBeside(): Promise<TestStore>;
}

/** Opens a new store for one test; it is discarded after the test. */
export async function openStore(of: Engine): Promise<TestStore> {
  const clock = { now: START };
  const store = await of.open({ now: () => clock.now });
  onTestFinished(() => of.discard(store));
  return testStore(of, store, clock);
}

function testStore(of: Engine, store: Store, clock: { now: number }): TestStore {
  return {
    store,
    records: store.records,
    archive: store.archive,
    clock,
    reopen: async () => testStore(of, await of.reopen(store), clock),
    openBeside: async () => testStore(of, await of.openBeside(store), clock),
  };
}

/**
 * Runs the same tests for the model and for every engine. For tests of the guarantees of a store.
 */
export function describeStores(title: string, tests: (engine: Engine) => void): void {
  describeOn([model, ...engines], title, tests);
}

/** Runs the same tests for every engine. For tests of code that uses a store. */
export function describeEngines(title: string, tests: (engine: Engine) => void): void {
  describeOn(engines, title, tests);
}

function describeOn(all: readonly Engine[], title: string, tests: (engine: Engine) => void): void {
  for (const each of all) {
    const options = { ...PATIENT, tags: [...each.tags] };
    describe.skipIf(each.isMissing)(`${title} (${each.name})`, options, () => {
      beforeAll(() => each.start(), 3 * PATIENT.timeout);
      tests(each);
    });
  }
}

/** Wraps a store so that a function is called before each write, which fails if it throws. */
export function beforeWrites(
  store: TestStore,
  before: { readonly append: () => void; readonly commit: () => void },
): TestStore {
  const { records, archive } = store;
  return {
    ...store,
    archive: {
      async append(rows) {
        before.append();
        return archive.append(rows);
      },
      read: (kind, selection) => archive.read(kind, selection),
      follow: (kinds, after, limit) => archive.follow(kinds, after, limit),
      lastPlace: () => archive.lastPlace(),
      prune: (kind, before) => archive.prune(kind, before),
    },
    records: {
      get: (from, key) => records.get(from, key),
      list: (from, selection) => records.list(from, selection),
      listRevisions: (from, selection) => records.listRevisions(from, selection),
      async commit(operations) {
        before.commit();
        return records.commit(operations);
      },
      claimDue: (from, selection) => records.claimDue(from, selection),
      purgeExpired: (limit) => records.purgeExpired(limit),
      onAnnounce: (topic, listener) => records.onAnnounce(topic, listener),
    },
  };
}

/** All rows of a store, in the order of its dump. */
export async function dumpStore(store: Store): Promise<readonly DumpRow[]> {
  const rows: DumpRow[] = [];
  for await (const batch of store.dump()) rows.push(...batch);
  return rows;
}

/** Yields rows for `load` in batches of the given size. */
export async function* inBatches(
  rows: readonly DumpRow[],
  size: number,
): AsyncIterable<readonly DumpRow[]> {
  for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size);
}

/** Real time by which a slow store delays each call, in milliseconds. */
const SLOWED_MS = 3;

/** Wraps records so that each call is delayed and concurrent callers interleave. */
export function slowRecords(records: Records): Records {
  const late = async <T>(call: () => Promise<T>): Promise<T> => {
    await delay(SLOWED_MS);
    return call();
  };
  return {
    get: (from, key) => late(() => records.get(from, key)),
    list: (from, selection) => late(() => records.list(from, selection)),
    listRevisions: (from, selection) => late(() => records.listRevisions(from, selection)),
    commit: (operations) => late(() => records.commit(operations)),
    claimDue: (from, selection) => late(() => records.claimDue(from, selection)),
    purgeExpired: (limit) => late(() => records.purgeExpired(limit)),
    onAnnounce: (topic, listener) => records.onAnnounce(topic, listener),
  };
}
