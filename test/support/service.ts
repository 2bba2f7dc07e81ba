import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { type MarketChoice, readConfig } from "../../src/config/config.ts";
import { quotas } from "../../src/limits/limits.ts";
import { createService, type Service } from "../../src/service.ts";
import { atFileEnd } from "./file-end.ts";
import { borrowSandbox } from "./shared-sandbox.ts";

/** A quiet instant of the sandbox, so that every run sees the same market. */
export const SANDBOX_NOW = new Date("2026-11-21T05:00:30.000Z");

/** A service on a socket of its own, with a clock that the test moves. */
export interface RunningService {
  readonly base: string;
  readonly service: Service;
  /** Failures that were logged, newest last. */
  readonly logged: readonly string[];
  readonly clock: { now: Date };
}

/** Limits that no test of something else meets, as the setting is written. */
export const LOOSE_LIMITS = Object.keys(quotas)
  .map((name) => `${name}=100000/3600`)
  .join(" ");

/** What a test can choose about a service; the rest is as it is without settings. */
interface Choice {
  /** Another market than the usual sandbox. */
  readonly market?: MarketChoice;
  /** PostgreSQL instead of the embedded store. */
  readonly databaseUrl?: string;
}

/** Starts a service on a free port with a store of its own; both go when the tests of the file have
 *  run. */
export async function startService({ market, databaseUrl }: Choice = {}): Promise<RunningService> {
  const server = createServer();
  const base = await listen(server);
  const folder = await mkdtemp(join(tmpdir(), "market-signal-"));
  const clock = { now: SANDBOX_NOW };
  const logged: string[] = [];
  const log = pino({ level: "error" }, { write: (line) => logged.push(line) });
  const store = { folder, databaseUrl, masterKey: undefined };
  const config = readConfig({ RATE_LIMITS: LOOSE_LIMITS });
  const lent = market === undefined ? await borrowSandbox(SANDBOX_NOW) : undefined;
  const service = await createService({
    config: { ...config, market: market ?? config.market, store },
    sandbox: lent?.sandbox,
    baseUrl: base,
    now: () => clock.now,
    log,
  });
  server.on("request", service.app);
  atFileEnd(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await service.close();
    lent?.giveBack();
    await rm(folder, { recursive: true, force: true });
  });
  return { base, service, logged, clock };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
