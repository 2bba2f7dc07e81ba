import type { Session } from "./session.ts";

/** The oldest PostgreSQL that is known to do, as `server_version_num`. */
const OLDEST_VERSION = 160_000;

/** Settings without which a crash of the machine can destroy what was acknowledged. */
const DURABLE = ["fsync", "full_page_writes"];

interface Server {
  readonly version: string;
  readonly number: number;
  readonly encoding: string;
  /** Those of the settings that are off. */
  readonly off: readonly string[];
}

/** Which server is checked, and who is told of what it lacks. */
interface Checked {
  /** The database, for messages. */
  readonly name: string;
  readonly onWarning?: (text: string) => void;
}

/** @throws {Error} That says what to do, when the server or its database is not one we can use. */
export async function checkServer(
  session: Session,
  { name, onWarning = () => undefined }: Checked,
): Promise<void> {
  const [found] = await session.query<Server>(
    `select current_setting('server_version') as version,
       current_setting('server_version_num')::int as number,
       current_setting('server_encoding') as encoding,
       array(select one from unnest($1::text[]) as one where current_setting(one) = 'off') as off`,
    [DURABLE],
  );
  if (found === undefined || found.number < OLDEST_VERSION) {
    throw new Error(`${name} is PostgreSQL ${found?.version}; this program needs 16 or later.`);
  }
  if (found.encoding !== "UTF8") {
    throw new Error(
      `${name} has the encoding ${found.encoding}; this program needs UTF8. Create a database with "create database ... encoding 'UTF8' template template0" and set DATABASE_URL to it.`,
    );
  }
  if (found.off.length === 0) return;
  const settings = found.off.join(" and ");
  onWarning(
    `${name}: ${settings} is off: a power cut can lose what was acknowledged. Set it to on.`,
  );
}
