import { beforeAll, describe, onTestFinished } from "vitest";
import type { Store } from "../../../../src/store/port/store.ts";
import { openPostgres, type PostgresOptions } from "../../../../src/store/postgres/open.ts";
import {
  type Cluster,
  postgresAvailable,
  sharedPostgres,
  startPostgres,
} from "../../../support/postgres.ts";

/** Timeout in milliseconds, because starting a server takes seconds on a busy machine. */
export const START_MS = 60_000;

/** Defines tests. `server` returns the running server inside a test. */
type Tests = (server: () => Cluster) => void;

/** Defines tests that use the shared PostgreSQL server. */
export function describePostgres(title: string, tests: Tests): void {
  describeOn(sharedPostgres, title, tests);
}

/** Defines tests that use their own PostgreSQL server, which they may restart or reconfigure. */
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

/** Opens a store that is closed at the end of the test. */
export async function open(options: PostgresOptions): Promise<Store> {
  const store = await openPostgres({ mode: "sandbox", ...options });
  onTestFinished(() => store.close());
  return store;
}
