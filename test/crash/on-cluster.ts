import { postgresAvailable, type Cluster as Server, startPostgres } from "../support/postgres.ts";
import { type Cluster, openCluster } from "./cluster.ts";
import { type Measure, type Outcome, skip } from "./outcome.ts";

/**
 * Runs a scenario with processes on a new database.
 *
 * @param env Environment variables of every process.
 */
export async function onCluster(
  title: string,
  env: Readonly<Record<string, string>>,
  scenario: (cluster: Cluster, server: Server) => Promise<readonly Measure[]>,
): Promise<Outcome> {
  if (!postgresAvailable) return skip(title, "there is no PostgreSQL for this platform");
  const server = await startPostgres();
  const cluster = await openCluster(await server.createDatabase(), env);
  try {
    return { title, measures: await scenario(cluster, server) };
  } finally {
    await cluster.end();
    await server.stop();
  }
}
