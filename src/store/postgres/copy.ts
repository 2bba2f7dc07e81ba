import type { DumpRow } from "../port/store.ts";
import { INSERT_RECORDS_SQL } from "./record-sql.ts";
import { inTransaction } from "./schema.ts";
import type { DatabaseSession } from "./session.ts";

type RecordRow = Extract<DumpRow, { table: "record" }>;
type ArchivedRow = Extract<DumpRow, { table: "archive" }>;

/** Progress of copying a dump into a database. */
interface Position {
  /**
   * How far earlier attempts have copied: the highest revision and the last place in the archive.
   */
  readonly copied: { readonly revision: number; readonly place: number };
  /** How far the database is known to equal the source: the last revision and the last place. */
  revision: number;
  place: number;
}

/**
 * Makes the database equal to a dump, continuing from an earlier attempt. The source may have
 * changed since that attempt: a changed record has a new revision, a new archive row comes last,
 * and copied rows whose revision or place the dump skips are deleted.
 *
 * @param onRows Called with the number of rows of the dump that have been copied so far.
 */
export async function copyRows(
  session: DatabaseSession,
  batches: AsyncIterable<readonly DumpRow[]>,
  onRows: (rows: number) => void,
): Promise<void> {
  const position = await findPosition(session);
  let rows = 0;
  for await (const batch of batches) {
    await inTransaction(session, () => copyBatch(session, batch, position));
    rows += batch.length;
    onRows(rows);
  }
  await session.query("delete from market_signal.record where revision > $1", [position.revision]);
  await session.query("delete from market_signal.archive where place > $1 and place <= $2", [
    position.place,
    position.copied.place,
  ]);
}

async function findPosition(session: DatabaseSession): Promise<Position> {
  const [found] = await session.query<Position["copied"]>(
    `select
       (select coalesce(max(revision), 0) from market_signal.record) as revision,
       (select coalesce(max(place), 0) from market_signal.archive) as place`,
  );
  return { copied: found ?? { revision: 0, place: 0 }, revision: 0, place: 0 };
}

async function copyBatch(
  session: DatabaseSession,
  batch: readonly DumpRow[],
  position: Position,
): Promise<void> {
  const { record = [], archive = [] } = Object.groupBy(batch, ({ table }) => table);
  if (record.length > 0) await copyRecords(session, record as RecordRow[], position);
  if (archive.length > 0) await copyArchive(session, archive as ArchivedRow[], position);
}

async function copyRecords(
  session: DatabaseSession,
  rows: readonly RecordRow[],
  position: Position,
): Promise<void> {
  const revisions = rows.map(({ revision }) => revision);
  const last = revisions.at(-1) ?? position.revision;
  if (position.revision < position.copied.revision) {
    await session.query(
      `delete from market_signal.record
       where revision > $1 and revision <= $2 and revision <> all ($3::bigint[])`,
      [position.revision, last, revisions],
    );
  }
  const missing = rows.filter(({ revision }) => revision > position.copied.revision);
  if (missing.length > 0) await session.query(INSERT_RECORDS_SQL, [JSON.stringify(missing)]);
  position.revision = last;
}

async function copyArchive(
  session: DatabaseSession,
  rows: readonly ArchivedRow[],
  position: Position,
): Promise<void> {
  const missing =
    position.place < position.copied.place ? await reconcileArchive(session, rows, position) : rows;
  if (missing.length === 0) return;
  await session.query("select market_signal.append($1)", [JSON.stringify(missing)]);
}

/**
 * Deletes the archive rows that an earlier attempt copied but the source no longer has, up to the
 * last row of `rows` that was already copied. Then advances the position to that row.
 *
 * @returns Those of `rows` that have not been copied yet.
 */
async function reconcileArchive(
  session: DatabaseSession,
  rows: readonly ArchivedRow[],
  position: Position,
): Promise<readonly ArchivedRow[]> {
  const names = JSON.stringify(rows.map(({ kind, at, id }) => ({ kind, at, id })));
  const found = await session.query<{ ordinal: number; place: number }>(
    `select ordinal, place
     from rows from (json_to_recordset($1) as (kind text, at bigint, id text))
       with ordinality as given(kind, at, id, ordinal)
     join market_signal.archive using (kind, at, id)`,
    [names],
  );
  const places = found.map(({ place }) => place);
  const last = Math.max(position.place, ...places);
  await session.query(
    `delete from market_signal.archive
     where place > $1 and place <= $2 and place <> all ($3::bigint[])`,
    [position.place, last, places],
  );
  position.place = last;
  const ordinals = new Set(found.map(({ ordinal }) => ordinal));
  return rows.filter((_, index) => !ordinals.has(index + 1));
}
