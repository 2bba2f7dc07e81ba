import { NoStoreError, UNSETTLED } from "../port/store.ts";
import { archiveFunctionsSql, archiveTablesSql, followFunctionSql } from "./archive-sql.ts";
import { claimFunctionSql } from "./claim-sql.ts";
import { counterTableSql } from "./counters.ts";
import { lockKeySql } from "./locks.ts";
import { memberTableSql, memberTriggersSql } from "./member-sql.ts";
import { onceFunctionsSql, onceTablesSql } from "./once-sql.ts";
import { OTHER_CONNECTIONS_SQL } from "./presence.ts";
import { commitFunctionSql, recordFunctionsSql, recordTablesSql } from "./record-sql.ts";
import type { DatabaseSession } from "./session.ts";

const migrations = `
/* "if not exists" would ask for the right to create schemas even where there is one. */
do $$ begin
  if to_regnamespace('market_signal') is null then
    create schema market_signal;
  end if;
end $$;
create table market_signal.migration (
  version int primary key,
  applied_at timestamptz not null default clock_timestamp()
);
`;

/**
 * SQL that creates the table with facts about the store. The table has one row. `is_copying` is set
 * in a database that version 1.0.0 has filled only in part. `epoch` changes with each load.
 */
const meta = `
create table market_signal.meta (
  only_row boolean primary key default true check (only_row),
  id text not null,
  mode text not null,
  created_at timestamptz not null default clock_timestamp(),
  is_copying boolean not null,
  epoch uuid not null default gen_random_uuid()
);
`;

/** SQL that creates everything in an empty database, with the newest schema. */
const creation = [
  ...[migrations, meta, onceTablesSql, recordTablesSql, memberTableSql, memberTriggersSql],
  ...[archiveTablesSql, counterTableSql, onceFunctionsSql, commitFunctionSql, claimFunctionSql],
  ...[recordFunctionsSql, archiveFunctionsSql, followFunctionSql],
].join("\n");

/** The schema of version 1.0.0 of the program, the oldest that is upgraded. */
const OLDEST_SCHEMA = 5;

/**
 * SQL steps that upgrade each schema to the next, from the oldest one on. Released steps must not
 * be changed; new steps are appended, and `creation` follows them.
 */
const upgrades: readonly string[] = [
  // Keeps programs out that cannot read sealed URLs of webhooks; no table changes. The start of the
  // service seals those of before.
  "",
  // Drops the functions by which commits took records of versions before 1.0.0.
  "drop function if exists market_signal.is_unsealed(json), market_signal.outbox_row(json)",
  // Lists the members of groups by collection and revision. Commits of other processes wait, and go
  // on as before: triggers do what is new.
  `select pg_advisory_xact_lock(${lockKeySql("records")});
  ${memberTableSql}
  ${memberTriggersSql}
  insert into market_signal.member (name, collection, revision, expires_at)
  select distinct name, collection, revision, expires_at
  from market_signal.record cross join unnest(groups) as name;
  drop index market_signal.record_groups, market_signal.record_revision;
  create unique index record_revision on market_signal.record (collection, revision);
  ${commitFunctionSql}
  analyze market_signal.member;`,
  // The places of archive rows were drawn from the beginning; now they can be followed.
  followFunctionSql,
];

/** The schema that this program uses. */
const SCHEMA = OLDEST_SCHEMA + upgrades.length;

/** Facts about a store that are kept in its database. */
interface StoreMeta {
  readonly id: string;
  /** The mode of the store, or `UNSETTLED`. */
  readonly mode: string;
}

/** A store that was found in a database. */
export interface ExistingStore extends StoreMeta {
  /** Whether version 1.0.0 began to move a store to this database, and did not finish. */
  readonly isCopying: boolean;
  /** A UUID that changes with each load. */
  readonly epoch: string;
}

/** Which store to look for, and where. */
interface ExpectedStore {
  /** Name of the database, for messages. */
  readonly name: string;
  /** The store to create if the database has none. Absent: a missing store is an error. */
  readonly created?: StoreMeta;
  /** Called with warnings for the operator. */
  readonly onWarning?: (text: string) => void;
}

/**
 * Upgrades the schema and finds the store, in one transaction. If several processes start at the
 * same time, one upgrades while the others wait.
 *
 * @throws {Error} If the server or the schema cannot be used, or if there is no store; the message
 * says what to do.
 */
export async function prepareSchema(
  session: DatabaseSession,
  wanted: ExpectedStore,
): Promise<ExistingStore> {
  const { name, created } = wanted;
  await checkServer(session, wanted);
  return inTransaction(session, async () => {
    await session.query(`select pg_advisory_xact_lock(${lockKeySql("schema")})`);
    const version = await versionOf(session);
    if (version > SCHEMA) {
      throw new Error(
        `${name} was written by a newer version of this program (schema ${version}, known is ${SCHEMA}); install that version.`,
      );
    }
    if (version > 0 && version < OLDEST_SCHEMA) {
      throw new Error(
        `${name} was written before version 1.0.0 (schema ${version}): start version 1.0.0 on it once, then this one.`,
      );
    }
    if (version === 0 && created === undefined) throw new NoStoreError(name);
    await migrateFrom(session, version);
    await removeUnsettled(session);
    return (await readMeta(session)) ?? createMeta(session, wanted);
  });
}

async function versionOf(session: DatabaseSession): Promise<number> {
  const [schema] = await session.query<{ is_there: boolean }>(
    "select to_regclass('market_signal.migration') is not null as is_there",
  );
  if (schema?.is_there !== true) return 0;
  const [newest] = await session.query<{ version: number }>(
    "select coalesce(max(version), 0) as version from market_signal.migration",
  );
  return newest?.version ?? 0;
}

