import { Client, type ClientConfig, TypeOverrides } from "pg";
import { Problem } from "../../problem.ts";

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

/**
 * Does what a start or a command needs of a database.
 *
 * @throws {Error} That an operator can act on, in place of `store_unavailable`; other errors stay.
 */
export async function explained<T>({ name }: Target, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const why = reasonOf(error.cause);
    const advice = "Check DATABASE_URL, the rights of its user, and that the server runs.";
    throw new Error(`${name} cannot be used: ${why}. ${advice}`);
  }
}

/** The message of an error; that of a host with several addresses has its own in a list. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : "it does not answer";
}
