import { Client, type QueryResultRow } from "pg";
import { runStatement } from "./connection.ts";
import { showPresence } from "./presence.ts";
import { retry, unavailableProblem } from "./retry.ts";
import type { DatabaseTarget } from "./target.ts";

/** Timeout for closing a connection, in milliseconds. */
const FAREWELL_MS = 1_000;

/** A connection outside the pool, for long-running work or work that is bound to one connection. */
export interface DatabaseSession {
  /** Runs a statement. @throws {Problem} `store_unavailable`, without retries. */
  query<R extends QueryResultRow>(text: string, values?: unknown[]): Promise<readonly R[]>;
  /** Subscribes to announcements and to the loss of the connection. */
  listen(onAnnounced: (payload: string) => void, onLost: () => void): void;
  close(): Promise<void>;
}

/** Timeouts of a database session, in milliseconds. */
interface SessionTimeouts {
  /** Timeout for connecting, including retries. */
  readonly connectMs: number;
  /** Timeout for each statement. */
  readonly answerMs: number;
}

/**
 * Opens a separate connection, outside the pool.
 *
 * @throws {Problem} `store_unavailable` if connecting times out.
 */
export async function openSession(
  target: DatabaseTarget,
  { connectMs, answerMs }: SessionTimeouts,
): Promise<DatabaseSession> {
  const client = await retry((leftMs) => connectAlone(target, leftMs), connectMs);
  return {
    async query<R extends QueryResultRow>(text: string, values: unknown[] = []) {
      try {
        const { rows } = await runStatement<R>(client, { text, values }, answerMs);
        return rows;
      } catch (error) {
        throw unavailableProblem(error);
      }
    },
    listen(onAnnounced, onLost) {
      client.on("notification", ({ payload = "" }) => onAnnounced(payload));
      client.on("end", onLost);
    },
    close: () => disconnect(client),
  };
}

async function connectAlone({ config, user }: DatabaseTarget, timeoutMs: number): Promise<Client> {
  const deadline = performance.now() + timeoutMs;
  const client = new Client({ ...config, connectionTimeoutMillis: timeoutMs, keepAlive: true });
  client.on("error", ignore);
  try {
    await client.connect();
    await runStatement(client, showPresence(user), Math.max(1, deadline - performance.now()));
    return client;
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

const ignore = () => undefined;
