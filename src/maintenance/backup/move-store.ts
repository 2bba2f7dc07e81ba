import { NoStoreError, type Store, type StoreIdentity } from "../../store/port/store.ts";
import { openPostgres } from "../../store/postgres/open.ts";
import type { EmbeddedStore } from "../../store/sqlite/open.ts";
import { digestDump, type RowsDigest } from "./digest.ts";
import { type OnCommandProgress, withProgress } from "./progress.ts";

/** A move of a store. */
interface StoreMove {
  readonly source: EmbeddedStore;
  /** DATABASE_URL of an empty database, or of one that an earlier call has filled. */
  readonly url: string;
}

/** Summary of a move. */
interface MoveReport {
  readonly records: number;
  readonly archive: number;
  /** Digests by `record/<collection>` and `archive/<kind>`, which are the same in both stores. */
  readonly digests: Readonly<Record<string, RowsDigest>>;
}

/**
 * Loads the dump of an embedded store into a database, compares the two, and retires the source. If
 * this fails, the source stays in use, and the database holds either nothing or a whole copy, which
 * another call compares and does not load again.
 *
 * @throws {Error} The message says what to do.
 */
export async function moveToPostgres(
  { source, url }: StoreMove,
  onProgress: OnCommandProgress,
): Promise<MoveReport> {
  // Opens the database before the source is frozen, so that a database that cannot be opened does
  // not interrupt the users of the source.
  const target = await openTarget(url, source.identity);
  const unfreeze = source.freeze("The store is being moved to PostgreSQL.");
  try {
    return await move(source, target, onProgress);
  } catch (error) {
    unfreeze();
    throw error;
  } finally {
    await target.store.close();
  }
}

/** An open target database. */
interface Target {
  readonly store: Store;
  /** Whether an earlier call has loaded the source into it. */
  readonly isFilled: boolean;
}

/** @throws {Error} If the database cannot be opened, holds another store or is in use. */
async function openTarget(url: string, { id, mode }: StoreIdentity): Promise<Target> {
  const { store, isFilled } = await openOrCreate(url, mode);
  try {
    if (isFilled && store.identity.id !== id) {
      throw new Error(
        "The database holds another store already. Move this one to an empty database.",
      );
    }
    // Each process is seen from before it looks until it ends, so that of two that move stores to
    // one database at most one goes on.
    const others = (await store.otherProcesses?.()) ?? [];
    if (others.length > 0) {
      throw new Error(`The database is in use (${others.join(", ")}); stop that, then try again.`);
    }
    return { store, isFilled };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function openOrCreate(url: string, mode: StoreIdentity["mode"]): Promise<Target> {
  try {
    return { store: await openPostgres({ url }), isFilled: true };
  } catch (error) {
    if (!(error instanceof NoStoreError)) throw error;
    return { store: await openPostgres({ url, mode, mustSettle: true }), isFilled: false };
  }
}

async function move(
  source: EmbeddedStore,
  { store: target, isFilled }: Target,
  onProgress: OnCommandProgress,
): Promise<MoveReport> {
  const counts = await source.counts();
  const dumpOf = (store: Store, doing: string) =>
    withProgress(store.dump(), { doing, total: counts.records + counts.archive }, onProgress);
  if (!isFilled) await target.load(source.identity, dumpOf(source, "copying"));
  const digests = await digestDump(dumpOf(source, "comparing"));
  checkSame(digests, await digestDump(dumpOf(target, "comparing")));
  await source.markMoved();
  return { ...counts, digests: Object.fromEntries(digests) };
}

function checkSame(
  source: ReadonlyMap<string, RowsDigest>,
  target: ReadonlyMap<string, RowsDigest>,
): void {
  const names = [...new Set([...source.keys(), ...target.keys()])];
  const differing = names.filter((each) => source.get(each)?.sha256 !== target.get(each)?.sha256);
  if (differing.length === 0) return;
  throw new Error(
    `The database does not hold what this store holds, in ${differing.join(", ")}: one of them was used or restored after an earlier try. Move this store to an empty database.`,
  );
}