async function migrateFrom(session: DatabaseSession, version: number): Promise<void> {
  if (version === SCHEMA) return;
  const steps = version === 0 ? [creation] : upgrades.slice(version - OLDEST_SCHEMA);
  for (const sql of steps) await session.query(sql);
  await session.query("insert into market_signal.migration (version) values ($1)", [SCHEMA]);
}

/**
 * Removes a store that no start has settled, unless another process is about to settle it: each
 * process keeps a connection from before it looks for the store until it ends.
 */
async function removeUnsettled(session: DatabaseSession): Promise<void> {
  const [abandoned] = await session.query<{ id: string }>(
    `delete from market_signal.meta
     where mode = $1 and not exists (${OTHER_CONNECTIONS_SQL}) returning id`,
    [UNSETTLED],
  );
  if (abandoned === undefined) return;
  await session.query("delete from market_signal.record");
  await session.query("delete from market_signal.archive");
}

/**
 * Binds the store to a mode.
 *
 * @returns The mode that the store has; another one if another process was faster.
 */
export async function settleMode(session: DatabaseSession, mode: string): Promise<string> {
  const [bound] = await session.query<{ mode: string }>(
    `update market_signal.meta set mode = case mode when $2 then $1 else mode end returning mode`,
    [mode, UNSETTLED],
  );
  return bound?.mode ?? mode;
}

async function readMeta(session: DatabaseSession): Promise<ExistingStore | undefined> {
  const [found] = await session.query<ExistingStore>(
    `select id, mode, is_copying as "isCopying", epoch from market_signal.meta`,
  );
  return found;
}

async function createMeta(
  session: DatabaseSession,
  { name, created }: ExpectedStore,
): Promise<ExistingStore> {
  const [rows] = await session.query<{ remain: boolean }>(
    `select exists (select from market_signal.record)
       or exists (select from market_signal.archive) as remain`,
  );
  if (rows?.remain === true) {
    throw new Error(
      `${name} holds records, but market_signal.meta does not say of which store: it is damaged. Set DATABASE_URL to an empty database and run "market-signal store restore <backup>".`,
    );
  }
  if (created === undefined) throw new NoStoreError(name);
  await writeMeta(session, created);
  const found = await readMeta(session);
  if (found === undefined) throw new NoStoreError(name);
  return found;
}

/**
 * Changes the epoch, which invalidates what other processes have read.
 *
 * @returns The new epoch.
 */
export async function changeEpoch(session: DatabaseSession): Promise<string> {
  const [changed] = await session.query<{ epoch: string }>(
    "update market_signal.meta set epoch = gen_random_uuid() returning epoch",
  );
  return changed?.epoch ?? "";
}

/** Writes the facts about the store. */
export async function writeMeta(session: DatabaseSession, { id, mode }: StoreMeta): Promise<void> {
  await session.query(
    `insert into market_signal.meta (id, mode, is_copying) values ($1, $2, false)
     on conflict (only_row) do update set id = excluded.id, mode = excluded.mode`,
    [id, mode],
  );
}

/** Runs work in a durable transaction, which is rolled back if the work fails. */
export async function inTransaction<T>(
  session: DatabaseSession,
  work: () => Promise<T>,
): Promise<T> {
  await session.query("begin");
  try {
    await session.query(DURABLY);
    const result = await work();
    await session.query("commit");
    return result;
  } catch (error) {
    // If the rollback fails because the connection is broken, the server rolls back by itself.
    await session.query("rollback").catch(() => undefined);
    throw error;
  }
}

/** SQL that has the same effect as `market_signal.durably()`, which may not exist yet. */
const DURABLY = `select set_config('synchronous_commit', 'on', true)
  where current_setting('synchronous_commit') = 'off'`;

/** Oldest supported version of PostgreSQL, as `server_version_num`. */
const OLDEST_VERSION = 160_000;

/** Server settings without which a machine crash can destroy acknowledged data. */
const DURABLE = ["fsync", "full_page_writes"];

interface Server {
  readonly version: string;
  readonly number: number;
  readonly encoding: string;
  /** The required settings that are turned off. */
  readonly off: readonly string[];
}

/** The database server to check. */
interface Checked {
  /** Name of the database, for messages. */
  readonly name: string;
  readonly onWarning?: (text: string) => void;
}

/**
 * Checks the version, encoding and settings of the server.
 *
 * @throws {Error} If the server or its database cannot be used; the message says what to do.
 */
async function checkServer(
  session: DatabaseSession,
  { name, onWarning = () => undefined }: Checked,
): Promise<void> {
  const [found] = await session.query<Server>(
    `select current_setting('server_version') as version,
       current_setting('server_version_num')::int as number,
       current_setting('server_encoding') as encoding,
       array(select one from unnest($1::text[]) as one where current_setting(one) = 'off') as off`,
    [DURABLE],
  );
  if (found === undefined || found.number < OLDEST_VERSION) {
    throw new Error(`${name} is PostgreSQL ${found?.version}; this program needs 16 or later.`);
  }
  if (found.encoding !== "UTF8") {
    throw new Error(
      `${name} has the encoding ${found.encoding}; this program needs UTF8. Create a database with "create database ... encoding 'UTF8' template template0" and set DATABASE_URL to it.`,
    );
  }
  if (found.off.length === 0) return;
  const settings = found.off.join(" and ");
  onWarning(
    `${name}: ${settings} is off: a power cut can lose what was acknowledged. Set it to on.`,
  );
}
