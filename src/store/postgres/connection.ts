import { setTimeout as pause } from "node:timers/promises";
import {
  Client,
  type ClientConfig,
  DatabaseError,
  Pool,
  type PoolClient,
  type QueryConfig,
  type QueryResult,
  type QueryResultRow,
  TypeOverrides,
} from "pg";
import { storeUnavailable } from "../unavailable.ts";

/** Connections of one process beside the one that listens. */
const POOL_SIZE = 10;

/** Milliseconds after which a connection that nobody needs is closed. */
const IDLE_MS = 30_000;

/** Part of the budget that may pass until a connection is there. */
const CONNECT_SHARE = 0.4;

/** Part of the budget that a statement may wait for another one. */
const LOCK_SHARE = 0.7;

/** How long a server may take to say goodbye, in milliseconds. */
const FAREWELL_MS = 1_000;

/** Pauses between two attempts, in milliseconds: this, and up to as much again. */
const PAUSE_MS = 40;

/**
 * SQLSTATEs that pass by themselves: too many connections, a server that shuts down, crashed or
 * starts up, one that is only a copy for the moment, serialization failure, deadlock, and a lock
 * that was not to be had. Class 08 are connection exceptions.
 */
const PASSING = new Set([
  ...["53300", "57P01", "57P02", "57P03", "57P05", "25006"],
  ...["40001", "40P01", "55P03"],
]);

/** `int8` is text to the driver, since it may be too large for a number; none of ours is. */
const INT8 = 20;
const parsers = new TypeOverrides();
parsers.setTypeParser(INT8, Number);

/** What says where a database is. */
export interface Target {
  /** For messages: the database and its host, never the password. */
  readonly name: string;
  readonly config: ClientConfig;
}

/**
 * Reads a DATABASE_URL.
 *
 * @throws {Error} When it is none; the message does not repeat it.
 */
export function readTarget(url: string): Target {
  const config = { connectionString: url, types: parsers, application_name: "market-signal" };
  try {
    const { host, port, database } = new Client(config);
    const place = host.startsWith("/") ? host : `${host}:${port}`;
    return { name: `the database "${database}" on ${place}`, config };
  } catch (error) {
    throw new Error(`DATABASE_URL cannot be used: ${(error as Error).message}.`);
  }
}

/** A statement that is prepared once per connection, under its name. */
export type Statement = QueryConfig<unknown[]> & { readonly name: string };

/** Work that is done on one connection of the pool, and tried again when that connection fails. */
export type Work<T> = (client: PoolClient, leftMs: number) => Promise<T>;

/** The connections of one store. */
export interface Connection {
  /** @throws {Problem} `store_unavailable` when the budget is spent or the server refuses. */
  run<T>(work: Work<T>): Promise<T>;
  /** One statement, one round trip. @throws {Problem} Like `run`. */
  query<R extends QueryResultRow>(statement: Statement): Promise<QueryResult<R>>;
  /** Waits for the work under way; later work is refused. */
  close(): Promise<void>;
}

/**
 * Opens the pool; nothing is connected yet.
 *
 * @param budgetMs How long work is tried again while the database is away, in milliseconds. No
 *   work lasts longer than half as much again.
 */
export function openConnection({ config }: Target, budgetMs: number): Connection {
  const pool = new Pool({
    ...config,
    max: POOL_SIZE,
    idleTimeoutMillis: IDLE_MS,
    connectionTimeoutMillis: budgetMs * CONNECT_SHARE,
    lock_timeout: Math.round(budgetMs * LOCK_SHARE),
    keepAlive: true,
  });
  // A connection that breaks while nothing is asked is replaced by the next work.
  pool.on("error", ignore);
  pool.on("connect", (client) => client.on("error", ignore));
  const underWay = new Set<Promise<unknown>>();
  let isClosed = false;
  const run = async <T>(work: Work<T>): Promise<T> => {
    if (isClosed) throw storeUnavailable("The store is closed.");
    const result = persist((leftMs) => attemptOn(pool, work, leftMs), budgetMs);
    underWay.add(result);
    try {
      return await result;
    } finally {
      underWay.delete(result);
    }
  };
  return {
    run,
    query: (statement) => run((client, leftMs) => ask(client, statement, leftMs)),
    async close() {
      if (isClosed) return;
      isClosed = true;
      await Promise.allSettled(underWay);
      await pool.end();
    },
  };
}

