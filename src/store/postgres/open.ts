import { randomUUID } from "node:crypto";
import type { QueryResultRow } from "pg";
import {
  type Backlog,
  NoStoreError,
  type Store,
  type StoreCounts,
  type StoreIdentity,
  type StoreMode,
  type StoreSize,
  UNSETTLED,
} from "../port/store.ts";
import { storeUnavailableProblem } from "../port/unavailable.ts";
import { listenForAnnouncements } from "./announcements.ts";
import { createPostgresArchive } from "./archive.ts";
import { createCommits } from "./commits.ts";
import { type Connection, openConnection } from "./connection.ts";
import { createPostgresCounters } from "./counters.ts";
import { dumpRows, replaceAllRows } from "./dump.ts";
import { createRunOnce } from "./once.ts";
import { APPLICATION_PREFIX, OTHER_CONNECTIONS_SQL } from "./presence.ts";
import { createPostgresRecords } from "./records.ts";
import { type ExistingStore, prepareSchema, settleMode } from "./schema.ts";
import { type DatabaseSession, openSession } from "./session.ts";
import { type DatabaseTarget, explainConnectionErrors, parseDatabaseTarget } from "./target.ts";

/** How long work is retried while the database is unavailable, in milliseconds. */
const BUDGET_MS = 2_000;

/** Interval of the listener's connection checks, as a multiple of the time budget. */
const TRY_BUDGETS = 2.5;

/** Timeout of one statement of a dump, in milliseconds. */
const LONG_MS = 300_000;

/** Options of `openPostgres`. */
export interface PostgresOptions {
  /** Connection URL of the database (DATABASE_URL). */
  readonly url: string;
  /**
   * Mode of the store. If the store does not exist, it is created with this mode; a store of
   * another mode is rejected. Absent: the store must exist and can have any mode.
   */
  readonly mode?: StoreMode;
  /** Whether a new store belongs to its mode only once `settle` is called. Default: false. */
  readonly mustSettle?: boolean;
  /** Overrides the database's clock, in milliseconds since the epoch. */
  readonly now?: () => number;
  /** Called with warnings for the operator. */
  readonly onWarning?: (text: string, error?: unknown) => void;
  /** How long work is retried while the database is unavailable, in milliseconds. */
  readonly budgetMs?: number;
}

/**
 * Opens the store in a PostgreSQL database. Several processes can open the same store.
 *
 * @throws {Error} If the database cannot be used; the message contains the name of the database and
 * says what to do.
 */
export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const { url, now, onWarning = () => undefined, budgetMs = BUDGET_MS } = options;
  const target = parseDatabaseTarget(url);
  let isClosed = false;
  const connect = async (answerMs: number) => {
    if (isClosed) throw storeUnavailableProblem("The store is closed.");
    return openSession(target, { connectMs: budgetMs, answerMs });
  };
  const [meta, announcements] = await explainConnectionErrors(target, async () => {
    const session = await connect(LONG_MS);
    const listen = () =>
      listenForAnnouncements({
        connect: () => connect(budgetMs),
        tryMs: budgetMs * TRY_BUDGETS,
        onWarning,
      });
    try {
      return [await prepare(target, session, options), await listen()];
    } finally {
      await session.close();
    }
  });
  const connection = openConnection(target, budgetMs);
  const epoch = { current: meta.epoch };
  const once = createRunOnce(connection, { now, epoch });
  const commits = createCommits(once);
  let identity: StoreIdentity = { id: meta.id, mode: meta.mode };
  return {
    engine: "postgres",
    get identity() {
      return identity;
    },
    records: createPostgresRecords({ connection, commits, announcements, now }),
    archive: createPostgresArchive(connection, once),
    counters: createPostgresCounters(connection, now),
    counts: () => count(connection),
    size: () => sizeOf(connection),
    otherProcesses: () => otherProcessesOn(connection),
    backlog: (of) => backlogOf(connection, { collection: of.name, now: now?.() }),
    async *dump() {
      yield* dumpRows(await connect(LONG_MS));
    },
    async load(loaded, batches) {
      const session = await connect(LONG_MS);
      epoch.current = await replaceAllRows(session, loaded, batches).finally(session.close);
      identity = loaded;
    },
    async settle() {
      const session = await connect(budgetMs);
      const bound = await settleMode(session, identity.mode).finally(session.close);
      if (bound !== identity.mode) throw otherModeError(target, bound, identity.mode);
    },
    async close() {
      isClosed = true;
      await commits.close();
      await Promise.all([connection.close(), announcements.close()]);
    },
  };
}

