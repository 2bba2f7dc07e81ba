import type {
  Collection,
  DueRecordSelection,
  RecordRevision,
  RecordSelection,
  Records,
  Stored,
} from "../port/records.ts";
import { isStorableName } from "../port/values.ts";
import type { Announcements } from "./announcements.ts";
import type { Commits } from "./commits.ts";
import type { Connection, PreparedStatement } from "./connection.ts";

/** Dependencies of `createPostgresRecords`. */
interface RecordsOptions {
  readonly connection: Connection;
  readonly commits: Commits;
  readonly announcements: Announcements;
  /** Overrides the database's clock, in milliseconds since the epoch. */
  readonly now: (() => number) | undefined;
}

interface Row {
  readonly key: string;
  readonly value: unknown;
  readonly revision: number;
  readonly groups: readonly string[];
  readonly expires_at: number | null;
  readonly due_at: number | null;
  readonly consumed_at: number | null;
}

const COLUMNS = "key, value, revision, groups, expires_at, due_at, consumed_at";

/** SQL condition for records that have not expired; `$1` overrides the clock. */
const ALIVE =
  "(expires_at is null or expires_at > market_signal.instant($1, statement_timestamp()))";

/** Creates the records of a database. */
export function createPostgresRecords(options: RecordsOptions): Records {
  const { connection, commits, announcements, now } = options;
  const ask = async <T>(statement: PreparedStatement) => {
    const values = [now?.(), ...(statement.values ?? [])];
    const { rows } = await connection.query<Row>({ ...statement, values });
    return rows.map((row) => stored<T>(row));
  };
  return {
    async get<T>(from: Collection<T>, key: string) {
      if (![from.name, key].every(isStorableName)) return undefined;
      const [found] = await ask<T>(getting(from.name, key));
      return found;
    },
    async list<T>(from: Collection<T>, selection: RecordSelection) {
      if (![from.name, selection.group ?? ""].every(isStorableName)) return [];
      return ask<T>(listing(from.name, selection));
    },
    async listRevisions({ name }, { after = 0, limit }) {
      if (!isStorableName(name)) return [];
      const text = `select key, revision from market_signal.record
        where collection = $2 and revision > $3 and ${ALIVE} order by revision limit $4`;
      const values = [now?.(), name, after, limit];
      const statement = { name: "list-revisions", text, values };
      return (await connection.query<RecordRevision>(statement)).rows;
    },
    commit: commits.commit,
    async claimDue<T>(from: Collection<T>, { limit, leaseMs, except = [] }: DueRecordSelection) {
      if (!isStorableName(from.name)) return [];
      return ask<T>(
        claiming([from.name, limit, Math.round(leaseMs), except.filter(isStorableName)]),
      );
    },
    async purgeExpired(limit) {
      const values = [limit, now?.()];
      const text = "select market_signal.purge($1, $2) as gone";
      const { rows } = await connection.query<{ gone: number }>({ name: "purge", text, values });
      return rows[0]?.gone ?? 0;
    },
    onAnnounce: announcements.on,
  };
}

function getting(collection: string, key: string): PreparedStatement {
  const text = `select ${COLUMNS} from market_signal.record
    where collection = $2 and key = $3 and ${ALIVE}`;
  return { name: "get", text, values: [collection, key] };
}

function listing(
  collection: string,
  { group, after = 0, limit }: RecordSelection,
): PreparedStatement {
  const listed = `collection = $2 and revision > $3 and ${ALIVE} order by revision limit $4`;
  const values = [collection, after, limit];
  if (group === undefined) {
    const text = `select ${COLUMNS} from market_signal.record where ${listed}`;
    return { name: "list", text, values };
  }
  // Each member is looked up by itself (`limit 1`), so that no query plan scans the whole
  // collection to find a few of them.
  const text = `with members as materialized (
      select revision from market_signal.member where name = $5 and ${listed})
    select found.* from members cross join lateral (
      select ${COLUMNS} from market_signal.record
      where collection = $2 and revision = members.revision limit 1) as found
    order by revision`;
  return { name: "list-group", text, values: [...values, group] };
}

function claiming(values: unknown[]): PreparedStatement {
  const text = `select ${COLUMNS} from market_signal.claim($2, $3, $4, $1, $5)`;
  return { name: "claim", text, values };
}

function stored<T>(row: Row): Stored<T> {
  return {
    key: row.key,
    value: row.value as T,
    revision: row.revision,
    groups: row.groups,
    expiresAt: row.expires_at ?? undefined,
    dueAt: row.due_at ?? undefined,
    consumedAt: row.consumed_at ?? undefined,
  };
}
