import type { QueryResultRow } from "pg";
import type { Backlog, StoreSize } from "../port/store.ts";
import type { Connection } from "./connection.ts";

/** How much room the tables take, with their indexes; an archive is all its partitions. */
export async function sizeOf(connection: Connection): Promise<StoreSize> {
  const text = `select
      (select greatest(reltuples, 0)::bigint from pg_class
        where oid = 'market_signal.record'::regclass) as records,
      pg_total_relation_size('market_signal.record')
        + (select coalesce(sum(pg_total_relation_size(relid)), 0)::bigint
          from pg_partition_tree('market_signal.archive')) as bytes`;
  const { rows } = await connection.query<StoreSize & QueryResultRow>({ name: "size", text });
  return rows[0] ?? { records: 0, bytes: 0 };
}

/** What is counted. */
interface Counted {
  readonly collection: string;
  /** Takes the place of the database's clock; milliseconds since the epoch. */
  readonly now: number | undefined;
}

/** What of a collection waits to be worked on. */
export async function backlogOf(
  connection: Connection,
  { collection, now }: Counted,
): Promise<Backlog> {
  const text = `with clock as materialized (
      select market_signal.instant($2, statement_timestamp()) as now)
    select count(*) as waiting,
      count(*) filter (where due_at <= now) as due,
      coalesce(max(now - due_at) filter (where due_at <= now), 0) as "oldestDueMs"
    from market_signal.record cross join clock
    where collection = $1 and due_at is not null and (expires_at is null or expires_at > now)`;
  const statement = { name: "backlog", text, values: [collection, now] };
  const { rows } = await connection.query<Backlog & QueryResultRow>(statement);
  return rows[0] ?? { waiting: 0, due: 0, oldestDueMs: 0 };
}
