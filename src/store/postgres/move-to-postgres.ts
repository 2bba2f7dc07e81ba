import { digestDump, type RowsDigest } from "../digest.ts";
import type { Store } from "../port/store.ts";
import { copyRows } from "./copy.ts";
import { dumpRows, raiseRevision } from "./dump.ts";
import { lockKeySql } from "./locks.ts";
import { inTransaction, prepareSchema, type StoreMeta, writeMeta } from "./schema.ts";
import { type DatabaseSession, openSession } from "./session.ts";
import { type DatabaseTarget, explainConnectionErrors, parseDatabaseTarget } from "./target.ts";

/** Timeouts for connecting and for one statement, in milliseconds. */
const TIMES = { connectMs: 5_000, answerMs: 300_000 };

/** Source and target of a migration. */
export interface PostgresMigration {
  readonly source: Store & {
    /** Rejects commits with the given reason, until the returned function is called. */
    freeze(reason: string): () => void;
    /** Rejects all writes from now on, and prevents the store from being reopened. */
    markMoved(): Promise<void>;
  };
  /** DATABASE_URL of an empty database, or of one that an earlier attempt has begun to fill. */
  readonly url: string;
  /** Called with the number of rows copied so far and the total. */
  readonly onProgress: (done: number, total: number) => void;
}

/** Summary of a migration. */
export interface MigrationReport {
  readonly records: number;
  readonly archive: number;
  /** Digests by `record/<collection>` and `archive/<kind>`, which are the same in both stores. */
  readonly digests: Readonly<Record<string, RowsDigest>>;
}

/**
 * Copies a store to PostgreSQL, compares the two, and retires the source. If this fails, the source
 * stays in use, and another call continues where this one stopped.
 *
 * @throws {Error} The message says what to do.
 */
export async function migrateToPostgres({
  source,
  url,
  onProgress,
}: PostgresMigration): Promise<MigrationReport> {
  const target = parseDatabaseTarget(url);
  // Connects to the database first, so that an unreachable database does not interrupt users of the
  // source.
  const session = await explainConnectionErrors(target, () => openSession(target, TIMES));
  try {
    const meta = await explainConnectionErrors(target, () => claimTarget(session, source, target));
    return await move({ source, target, onProgress, session, meta });
  } finally {
    await session.close();
  }
}

/** A migration whose target database has been claimed. */
interface Move extends Omit<PostgresMigration, "url"> {
  readonly target: DatabaseTarget;
  readonly session: DatabaseSession;
  readonly meta: StoreMeta;
}

async function move(to: Move): Promise<MigrationReport> {
  const { source, target } = to;
  const unfreeze = source.freeze("The store is being moved to PostgreSQL.");
  try {
    const digests = await explainConnectionErrors(target, () => copyAndCompare(to));
    const counts = await source.counts();
    await source.markMoved();
    return { ...counts, digests: Object.fromEntries(digests) };
  } catch (error) {
    unfreeze();
    throw error;
  }
}

async function copyAndCompare(to: Move): Promise<ReadonlyMap<string, RowsDigest>> {
  const { source, target, session, meta, onProgress } = to;
  const { records, archive } = await source.counts();
  if (meta.isCopying) {
    await copyRows(session, source.dump(), (rows) => onProgress(rows, records + archive));
  }
  const digests = await digestDump(source.dump());
  checkSame(target, digests, await digestDump(dumpRows(await openSession(target, TIMES))));
  if (meta.isCopying) await finish(session, meta);
  return digests;
}

/**
 * Ensures that the database is empty or belongs to this migration, and that no other process is
 * filling it.
 */
async function claimTarget(
  session: DatabaseSession,
  { identity }: Store,
  { name }: DatabaseTarget,
): Promise<StoreMeta> {
  const [lock] = await session.query<{ ours: boolean }>(
    `select pg_try_advisory_lock(${lockKeySql("migration")}) as ours`,
  );
  if (lock?.ours !== true) throw new Error(`Another store is just being moved to ${name}.`);
  const created = { ...identity, isCopying: true };
  const meta = await prepareSchema(session, { name, created });
  if (meta.id === identity.id) return meta;
  throw new Error(`${name} holds another store already. Move this one to an empty database.`);
}

function checkSame(
  { name }: DatabaseTarget,
  source: ReadonlyMap<string, RowsDigest>,
  target: ReadonlyMap<string, RowsDigest>,
): void {
  const names = [...new Set([...source.keys(), ...target.keys()])];
  const differing = names.filter((each) => source.get(each)?.sha256 !== target.get(each)?.sha256);
  if (differing.length === 0) return;
  throw new Error(
    `${name} does not hold what this store holds, in ${differing.join(", ")}: one of them was used or restored after an earlier try. Move this store to an empty database.`,
  );
}

async function finish(session: DatabaseSession, meta: StoreMeta): Promise<void> {
  await inTransaction(session, async () => {
    await raiseRevision(session);
    await writeMeta(session, { ...meta, isCopying: false });
  });
}
