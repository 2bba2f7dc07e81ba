import type { Operation, RecordRevision } from "../port/records.ts";
import type { Backlog } from "../port/store.ts";
import { type BatchTransaction, PartialWriteError, type UnitOfWork } from "./group-commit.ts";
import {
  dumpRowOf,
  isWhole,
  namesIn,
  type RecordContent,
  type RecordDumpRow,
  type RecordRow,
  rowOf,
  valuesOf,
} from "./record-row.ts";
import { damagedRowProblem, isSqliteError } from "./sqlite-errors.ts";
import type { SqlValue, StoreFile } from "./store-file.ts";

/** Selection of due records. */
interface DueQuery {
  readonly now: number;
  readonly limit: number;
  /** Skips records in any of these groups. */
  readonly except: ReadonlySet<string>;
}

const COLUMNS = `id, record.collection, "key", record.revision, groups, expires_at, due_at, consumed_at,
  text, crc`;

/** SQL condition for records that have not expired; the parameter is the current instant. */
const ALIVE = "(expires_at IS NULL OR expires_at > ?)";

const FIND = `SELECT ${COLUMNS} FROM record WHERE collection = ? AND "key" = ?`;

/** SQL query for what is needed to overwrite an existing record. */
const FIND_PLACE = `SELECT id, revision, groups FROM record WHERE collection = ? AND "key" = ?`;

