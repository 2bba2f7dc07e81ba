import { beforeAll, describe, onTestFinished } from "vitest";
import { openPostgres, type PostgresOptions } from "../../../../src/store/postgres/open.ts";
import type { Store } from "../../../../src/store/store.ts";
import { type Cluster, postgresAvailable, startPostgres } from "../../../support/postgres.ts";

/** Starting a server takes seconds on a busy machine. */
const START_MS = 60_000;

/** Tests with a PostgreSQL server of their own. @param tests Get the server, once it runs. */
export function describePostgres(title: string, tests: (server: () => Cluster) => void): void {
  const note = postgresAvailable ? "" : " (SKIPPED: no PostgreSQL for this platform)";
  describe.skipIf(!postgresAvailable)(
    `${title}${note}`,
    { timeout: START_MS, tags: ["full"] },
    () => {
      let cluster: Cluster;
      beforeAll(async () => {
        cluster = await startPostgres();
      }, START_MS);
      tests(() => cluster);
    },
  );
}

/** Opens a store that is closed when the test is over. */
export async function open(options: PostgresOptions): Promise<Store> {
  const store = await openPostgres({ mode: "sandbox", ...options });
  onTestFinished(() => store.close());
  return store;
}
