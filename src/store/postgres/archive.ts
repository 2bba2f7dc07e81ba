import { randomUUID } from "node:crypto";
import type { Archive, ArchiveRow, ArchiveSelection } from "../port/archive.ts";
import { checkRecordNames, isStorableName, jsonText } from "../port/values.ts";
import type { Connection, PreparedStatement } from "./connection.ts";
import type { RunOnce } from "./once.ts";

/** Maximum number of rows deleted per step, so that no step takes long. */
const PRUNE_ROWS = 5_000;

/**
 * First and last instant of the years 1 to 9999, which partition names support, in milliseconds
 * since the epoch.
 */
const RANGE = { first: -62_135_596_800_000, last: 253_402_300_799_999 };

interface Row extends Omit<ArchiveRow, "subject"> {
  readonly subject: string | null;
}

interface PlacedRow extends Row {
  readonly place: number;
}

/** Creates the archive of a database. */
export function createPostgresArchive(connection: Connection, once: RunOnce): Archive {
  return {
    async append(rows) {
      if (rows.length === 0) return 0;
      const given = JSON.stringify(rows.map(encodeArchiveRow));
      const parts = rows.length;
      return (await once<number>({ id: randomUUID(), work: "append", given, parts })) ?? 0;
    },
    async read(kind, selection) {
      const { subject = "", after = { id: "" } } = selection;
      if (![kind, subject, after.id].every(isStorableName)) return [];
      const { rows } = await connection.query<Row>(reading(kind, selection));
      return rows.map(decode);
    },
    async follow(kinds, after, limit) {
      const text = "select * from market_signal.follow($1, $2, $3)";
      const values = [[...kinds], after, limit];
      const { rows } = await connection.query<PlacedRow>({ name: "follow", text, values });
      const wanted = rows.filter(({ kind }) => kinds.has(kind));
      return {
        rows: wanted.map(({ place: _, ...row }) => decode(row)),
        place: rows.at(-1)?.place ?? after,
      };
    },
    async lastPlace() {
      const text = "select coalesce(max(place), 0) as place from market_signal.archive";
      const { rows } = await connection.query<{ place: number }>({ name: "last-place", text });
      return rows[0]?.place ?? 0;
    },
    async prune(kind, before) {
      if (!isStorableName(kind)) return 0;
      const text = "select market_signal.prune($1, $2, $3) as gone";
      const values = [kind, bound(Math.ceil(before)), PRUNE_ROWS];
      for (let total = 0; ; ) {
        const answer = await connection.query<{ gone: number }>({ name: "prune", text, values });
        const gone = answer.rows[0]?.gone ?? 0;
        total += gone;
        if (gone < PRUNE_ROWS) return total;
      }
    },
  };
}

/**
 * Encodes a row in the form that the SQL function `market_signal.append` reads.
 *
 * @throws {RangeError} If the store cannot hold the row.
 */
export function encodeArchiveRow({ kind, at, id, subject, body }: ArchiveRow): object {
  checkRecordNames([kind, id, subject ?? ""]);
  if (!Number.isInteger(at) || at < RANGE.first || at > RANGE.last) {
    throw new RangeError("Instants are whole milliseconds in the years from 1 to 9999.");
  }
  return { kind, at, id, subject, text: jsonText(body) };
}

function decode({ subject, ...row }: Row): ArchiveRow {
  return subject === null ? row : { ...row, subject };
}

/**
 * Clamps a bound of a selection to just outside the column's range, which does not change the
 * selected rows.
 */
const bound = (at: number) => Math.max(RANGE.first - 1, Math.min(at, RANGE.last + 1));

/** A condition of a selection. The values replace the question marks in the SQL text, in order. */
type Condition = readonly [name: string, sql: string, ...values: readonly unknown[]];

function reading(kind: string, selection: ArchiveSelection): PreparedStatement {
  const { order, limit } = selection;
  const conditions: readonly Condition[] = [["kind", "kind = ?", kind], ...conditionsOf(selection)];
  const direction = order === "oldest" ? "asc" : "desc";
  const where = conditions.map(([, sql]) => sql).join(" and ");
  const sql = `select kind, at, id, subject, body from market_signal.archive
    where ${where} order by at ${direction}, id ${direction} limit ?`;
  let number = 0;
  const text = sql.replaceAll("?", () => `$${++number}`);
  const values = [...conditions.flatMap(([, , ...given]) => given), limit];
  return { name: ["read", order, ...conditions.map(([name]) => name)].join("-"), text, values };
}

function conditionsOf({ subject, from, to, order, after }: ArchiveSelection): readonly Condition[] {
  const sign = order === "oldest" ? ">" : "<";
  const optional: readonly (Condition | false)[] = [
    subject !== undefined && ["subject", "subject = ?", subject],
    from !== undefined && ["from", "at >= ?", bound(Math.ceil(from))],
    to !== undefined && ["to", "at <= ?", bound(Math.floor(to))],
    // This condition is redundant, but lets the planner exclude partitions.
    after !== undefined && [
      "after",
      `at ${sign}= ? and (at, id) ${sign} (?, ?)`,
      ...[after.at, after.at, after.id],
    ],
  ];
  return optional.filter((condition) => condition !== false);
}