async function prepare(
  target: DatabaseTarget,
  session: DatabaseSession,
  { mode, mustSettle, onWarning }: PostgresOptions,
): Promise<ExistingStore & StoreIdentity> {
  const { name } = target;
  const stored = mode && (mustSettle ? UNSETTLED : mode);
  const created = stored && { id: randomUUID(), mode: stored };
  const wanted = { name, ...(created && { created }), ...(onWarning && { onWarning }) };
  const found = await prepareSchema(session, wanted);
  if (found.isCopying) {
    throw new Error(
      `${name} holds a part of a store that version 1.0.0 began to move there, which is still where it was. Remove the part ("drop schema market_signal cascade") and run "market-signal store migrate --to <DATABASE_URL>" again.`,
    );
  }
  if (found.mode === UNSETTLED) {
    if (mode === undefined) throw new NoStoreError(name);
    return { ...found, mode };
  }
  if (mode === undefined || mode === found.mode) return { ...found, mode: found.mode as StoreMode };
  throw otherModeError(target, found.mode, mode);
}

const otherModeError = ({ name }: DatabaseTarget, found: string, mode: StoreMode): Error =>
  new Error(
    `${name} holds a store for the market "${found}", and this is "${mode}". Set DATABASE_URL to another database, or MARKET to what it was.`,
  );

async function count(connection: Connection): Promise<StoreCounts> {
  const text = `select (select count(*) from market_signal.record) as records,
    (select count(*) from market_signal.archive) as archive`;
  const { rows } = await connection.query<StoreCounts & QueryResultRow>({ name: "count", text });
  return rows[0] ?? { records: 0, archive: 0 };
}

/** Reads the size of the tables with their indexes. The archive includes all of its partitions. */
async function sizeOf(connection: Connection): Promise<StoreSize> {
  const text = `select
      (select greatest(reltuples, 0)::bigint from pg_class
        where oid = 'market_signal.record'::regclass) as records,
      pg_total_relation_size('market_signal.record')
        + pg_total_relation_size('market_signal.member')
        + (select coalesce(sum(pg_total_relation_size(relid)), 0)::bigint
          from pg_partition_tree('market_signal.archive')) as bytes`;
  const { rows } = await connection.query<StoreSize & QueryResultRow>({ name: "size", text });
  return rows[0] ?? { records: 0, bytes: 0 };
}

/** The other processes that use the store, each by its name and the connections of that name. */
async function otherProcessesOn(connection: Connection): Promise<readonly string[]> {
  const text = `select name, string_agg(pid::text, ' ' order by pid) as pids
    from (${OTHER_CONNECTIONS_SQL}) others group by name order by name`;
  const { rows } = await connection.query<Connected>({ name: "others", text });
  return rows.map(({ name, pids }) => {
    const shown = name.replace(`${APPLICATION_PREFIX} `, "") || "without a name";
    return `process ${shown} on PostgreSQL backend ${pids}`;
  });
}

/** Connections of the same name. */
interface Connected {
  readonly name: string;
  /** The process ids of their backends on the database server, separated by spaces. */
  readonly pids: string;
}

/** Counts the pending records of a collection; `now` overrides the clock of the database. */
async function backlogOf(
  connection: Connection,
  { collection, now }: { readonly collection: string; readonly now: number | undefined },
): Promise<Backlog> {
  const text = `with clock as materialized (
      select market_signal.instant($2, statement_timestamp()) as now)
    select count(*) as waiting,
      count(*) filter (where due_at <= now) as due,
      coalesce(max(now - due_at) filter (where due_at <= now), 0) as "oldestDueMs"
    from market_signal.record cross join clock
    where collection = $1 and due_at is not null and (expires_at is null or expires_at > now)`;
  const statement = { name: "backlog", text, values: [collection, now] };
  const { rows } = await connection.query<Backlog & QueryResultRow>(statement);
  return rows[0] ?? { waiting: 0, due: 0, oldestDueMs: 0 };
}
