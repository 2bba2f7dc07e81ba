import { Client, type ClientConfig, TypeOverrides } from "pg";

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
