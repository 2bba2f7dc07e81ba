import { beforeAll, describe, onTestFinished } from "vitest";
import type { Store } from "../../../../src/store/port/store.ts";
import { openPostgres, type PostgresOptions } from "../../../../src/store/postgres/open.ts";
import {
  type Cluster,
  postgresAvailable,
  sharedPostgres,
  startPostgres,
} from "../../../support/postgres.ts";

/** Starting a server takes seconds on a busy machine. */
const START_MS = 60_000;

/** Tests get the server, once it runs. */
type Tests = (server: () => Cluster) => void;

/** Tests on the PostgreSQL server that all share. */
export function describePostgres(title: string, tests: Tests): void {
  describeOn(sharedPostgres, title, tests);
}

/** Tests on a PostgreSQL server of their own, which they restart or change. */
export function describeOwnPostgres(title: string, tests: Tests): void {
  describeOn(startPostgres, title, tests);
}

function describeOn(start: () => Promise<Cluster>, title: string, tests: Tests): void {
  const note = postgresAvailable ? "" : " (SKIPPED: no PostgreSQL for this platform)";
  describe.skipIf(!postgresAvailable)(
    `${title}${note}`,
    { timeout: START_MS, tags: ["full"] },
    () => {
      let cluster: Cluster;
      beforeAll(async () => {
        cluster = await start();
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
