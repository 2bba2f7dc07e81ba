import { Client, type ClientConfig, TypeOverrides } from "pg";
import { Problem } from "../../problem.ts";

/** The driver returns `int8` as text, since it may exceed a number; values of this store never do. */
const INT8 = 20;
const parsers = new TypeOverrides();
parsers.setTypeParser(INT8, Number);

/** Connection settings of a database. */
export interface DatabaseTarget {
  /** The database and its host, without the password, for messages. */
  readonly name: string;
  readonly config: ClientConfig;
}

/**
 * Parses a DATABASE_URL.
 *
 * @throws {Error} If it is invalid; the message does not repeat it.
 */
export function readTarget(url: string): DatabaseTarget {
  const config = { connectionString: url, types: parsers, application_name: "market-signal" };
  try {
    const { host, port, database } = new Client(config);
    const place = host.startsWith("/") ? host : `${host}:${port}`;
    return { name: `the database "${database}" on ${place}`, config };
  } catch (error) {
    throw new Error(`DATABASE_URL cannot be used: ${(error as Error).message}.`);
  }
}

/**
 * Runs the database work of a start or a command.
 *
 * @throws {Error} An actionable error for the operator instead of `store_unavailable`; other errors are
 *   unchanged.
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

/** The message of an error; for a host with several addresses, the messages of its inner errors. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : "it does not answer";
}
