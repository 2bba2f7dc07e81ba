import { randomInt } from "node:crypto";
import type { QueryConfig } from "pg";

/**
 * First half of the keys of the advisory locks that show who uses a store, "MSP" in ASCII; the
 * second half is the number of the user.
 */
const CLASS = 0x4d5350;

/** Beginning of the names of connections, also in versions that hold no such lock. */
export const APPLICATION_PREFIX = "market-signal";

/**
 * Draws the number by which all connections of one user of a store are known to belong together.
 */
export const drawUser = (): number => randomInt(2 ** 31);

/**
 * The statement by which a connection shows, until it ends, that a user of the store has it. Names
 * cannot show that: DATABASE_URL can set them, and two containers can have the same.
 */
export const showPresence = (user: number): QueryConfig<unknown[]> => ({
  text: "select pg_advisory_lock_shared($1, $2)",
  values: [CLASS, user],
});

/**
 * SQL query for the connections (`pid`, `name`) to this database that other users of the store
 * have. It runs on a connection that shows its own presence.
 */
export const OTHER_CONNECTIONS_SQL = `
  with present as (
    select pid, objid as "user" from pg_locks
    where locktype = 'advisory' and classid = ${CLASS} and objsubid = 2
      and database = (select oid from pg_database where datname = current_database())
  )
  select activity.pid, activity.application_name as name
  from pg_stat_activity activity left join present using (pid)
  where activity.datname = current_database() and case
    when present.pid is null then starts_with(activity.application_name, '${APPLICATION_PREFIX}')
    else present.user not in (select own.user from present own where own.pid = pg_backend_pid())
  end`;