const ignore = () => undefined;

/** Asks on a connection that one has. @throws {Error} When there is no answer in time. */
export function ask<R extends QueryResultRow>(
  client: Pick<Client, "query">,
  statement: QueryConfig<unknown[]>,
  timeoutMs: number,
): Promise<QueryResult<R>> {
  const timed = { ...statement, query_timeout: timeoutMs };
  return client.query<R>(timed);
}

/**
 * Tries until it works or the budget is spent.
 *
 * @throws {Problem} `store_unavailable` with the last error as its cause.
 */
async function persist<T>(attempt: (leftMs: number) => Promise<T>, budgetMs: number): Promise<T> {
  const deadline = performance.now() + budgetMs;
  for (;;) {
    try {
      return await attempt(deadline - performance.now());
    } catch (error) {
      if (!isPassing(error)) throw refused(error);
      const pauseMs = PAUSE_MS * (1 + Math.random());
      if (performance.now() + pauseMs > deadline) throw silent(error);
      await pause(pauseMs);
    }
  }
}

const silent = (cause: unknown) => storeUnavailable("The database does not answer.", cause);
const refused = (cause: unknown) => storeUnavailable("The database cannot do this now.", cause);

/** Whether the same may work in a moment; so it is with everything but a server's refusal. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return true;
  const { code = "" } = error;
  return PASSING.has(code) || code.startsWith("08");
}

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
    // Nobody knows what else would come out of a connection that failed: it is destroyed.
    client.release(hasFailed);
  }
}

/** A connection outside the pool, for what takes long or must stay on one connection. */
export interface Session {
  /** @throws {Problem} `store_unavailable`; nothing is tried again. */
  query<R extends QueryResultRow>(text: string, values?: unknown[]): Promise<readonly R[]>;
  /** Hears what is announced, and that the connection is lost. */
  listen(onAnnounced: (payload: string) => void, onLost: () => void): void;
  close(): Promise<void>;
}

/** How long things may take on a session, in milliseconds. */
export interface SessionTimes {
  /** Until it is connected, trying again and again. */
  readonly connectMs: number;
  /** Until a statement is answered. */
  readonly answerMs: number;
}

/** @throws {Problem} `store_unavailable` when there is no connection in time. */
export async function openSession(
  { config }: Target,
  { connectMs, answerMs }: SessionTimes,
): Promise<Session> {
  const client = await persist((leftMs) => connectAlone(config, leftMs), connectMs);
  return {
    async query<R extends QueryResultRow>(text: string, values: unknown[] = []) {
      try {
        const { rows } = await ask<R>(client, { text, values }, answerMs);
        return rows;
      } catch (error) {
        throw isPassing(error) ? silent(error) : refused(error);
      }
    },
    listen(onAnnounced, onLost) {
      client.on("notification", ({ payload = "" }) => onAnnounced(payload));
      client.on("end", onLost);
    },
    close: () => disconnect(client),
  };
}

async function connectAlone(config: ClientConfig, timeoutMs: number): Promise<Client> {
  const client = new Client({ ...config, connectionTimeoutMillis: timeoutMs, keepAlive: true });
  client.on("error", ignore);
  try {
    return await client.connect();
  } catch (error) {
    await disconnect(client);
    throw error;
  }
}

async function disconnect(client: Client): Promise<void> {
  const timer = setTimeout(() => client.connection.stream.destroy(), FAREWELL_MS);
  await client.end();
  clearTimeout(timer);
}
