import type { DumpRow, StoreIdentity } from "../port/store.ts";
import { lockKeySql } from "./locks.ts";
import { INSERT_RECORDS_SQL, NOTIFY_CHANNEL } from "./record-sql.ts";
import { changeEpoch, inTransaction, writeMeta } from "./schema.ts";
import type { DatabaseSession } from "./session.ts";

/** Number of rows per batch of a dump. */
const BATCH_ROWS = 500;

/**
 * Gap between the highest revision of a copy and the next revision that is assigned. The source
 * store may have assigned higher revisions to records that it has since removed, and the copy does
 * not contain them. A revision that a client still remembers must not be reused.
 */
const REVISION_GAP = 1_000_000;

/**
 * Topic that announces that a store was loaded, which invalidates everything that was read before.
 */
const LOADED_TOPIC = "store-loaded";

const RECORDS = `
  select 'record' as "table", collection, key, value::text as text, revision, groups,
    expires_at as "expiresAt", due_at as "dueAt", consumed_at as "consumedAt"
  from market_signal.record order by revision`;

const ARCHIVE = `
  select 'archive' as "table", kind, at, id, subject, body::text as text
  from market_signal.archive order by place`;

/** Yields a consistent snapshot of the database, and closes the session at the end. */
export async function* dumpRows(session: DatabaseSession): AsyncGenerator<readonly DumpRow[]> {
  try {
    await session.query("begin isolation level repeatable read read only");
    // The table is locked before the snapshot is taken, so that no partition in the snapshot can be
    // dropped.
    await session.query("lock table market_signal.archive in access share mode");
    yield* fetchRows(session, RECORDS);
    yield* fetchRows(session, ARCHIVE);
  } finally {
    await session.close();
  }
}

async function* fetchRows(
  session: DatabaseSession,
  select: string,
): AsyncGenerator<readonly DumpRow[]> {
  await session.query(`declare dumped no scroll cursor for ${select}`);
  for (;;) {
    const rows = await session.query<DumpRow>(`fetch ${BATCH_ROWS} from dumped`);
    if (rows.length > 0) yield rows;
    if (rows.length < BATCH_ROWS) break;
  }
  await session.query("close dumped");
}

/**
 * Replaces everything in the database in one transaction. Readers see the state before or after the
 * transaction, never in between.
 *
 * @returns The new epoch of the store.
 */
export async function replaceAllRows(
  session: DatabaseSession,
  identity: StoreIdentity,
  batches: AsyncIterable<readonly DumpRow[]>,
): Promise<string> {
  return inTransaction(session, async () => {
    await session.query(`select pg_advisory_xact_lock(${lockKeySql("records")})`);
    await session.query(`select pg_advisory_xact_lock(${lockKeySql("archive")})`);
    await session.query("delete from market_signal.record");
    await session.query("delete from market_signal.archive");
    for await (const batch of batches) await insertRows(session, batch);
    await raiseRevision(session);
    await writeMeta(session, identity);
    await session.query("select pg_notify($1, $2)", [
      NOTIFY_CHANNEL,
      JSON.stringify([LOADED_TOPIC, ""]),
    ]);
    return changeEpoch(session);
  });
}

async function insertRows(session: DatabaseSession, batch: readonly DumpRow[]): Promise<void> {
  const { record = [], archive = [] } = Object.groupBy(batch, ({ table }) => table);
  if (record.length > 0) await session.query(INSERT_RECORDS_SQL, [JSON.stringify(record)]);
  if (archive.length > 0) {
    await session.query("select market_signal.append($1)", [JSON.stringify(archive)]);
  }
}

/**
 * Raises the next revision, with a gap, above every revision of the copy and every revision that
 * this database has assigned before.
 */
async function raiseRevision(session: DatabaseSession): Promise<void> {
  await session.query(
    `select setval('market_signal.revision', greatest(
       (select last_value from market_signal.revision),
       (select coalesce(max(revision), 0) + $1 from market_signal.record)))`,
    [REVISION_GAP],
  );
}
