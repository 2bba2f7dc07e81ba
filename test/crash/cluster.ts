import { randomBytes } from "node:crypto";
import { newKey } from "../support/admin.ts";
import { freePort } from "../support/free-port.ts";
import { NO_LIMITS, type ServiceProcess, startService } from "./child.ts";
import { temporaryPlace } from "./disks.ts";

type Env = Readonly<Record<string, string>>;

/** A process of a cluster, with the base URL of this process alone. */
export interface Node extends ServiceProcess {
  readonly base: string;
}

/** Several processes of the service that share one database. */
export interface Cluster {
  readonly databaseUrl: string;
  /**
   * Starts another process, on its own port unless `env` has a PORT, and waits until it is ready.
   */
  start(env?: Env): Promise<Node>;
  /** Creates an API key with the given scopes. */
  newKey(scopes: string): Promise<string>;
  /** Kills all processes that still run. */
  end(): Promise<void>;
}

/**
 * Prepares a cluster on a database without starting a process.
 *
 * @param env Environment variables of every process.
 */
export async function openCluster(databaseUrl: string, env: Env = {}): Promise<Cluster> {
  const { folder, remove } = await temporaryPlace();
  const shared = {
    ...{ RATE_LIMITS: NO_LIMITS, ...env, DATABASE_URL: databaseUrl, DATA_DIR: folder },
    MASTER_KEY: randomBytes(32).toString("base64"),
  };
  const running: ServiceProcess[] = [];
  return {
    databaseUrl,
    async start(more = {}) {
      const port = more.PORT ?? (await freePort());
      const process = startService({ ...shared, ...more, PORT: port });
      running.push(process);
      await process.baseUrl();
      return { ...process, base: `http://127.0.0.1:${port}` };
    },
    newKey: (scopes) => newKey(shared, scopes),
    async end() {
      for (const process of running) process.kill();
      await Promise.all(running.map(({ ended }) => ended));
      await remove();
    },
  };
}