const INSERT = `INSERT INTO record (collection, "key", revision, groups, expires_at, due_at,
  consumed_at, text, crc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const INSERT_NEW = `${INSERT} ON CONFLICT (collection, "key") DO NOTHING`;

const SET_COLUMNS = `UPDATE record SET revision = ?, groups = ?, expires_at = ?, due_at = ?,
  consumed_at = ?, text = ?, crc = ?`;

const UPDATE = `${SET_COLUMNS} WHERE id = ?`;

const UPDATE_UNGROUPED = `${SET_COLUMNS} WHERE collection = ? AND "key" = ? AND groups = '[]'`;

const DELETE = "DELETE FROM record WHERE id = ?";

const JOIN_GROUP = "INSERT INTO record_group VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";

const IN_GROUP = "name = ? AND collection = ? AND revision = ?";

const STAY_IN_GROUP = `UPDATE record_group SET revision = ? WHERE ${IN_GROUP}`;

const LEAVE_GROUP = `DELETE FROM record_group WHERE ${IN_GROUP}`;

const LIST = `SELECT ${COLUMNS} FROM record WHERE collection = ? AND revision > ? AND ${ALIVE}
  ORDER BY revision LIMIT ?`;

const LIST_REVISIONS = `SELECT "key", revision FROM record
  WHERE collection = ? AND revision > ? AND ${ALIVE} ORDER BY revision LIMIT ?`;

const FROM_GROUP = `FROM record_group AS member CROSS JOIN record ON id = member.record
  WHERE member.name = ?`;

const LIST_GROUP = `SELECT ${COLUMNS} ${FROM_GROUP}
  AND member.collection = ? AND member.revision > ? AND ${ALIVE}
  ORDER BY member.revision LIMIT ?`;

/** SQL query for the number and the newest revision of the first records of a list. */
const CHECK_LIST = `SELECT count(*) AS records, max(revision) AS newest FROM (
  SELECT revision FROM record
  WHERE collection = ? AND revision > ? AND revision <= ? AND ${ALIVE}
  ORDER BY revision LIMIT ?)`;

const CHECK_GROUP = `SELECT count(*) AS records, max(revision) AS newest FROM (
  SELECT member.revision ${FROM_GROUP}
  AND member.collection = ? AND member.revision > ? AND member.revision <= ? AND ${ALIVE}
  ORDER BY member.revision LIMIT ?)`;

/** The record table of a database file, with its indexes and the revision counter. */
export class RecordTable implements BatchTransaction {
  readonly #file: StoreFile;
  #revision: number;

  constructor(file: StoreFile) {
    this.#file = file;
    const { place } = file.statement("SELECT max(id) AS place FROM archive").get() ?? {};
    // Version 1.0.0 did not take the places of archive rows from the revisions.
    this.#revision = Math.max(Number(file.meta().get("revision") ?? 0), Number(place ?? 0));
  }

  /** The newest revision that was assigned. */
  get revision(): number {
    return this.#revision;
  }

  transaction<T>(works: () => T): T {
    const before = this.#revision;
    try {
      return this.#file.transaction(() => {
        const result = works();
        if (this.#revision > before) this.#file.setMeta("revision", String(this.#revision));
        return result;
      });
    } catch (error) {
      this.#revision = before;
      throw error;
    }
  }

  part<T>(work: UnitOfWork<T>): T {
    const { writes } = this.#file;
    try {
      const result = work();
      if (result !== false || this.#file.writes === writes) return result;
    } catch (error) {
      if (isSqliteError(error) || this.#file.writes === writes) throw error;
    }
    throw new PartialWriteError();
  }

  undoablePart<T>(work: UnitOfWork<T>): T {
    const before = this.#revision;
    this.#file.statement("SAVEPOINT part").run();
    try {
      const result = work();
      if (result === false) this.#undo(before);
      this.#file.statement("RELEASE part").run();
      return result;
    } catch (error) {
      if (this.#file.database.isTransaction) {
        this.#undo(before);
        this.#file.statement("RELEASE part").run();
      }
      throw error;
    }
  }

  #undo(revision: number): void {
    this.#file.statement("ROLLBACK TO part").run();
    this.#revision = revision;
  }

  /**
   * Finds a record that has not expired.
   *
   * @throws {Problem} If the checksum of the record does not match.
   */
  find(collection: string, key: string, now: number): RecordRow | undefined {
    const row = this.#one(FIND, collection, key);
    return row !== undefined && isAlive(row, now) ? row : undefined;
  }

  /** Lists the records of a collection, oldest change first. */
  list(collection: string, after: number, limit: number, now: number): readonly RecordRow[] {
    return this.#all(LIST, collection, after, now, limit);
  }

  /**
   * Like `list`, with only the keys and revisions. Checksums, which cover whole rows, are ignored.
   */
  listRevisions(
    collection: string,
    after: number,
    limit: number,
    now: number,
  ): readonly RecordRevision[] {
    const rows = this.#file.statement(LIST_REVISIONS).all(collection, after, now, limit);
    return rows as unknown as readonly RecordRevision[];
  }

  /** Like `list`, for the members of a group. */
  listGroup(group: string, { collection, after, limit, now }: GroupQuery): readonly RecordRow[] {
    return this.#all(LIST_GROUP, group, collection, after, now, limit);
  }

  /**
   * Creates or overwrites a record, with the next revision. Most writes overwrite a record without
   * groups, which takes one statement.
   */
  put(collection: string, key: string, content: RecordContent): void {
    const row = { collection, key, ...content, revision: ++this.#revision };
    if (content.groups === "[]") {
      const changed = [...valuesOf(row).slice(2), collection, key];
      if (this.#file.write(UPDATE_UNGROUPED, ...changed).changes === 1) return;
    }
    const found = this.#file.statement(FIND_PLACE).get(collection, key) as Placed | undefined;
    if (found === undefined) this.insert(row);
    else this.#update({ ...row, id: found.id }, found);
  }

  /**
   * Creates a record, with the next revision, unless the collection has a record with this key that
   * has not expired.
   *
   * @returns Whether the record was created.
   */
  create(collection: string, key: string, content: RecordContent, now: number): boolean {
    const row = { collection, key, ...content, revision: this.#revision + 1 };
    if (this.#insertNew(row, valuesOf(row))) {
      this.#revision = row.revision;
      return true;
    }
    if (this.find(collection, key, now) !== undefined) return false;
    this.put(collection, key, content);
    return true;
  }

  /**
   * Writes something else that takes the next revision as its number.
   *
   * @param write Returns whether it has taken the revision.
   */
  withNextRevision(write: (revision: number) => boolean): boolean {
    const hasWritten = write(this.#revision + 1);
    if (hasWritten) this.#revision += 1;
    return hasWritten;
  }

  /**
   * Changes a record and gives it the next revision.
   *
   * @returns The changed record.
   */
  change(row: RecordRow, changes: Partial<RecordContent>): RecordRow {
    const changed = { ...row, ...changes, revision: ++this.#revision };
    this.#update(changed, row);
    return changed;
  }

  /** Whether a list has the same records as when it was read. */
  isUnchanged(
    { collection, group, after, count, newest, isWhole }: Extract<Operation, { kind: "checkList" }>,
    now: number,
  ): boolean {
    const last = isWhole ? Number.MAX_SAFE_INTEGER : newest;
    // One more than there were tells whether there are more.
    const range = [collection, after, last, now, count + 1];
    const found =
      group === undefined
        ? this.#file.statement(CHECK_LIST).get(...range)
        : this.#file.statement(CHECK_GROUP).get(group, ...range);
    return found?.records === count && (found.newest ?? after) === newest;
  }

  /**
   * Adds a record with the given revision.
   *
   * @throws {Error} If the collection already has a record with this key.
   */
  insert(row: Omit<RecordRow, "id">): void {
    const { lastInsertRowid } = this.#file.write(INSERT, ...valuesOf(row));
    this.#join({ ...row, id: Number(lastInsertRowid) });
  }

  remove(row: Member): void {
    this.#file.write(DELETE, row.id);
    this.#leave(row);
  }

  /** Removes all members of a group that have not expired. */
  removeGroup(group: string, now: number): void {
    this.#removeAll(`SELECT ${MEMBER_COLUMNS} ${FROM_GROUP} AND ${ALIVE}`, group, now);
  }

  /**
   * Removes expired records, longest expired first.
   *
   * @returns The number of removed records.
   */
  removeExpired(now: number, limit: number): number {
    return this.#removeAll(
      `SELECT ${MEMBER_COLUMNS} FROM record WHERE expires_at <= ? ORDER BY expires_at LIMIT ?`,
      ...[now, limit],
    );
  }

  /** Due records of a collection that have not expired, longest due first. */
  due(collection: string, { now, limit, except }: DueQuery): readonly RecordRow[] {
    if (except.size > 0) return this.#dueApart(collection, { now, limit, except });
    return this.#all(
      `SELECT ${COLUMNS} FROM record WHERE collection = ? AND due_at <= ? AND ${ALIVE}
       ORDER BY due_at, revision LIMIT ?`,
      ...[collection, now, now, limit],
    );
  }

  /**
   * Finds due records that are in none of the skipped groups. It follows the index from one
   * combination of groups to the next, and takes records from the combinations whose first record
   * is due earliest. It takes them from at most as many combinations as records are requested,
   * because each of these has at least one due record. The cost depends on the number of
   * combinations, not on the number of skipped records.
   */
  #dueApart(collection: string, { now, limit, except }: DueQuery): readonly RecordRow[] {
    const next = this.#file.statement(
      `SELECT groups FROM record WHERE collection = ? AND due_at IS NOT NULL AND groups > ?
       ORDER BY groups LIMIT 1`,
    );
    const queues: (readonly RecordRow[])[] = [];
    for (let found = next.get(collection, ""); found !== undefined; ) {
      const groups = String(found.groups);
      const isWanted = !namesIn(groups).some((name) => except.has(name));
      const [first] = isWanted ? this.#dueOf(collection, groups, now, 1) : [];
      if (first !== undefined) queues.push([first]);
      found = next.get(collection, groups);
    }
    return queues
      .flat()
      .sort(sooner)
      .slice(0, limit)
      .flatMap(({ groups }) => this.#dueOf(collection, groups, now, limit))
      .sort(sooner)
      .slice(0, limit);
  }

  #dueOf(collection: string, groups: string, now: number, limit: number): readonly RecordRow[] {
    return this.#all(
      `SELECT ${COLUMNS} FROM record
       WHERE collection = ? AND groups = ? AND due_at <= ? AND ${ALIVE}
       ORDER BY due_at, revision LIMIT ?`,
      ...[collection, groups, now, now, limit],
    );
  }

  backlog(collection: string, now: number): Backlog {
    const sql = `SELECT count(*) AS waiting, total(due_at <= ?) AS due, min(due_at) AS first
       FROM record WHERE collection = ? AND due_at IS NOT NULL AND ${ALIVE}`;
    const { waiting, due, first } = this.#file.statement(sql).get(now, collection, now) ?? {};
    const oldestDueMs = Number(due) > 0 ? now - Number(first) : 0;
    return { waiting: Number(waiting), due: Number(due), oldestDueMs };
  }

  count(): number {
    return Number(this.#file.statement("SELECT count(*) AS records FROM record").get()?.records);
  }

  /** Yields every record by revision, including changes made during the iteration. */
  *byRevision(): Generator<RecordDumpRow> {
    const names = this.#file.statement("SELECT DISTINCT collection FROM record").all();
    const sources = names.map(({ collection }) => this.#inOrder(String(collection)));
    let heads = sources.map((rows) => ({ rows, next: rows.next() }));
    for (;;) {
      heads = heads.filter(({ next }) => next.done !== true);
      const [first, ...others] = heads;
      if (first === undefined) return;
      const head = others.reduce((a, b) => (revisionOf(b) < revisionOf(a) ? b : a), first);
      yield dumpRowOf(head.next.value as RecordRow);
      head.next = head.rows.next();
    }
  }

  /**
   * Yields the records of a collection by revision. Each call prepares its own statement, because a
   * statement can iterate over only one result at a time.
   */
  *#inOrder(collection: string): Generator<RecordRow, void> {
    const sql = `SELECT ${COLUMNS} FROM record WHERE collection = ? ORDER BY revision`;
    const select = this.#file.database.prepare(sql);
    for (const row of select.iterate(collection)) yield this.#checked(row);
  }

  /**
   * Inserts a row with its `valuesOf`, unless the collection has a row with this key, even an
   * expired one.
   *
   * @returns Whether the row was inserted.
   */
  #insertNew(row: Omit<RecordRow, "id">, values: readonly SqlValue[]): boolean {
    const { changes, lastInsertRowid } = this.#file.write(INSERT_NEW, ...values);
    if (changes === 0) return false;
    this.#join({ ...row, id: Number(lastInsertRowid) });
    return true;
  }

  #update(row: RecordRow, { revision, groups }: Omit<Placed, "id">): void {
    this.#file.write(UPDATE, ...valuesOf(row).slice(2), row.id);
    const { collection } = row;
    if (row.groups === groups) {
      for (const name of namesIn(groups))
        this.#file.write(STAY_IN_GROUP, row.revision, name, collection, revision);
    } else {
      this.#leave({ collection, revision, groups });
      this.#join(row);
    }
  }

  #join({ id, collection, revision, groups }: Member): void {
    for (const name of namesIn(groups)) {
      this.#file.write(JOIN_GROUP, name, collection, revision, id);
    }
  }

  #leave({ collection, revision, groups }: Omit<Member, "id">): void {
    for (const name of namesIn(groups)) {
      this.#file.write(LEAVE_GROUP, name, collection, revision);
    }
  }

  #removeAll(select: string, ...values: readonly SqlValue[]): number {
    const rows = this.#file.statement(select).all(...values);
    for (const row of rows) this.remove(row as unknown as Member);
    return rows.length;
  }

  #one(sql: string, ...values: readonly SqlValue[]): RecordRow | undefined {
    const row = this.#file.statement(sql).get(...values);
    return row === undefined ? undefined : this.#checked(row);
  }

  #all(sql: string, ...values: readonly SqlValue[]): readonly RecordRow[] {
    return this.#file
      .statement(sql)
      .all(...values)
      .map((row) => this.#checked(row));
  }

  #checked(row: Readonly<Record<string, unknown>>): RecordRow {
    const record = rowOf(row);
    if (isWhole(record, row.crc)) return record;
    throw damagedRowProblem(this.#file.path, `the record in row ${record.id}`);
  }
}

const MEMBER_COLUMNS = "id, record.collection, record.revision, groups";

/** What places a record in its groups. */
type Member = Pick<RecordRow, "id" | "collection" | "revision" | "groups">;

/** What is needed to overwrite a record. */
type Placed = Omit<Member, "collection">;

/** Selection of the members of a group. */
interface GroupQuery {
  readonly collection: string;
  readonly after: number;
  readonly limit: number;
  readonly now: number;
}

/**
 * Verifies the checksums of the next `limit` records after the row number `after`.
 *
 * @returns The number of the last row, and the numbers of the rows whose checksum does not match.
 */
export function findBrokenRecords(file: StoreFile, after: number, limit: number) {
  const sql = `SELECT ${COLUMNS} FROM record WHERE id > ? ORDER BY id LIMIT ?`;
  const rows = file.statement(sql).all(after, limit);
  const broken = rows.filter((row) => !isWhole(rowOf(row), row.crc));
  return { last: rows.at(-1)?.id, broken: broken.map(({ id }) => Number(id)) };
}

const revisionOf = ({ next }: { readonly next: IteratorResult<RecordRow> }): number =>
  (next.value as RecordRow).revision;

function isAlive({ expiresAt }: RecordRow, now: number): boolean {
  return expiresAt === null || expiresAt > now;
}

/** Compares two records by the order in which they are claimed: by due time, then by revision. */
function sooner(a: RecordRow, b: RecordRow): number {
  return (a.dueAt ?? 0) - (b.dueAt ?? 0) || a.revision - b.revision;
}
