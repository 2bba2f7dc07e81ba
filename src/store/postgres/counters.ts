import type { Addition, CountedWindow, Counters } from "../port/counters.ts";
import type { Connection } from "./connection.ts";
import { COUNT, SWEEP } from "./counter-sql.ts";

/** Windows that are swept in one step, so that none lasts long. */
const SWEEP_ROWS = 1_000;

interface Row {
  readonly name: string;
  readonly points: number;
  readonly left_ms: number;
}

/** The counters of one database. @param now Takes the place of the database's clock. */
export function postgresCounters(
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

/** A window that was looked at and has ended is one in which nothing was counted. */
function windowOf(row: Row | undefined, { windowMs }: Addition): CountedWindow {
  return row === undefined
    ? { points: 0, leftMs: windowMs }
    : { points: row.points, leftMs: row.left_ms };
}
