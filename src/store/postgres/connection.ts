import {
  type Client,
  Pool,
  type PoolClient,
  type QueryConfig,
  type QueryResult,
  type QueryResultRow,
} from "pg";
import { storeUnavailableProblem } from "../port/unavailable.ts";
import { showPresence } from "./presence.ts";
import { retry } from "./retry.ts";
import type { DatabaseTarget } from "./target.ts";

/**
 * Runs a statement on the given connection.
 *
 * @throws {Error} On a timeout, or if the statement fails.
 */
export function runStatement<R extends QueryResultRow>(
  client: Pick<Client, "query">,
  statement: QueryConfig<unknown[]>,
  timeoutMs: number,
): Promise<QueryResult<R>> {
  // The type declarations of the driver lack the option `query_timeout`.
  const timed = { ...statement, query_timeout: timeoutMs };
  return client.query<R>(timed);
}

/**
 * Number of connections of one process, not counting the connection that listens for announcements.
 */
const POOL_SIZE = 10;

/** Milliseconds after which an idle connection is closed. */
const IDLE_MS = 30_000;

/** Share of the time budget that connecting may take. */
const CONNECT_SHARE = 0.4;

/** Share of the time budget that a statement may wait for a lock. */
const LOCK_SHARE = 0.7;

/** A statement that is prepared once per connection, under the given name. */
export type PreparedStatement = QueryConfig<unknown[]> & { readonly name: string };

/** Work on one connection of the pool, which is retried if the connection fails. */
type Work<T> = (client: PoolClient, leftMs: number) => Promise<T>;

/** The database connections of one store. */
export interface Connection {
  /**
   * Runs work on a connection, and retries it until the time budget is spent.
   *
   * @param extraMs Additional time for large work, in milliseconds.
   * @throws {Problem} `store_unavailable` if the time budget is spent or the server rejects the
   * work.
   */
  run<T>(work: Work<T>, extraMs?: number): Promise<T>;
  /**
   * Runs a single statement in one round trip.
   *
   * @throws {Problem} Like `run`.
   */
  query<R extends QueryResultRow>(statement: PreparedStatement): Promise<QueryResult<R>>;
  /** Waits for the work in progress. Later work is rejected. */
  close(): Promise<void>;
}

/**
 * Creates the connection pool without connecting yet.
 *
 * @param budgetMs How long work is retried while the database is unavailable, in milliseconds. No
 * work lasts longer than 1.5 times this budget, plus the additional time for large work.
 */
export function openConnection({ config, user }: DatabaseTarget, budgetMs: number): Connection {
  const pool = new Pool({
    ...config,
    max: POOL_SIZE,
    idleTimeoutMillis: IDLE_MS,
    connectionTimeoutMillis: budgetMs * CONNECT_SHARE,
    lock_timeout: Math.round(budgetMs * LOCK_SHARE),
    keepAlive: true,
  });
  // Errors of idle connections are ignored, because the next work opens a new connection.
  pool.on("error", ignore);
  pool.on("connect", (client) => client.on("error", ignore));
  const underWay = new Set<Promise<unknown>>();
  let isClosed = false;
  const run = async <T>(work: Work<T>, extraMs = 0): Promise<T> => {
    if (isClosed) throw storeUnavailableProblem("The store is closed.");
    const result = retry((leftMs) => attemptOn({ pool, user }, work, leftMs), budgetMs + extraMs);
    underWay.add(result);
    try {
      return await result;
    } finally {
      underWay.delete(result);
    }
  };
  return {
    run,
    query: (statement) => run((client, leftMs) => runStatement(client, statement, leftMs)),
    async close() {
      if (isClosed) return;
      isClosed = true;
      await Promise.allSettled(underWay);
      await pool.end();
    },
  };
}

const ignore = () => undefined;

/** The connections that show their presence to other processes. */
const present = new WeakSet<PoolClient>();

async function attemptOn<T>(
  { pool, user }: { readonly pool: Pool; readonly user: number },
  work: Work<T>,
  budgetMs: number,
): Promise<T> {
  const deadline = performance.now() + budgetMs;
  const leftMs = () => Math.max(1, Math.round(deadline - performance.now()));
  const client = await pool.connect();
  let hasFailed = true;
  try {
    if (!present.has(client)) {
      await runStatement(client, showPresence(user), leftMs());
      present.add(client);
    }
    const result = await work(client, leftMs());
    hasFailed = false;
    return result;
  } finally {
    // A connection that failed may return stale results, so it is destroyed.
    client.release(hasFailed);
  }
}
