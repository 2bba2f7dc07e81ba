import type { Client, QueryConfig, QueryResult, QueryResultRow } from "pg";

/** Asks on a connection that one has. @throws {Error} When there is no answer in time. */
export function ask<R extends QueryResultRow>(
  client: Pick<Client, "query">,
  statement: QueryConfig<unknown[]>,
  timeoutMs: number,
): Promise<QueryResult<R>> {
  // The driver's types do not know this option of a statement.
  const timed = { ...statement, query_timeout: timeoutMs };
  return client.query<R>(timed);
}
