import type { CountedWindow, CounterAddition, Counters } from "../port/counters.ts";
import type { Connection } from "./connection.ts";

/**
 * SQL that creates the table of counter windows. The table is unlogged, because counting should not
 * cost disk writes, and a server crash loses only the counts of minutes or hours. Instants are
 * milliseconds since the epoch.
 */
export const counterTableSql = `
create unlogged table if not exists market_signal.counter (
  name text collate "C" primary key,
  points bigint not null,
  ends_at bigint not null
);
create index if not exists counter_ends on market_signal.counter (ends_at);
`;

/** SQL expression for the current instant; `$1` overrides the database's clock. */
const NOW = "market_signal.instant($1, statement_timestamp())";

/** SQL statement that adds points to windows, in order of name to prevent deadlocks. */
const COUNT = `
with given as (
  select name, points, window_ms
  from unnest($2::text[], $3::bigint[], $4::bigint[]) as one(name, points, window_ms)
), added as (
  insert into market_signal.counter as old (name, points, ends_at)
    select name, points, ${NOW} + window_ms from given where points > 0 order by name
  on conflict (name) do update set
    points = excluded.points + case when old.ends_at > ${NOW} then old.points else 0 end,
    ends_at = case when old.ends_at > ${NOW} then old.ends_at else excluded.ends_at end
  returning name, points, ends_at
)
select name, points, ends_at - ${NOW} as left_ms from added
union all
select old.name, old.points, old.ends_at - ${NOW}
from given join market_signal.counter as old using (name)
where given.points = 0 and old.ends_at > ${NOW}
`;

/** SQL statement that deletes a limited number of ended windows, skipping locked windows. */
const SWEEP = `
delete from market_signal.counter where name in (
  select name from market_signal.counter where ends_at <= ${NOW}
  limit $2 for update skip locked)
`;

/** Maximum number of windows deleted per step, so that no step takes long. */
const SWEEP_ROWS = 1_000;

interface Row {
  readonly name: string;
  readonly points: number;
  readonly left_ms: number;
}

/**
 * Creates the counters of a database.
 *
 * @param now Overrides the database's clock.
 */
export function createPostgresCounters(
  connection: Connection,
  now: (() => number) | undefined,
): Counters {
  return {
    async add(additions) {
      const values = [
        now?.(),
        additions.map(({ name }) => name),
        additions.map(({ points }) => points),
        additions.map(({ windowMs }) => windowMs),
      ];
      const { rows } = await connection.query<Row>({ name: "count-windows", text: COUNT, values });
      const byName = new Map(rows.map((row) => [row.name, row]));
      return additions.map((addition) => windowOf(byName.get(addition.name), addition));
    },
    async sweep() {
      const values = [now?.(), SWEEP_ROWS];
      const { rowCount } = await connection.query({ name: "sweep-windows", text: SWEEP, values });
      return rowCount === SWEEP_ROWS ? SWEEP_ROWS : 0;
    },
  };
}

/** The state of a window. A window that has ended is treated as unused if it was only read. */
function windowOf(row: Row | undefined, { windowMs }: CounterAddition): CountedWindow {
  return row === undefined
    ? { points: 0, leftMs: windowMs }
    : { points: row.points, leftMs: row.left_ms };
}
