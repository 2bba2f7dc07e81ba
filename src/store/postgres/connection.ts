import {
  type Client,
  Pool,
  type PoolClient,
  type QueryConfig,
  type QueryResult,
  type QueryResultRow,
} from "pg";
import { storeUnavailable } from "../port/unavailable.ts";
import { retry } from "./retry.ts";
import type { DatabaseTarget } from "./target.ts";
/**
 * Runs a statement on a given connection.
 *
 * @throws {Error} On a timeout.
 */
export function runStatement<R extends QueryResultRow>(
  client: Pick<Client, "query">,
  statement: QueryConfig<unknown[]>,
  timeoutMs: number,
): Promise<QueryResult<R>> {
  // The driver's types lack this option of a statement.
  const timed = { ...statement, query_timeout: timeoutMs };
  return client.query<R>(timed);
}

/** Connections of one process, excluding the listening one. */
const POOL_SIZE = 10;

/** Milliseconds after which an idle connection is closed. */
const IDLE_MS = 30_000;

/** Share of the budget for connecting. */
const CONNECT_SHARE = 0.4;

/** Share of the budget that a statement may wait for a lock. */
const LOCK_SHARE = 0.7;

/** A statement that is prepared once per connection, under its name. */
export type PreparedStatement = QueryConfig<unknown[]> & { readonly name: string };

/** Work on one connection of the pool, retried if that connection fails. */
type Work<T> = (client: PoolClient, leftMs: number) => Promise<T>;

/** The connections of one store. */
export interface Connection {
  /**
   * @param extraMs Additional time for large work, in milliseconds.
   * @throws {Problem} `store_unavailable` if the budget is spent or the server rejects the work.
   */
  run<T>(work: Work<T>, extraMs?: number): Promise<T>;
  /**
   * Runs one statement in one round trip.
   *
   * @throws {Problem} Like `run`.
   */
  query<R extends QueryResultRow>(statement: PreparedStatement): Promise<QueryResult<R>>;
  /** Waits for the work in progress; later work is rejected. */
  close(): Promise<void>;
}

/**
 * Creates the pool; nothing is connected yet.
 *
 * @param budgetMs How long work is retried while the database is unavailable, in milliseconds. No work
 *   lasts longer than 1.5 times that, plus the additional time of large work.
 */
export function openConnection({ config }: DatabaseTarget, budgetMs: number): Connection {
  const pool = new Pool({
    ...config,
    max: POOL_SIZE,
    idleTimeoutMillis: IDLE_MS,
    connectionTimeoutMillis: budgetMs * CONNECT_SHARE,
    lock_timeout: Math.round(budgetMs * LOCK_SHARE),
    keepAlive: true,
  });
  // An idle connection that breaks is replaced by the next work.
  pool.on("error", ignore);
  pool.on("connect", (client) => client.on("error", ignore));
  const underWay = new Set<Promise<unknown>>();
  let isClosed = false;
  const run = async <T>(work: Work<T>, extraMs = 0): Promise<T> => {
    if (isClosed) throw storeUnavailable("The store is closed.");
    const result = retry((leftMs) => attemptOn(pool, work, leftMs), budgetMs + extraMs);
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

async function attemptOn<T>(pool: Pool, work: Work<T>, budgetMs: number): Promise<T> {
  const deadline = performance.now() + budgetMs;
  const client = await pool.connect();
  let hasFailed = true;
  try {
    const leftMs = Math.max(1, Math.round(deadline - performance.now()));
    const result = await work(client, leftMs);
    hasFailed = false;
    return result;
  } finally {
    // A failed connection may yield stale results, so it is destroyed.
    client.release(hasFailed);
  }
}
