import { hostname } from "node:os";
import { Client, type ClientConfig, TypeOverrides } from "pg";
import { Problem } from "../../lib/problem.ts";
import { APPLICATION_PREFIX, drawUser } from "./presence.ts";

/**
 * OID of the type `int8`. The driver returns such values as text, because they may exceed a
 * JavaScript number; in this store they never do.
 */
const INT8 = 20;
const parsers = new TypeOverrides();
parsers.setTypeParser(INT8, Number);

/** Maximum length of a name that PostgreSQL keeps whole, in bytes. */
const MAX_NAME_BYTES = 63;

/**
 * Name by which an operator knows the connections of this process, unless DATABASE_URL sets another
 * one.
 */
const APPLICATION_NAME = `${APPLICATION_PREFIX} ${process.pid}@${hostname()}`.slice(
  0,
  MAX_NAME_BYTES,
);

/**
 * Isolation of all transactions, unless DATABASE_URL has `options` of its own. A commit takes its
 * lock first and must see what was committed until then; at a stricter level, which a database can
 * have as its default, it would see only what was there before, and exceed limits.
 */
const ISOLATION = "-c default_transaction_isolation=read\\ committed";

/** Connection settings of a database. */
export interface DatabaseTarget {
  /** Database and host, without the password, for messages. */
  readonly name: string;
  readonly config: ClientConfig;
  /** Number that all connections of this target show to other processes. */
  readonly user: number;
}

/**
 * Parses a DATABASE_URL.
 *
 * @throws {Error} If the URL is invalid. The message does not contain the URL, because it may
 * include a password.
 */
export function parseDatabaseTarget(url: string): DatabaseTarget {
  const config = {
    connectionString: url,
    types: parsers,
    application_name: APPLICATION_NAME,
    options: ISOLATION,
  };
  try {
    const { host, port, database } = new Client(config);
    const place = host.startsWith("/") ? host : `${host}:${port}`;
    return { name: `the database "${database}" on ${place}`, config, user: drawUser() };
  } catch (error) {
    throw new Error(`DATABASE_URL cannot be used: ${(error as Error).message}.`);
  }
}

/**
 * Runs database work at startup or in a command.
 *
 * @throws {Error} For `store_unavailable`, an error that tells the operator what to do; other
 * errors are unchanged.
 */
export async function explainConnectionErrors<T>(
  { name }: DatabaseTarget,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const why = reasonOf(error.cause);
    const advice = "Check DATABASE_URL, the rights of its user, and that the server runs.";
    throw new Error(`${name} cannot be used: ${why}. ${advice}`);
  }
}

/**
 * The message of an error; for a host with several addresses, that of the error for the first
 * address.
 */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : "it does not answer";
}
