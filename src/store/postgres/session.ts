import { Client, type ClientConfig, type QueryResultRow } from "pg";
import { ask } from "./connection.ts";
import { retry, unavailable } from "./retry.ts";
import type { Target } from "./target.ts";

/** How long a server may take to say goodbye, in milliseconds. */
const FAREWELL_MS = 1_000;

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
  const client = await retry((leftMs) => connectAlone(config, leftMs), connectMs);
  return {
    async query<R extends QueryResultRow>(text: string, values: unknown[] = []) {
      try {
        const { rows } = await ask<R>(client, { text, values }, answerMs);
        return rows;
      } catch (error) {
        throw unavailable(error);
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

const ignore = () => undefined;
