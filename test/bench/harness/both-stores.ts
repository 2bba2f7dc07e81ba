import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Records } from "../../../src/store/port/records.ts";
import { openPostgres } from "../../../src/store/postgres/open.ts";
import { openEmbedded } from "../../../src/store/sqlite/open.ts";
import { postgresAvailable, startPostgres } from "../../support/postgres.ts";

/** Runs a measurement on an empty embedded store and, where it can run, on an empty PostgreSQL. */
export async function onBothStores(
  report: (engine: string, records: Records) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "bench-store-"));
  const embedded = await openEmbedded({ folder, mode: "sandbox", now: Date.now });
  await report("embedded", embedded.records);
  await embedded.close();
  rmSync(folder, { recursive: true });
  if (!postgresAvailable) return;
  const cluster = await startPostgres({ durable: true });
  const postgres = await openPostgres({ url: await cluster.createDatabase(), mode: "sandbox" });
  await report("PostgreSQL", postgres.records);
  await postgres.close();
  await cluster.stop();
}
