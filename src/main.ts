import type { RequestListener } from "node:http";
import { flushCompileCache } from "node:module";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Logger } from "pino";
import { type AdminSocket, serveAdmin } from "./cli/admin-socket.ts";
import { type Config, readConfig, secretSettingValues } from "./config/config.ts";
import { sendProblem } from "./http/errors.ts";
import { createLoadShedder } from "./http/load-shedding.ts";
import { isLocalSandbox } from "./http/pages/code-on-page.ts";
import { createBoundedServer } from "./http/server.ts";
import { Problem } from "./lib/problem.ts";
import { terminalMessage } from "./outbound/terminal-text.ts";
import {
  announceReady,
  logReplayEnd,
  showEmail,
  showMarketProgress,
  showReplay,
  warnIfDiskIsFull,
  warnIfFolderIsAccessible,
} from "./process/announce.ts";
import { isPortShared, listenExclusively, listenShared, originOf } from "./process/bind-port.ts";
import { createSteadyClock } from "./process/steady-clock.ts";
import {
  exitAfterTimeout,
  openSocketsOf,
  type ShutdownParts,
  stopInOrder,
} from "./process/stop.ts";
import { createService, SERVICE_NAME, type Service } from "./service.ts";
import { explainStartFault } from "./store/sqlite/sqlite-errors.ts";
import { createProcessLog } from "./telemetry/log.ts";
import { type MetricsServer, serveMetrics } from "./telemetry/metrics-server.ts";
import { programVersion } from "./telemetry/program-version.ts";

/**
 * Delay of the garbage collection after the start, in milliseconds: by then, the first requests
 * have been served. Also the interval between checks whether a warm start has computed its scores.
 */
const COLLECT_AFTER_MS = 3_000;

/**
 * Permissions that no file of the service has: what it writes is for its owner, since DATA_DIR holds
 * keys and personal data.
 */
const GROUP_AND_OTHERS = 0o077;

/**
 * Growth of the old generation, in percent of what the last collection left, at which V8 collects
 * again. By default it is up to four times as large: after 100,000 MCP calls, the process then has 450
 * MB instead of 230, for the same CPU time (measured). During the start, when all that is allocated
 * stays, this would cost 15 %.
 */
const HEAP_GROWING_PERCENT = 50;

/** V8's garbage collection function (`--expose-gc`). */
type Collect = (how: {
  readonly type: "major";
  readonly execution: "sync";
  readonly flavor: "last-resort";
}) => void;

// The flush also frees the compiled code that was loaded from the cache (12 MB). Code that is freed
// before the market is read leaves no gaps between longer-lived objects; such gaps could not be
// returned to the system.
flushCompileCache();
process.umask(GROUP_AND_OTHERS);
await main();

async function main(): Promise<void> {
  const config = readSettings();
  if (config === undefined) return;
  const { log, lastErrors } = createProcessLog({
    level: config.logLevel,
    secrets: secretSettingValues(process.env),
    write: (line) => process.stderr.write(line),
  });
  let shed = 0;
  const server = createBoundedServer(refuseWhileStarting, config);
  const openSockets = openSocketsOf(server);
  try {
    if (!isPortShared(config)) await listenExclusively(server, config);
    const baseUrl = originOf(server, config);
    const service = await createService({
      config,
      baseUrl,
      now: () => new Date(),
      storeNow: createSteadyClock({ wall: Date.now, monotonic: () => performance.now() }),
      log,
      processParts: () => ({ shed, lastErrors: lastErrors() }),
      onProgress: showMarketProgress(config.market.kind === "live" ? "lists" : "instruments"),
      // Whoever started a local sandbox without a terminal reads its sign-in codes in the output.
      onEmail: process.stderr.isTTY || isLocalSandbox(config, baseUrl) ? showEmail : undefined,
    });
    const admin = await openAdminSocket(service, config, baseUrl);
    const admit = createLoadShedder({
      handle: service.app,
      now: () => performance.now(),
      proxyHops: config.proxyHops,
      onShed: () => {
        shed += 1;
      },
    });
    server.off("request", refuseWhileStarting).on("request", admit);
    if (isPortShared(config)) await listenShared(server, config, service.keyIds());
    const metrics = openMetricsPort(service, config, log);
    const close = async () => {
      metrics?.close();
      await admin.close();
      await service.close();
    };
    stopOnSignal({ ...service, server, openSockets, close, acceptMs: config.drainMs });
    warnIfFolderIsAccessible(config.store.folder);
    warnIfDiskIsFull(config.store.folder);
    announceReady(service, config, baseUrl);
    log.info({ version: programVersion(), market: config.market.kind }, "the service is ready");
    refreshScores(service, log);
    collectWhenScored(service);
  } catch (error) {
    fail(
      config.store.databaseUrl === undefined
        ? explainStartFault(config.store.folder, error)
        : error,
    );
  }
}

function readSettings(): Config | undefined {
  try {
    return readConfig(process.env);
  } catch (error) {
    fail(error);
    return undefined;
  }
}

function fail(error: unknown, doing = "start"): void {
  const reason = error instanceof Error ? error.message : error;
  process.stderr.write(`${terminalMessage(`Cannot ${doing}: ${reason}`)}\n`);
  process.exit(1);
}

function refuseWhileStarting(...[, res]: Parameters<RequestListener>): void {
  const problem = new Problem("not_ready", {
    detail: "The market is being read.",
    next: "Try again in a moment; GET /readyz answers 200 once the service is ready.",
    headers: { "retry-after": "1" },
  });
  sendProblem(res, problem);
}

/**
 * Scores the sessions that closed during the start, and later sessions whenever the market has
 * advanced.
 */
function refreshScores(service: Service, log: Logger): void {
  try {
    service.refresh();
  } catch (error) {
    log.error({ err: error }, "scoring failed; it is retried at the next session");
  }
  const waitMs = service.untilNextRefresh();
  if (waitMs === undefined) {
    logReplayEnd(service, log);
    return;
  }
  showReplay(service);
  setTimeout(refreshScores, waitMs, service, log).unref();
}

/**
 * Runs `collectGarbage` after the start; after a warm start, only once the scores have been
 * computed.
 */
function collectWhenScored(service: Service): void {
  const collect = () => (service.isProvisional() ? collectWhenScored(service) : collectGarbage());
  setTimeout(collect, COLLECT_AFTER_MS).unref();
}

/**
 * Writes the compiled code of the start to disk and returns its memory to the system; from then on,
 * garbage is collected sooner. By default, V8 keeps freed pages until another process needs memory:
 * 350 MB, of which 190 MB are in use (sandbox, measured). Blocks the process for 0.2 to 0.4 s.
 */
function collectGarbage(): void {
  flushCompileCache();
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as Collect;
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
  setFlagsFromString("--no-expose-gc");
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`);
}

/** Serves the metrics, if METRICS_PORT is set. */
function openMetricsPort(
  { metrics }: Service,
  { host, metricsPort: port }: Config,
  log: Logger,
): MetricsServer | undefined {
  if (metrics === undefined || port === undefined) return undefined;
  const onError = (err: unknown, doing: string) => log.warn({ err }, doing);
  return serveMetrics({ ...metrics, host, port, onError });
}

/** Lets the operator's commands use the store while this process has it open. */
function openAdminSocket(
  { state, report }: Service,
  { store }: Config,
  baseUrl: string,
): Promise<AdminSocket> {
  return serveAdmin({
    folder: store.folder,
    databaseUrl: store.databaseUrl,
    context: {
      store: state.store,
      folder: store.folder,
      keyring: () => Promise.resolve(state.keyring),
      now: Date.now,
      holder: "server",
      report,
      site: { name: SERVICE_NAME, baseUrl },
    },
  });
}

/**
 * Shuts down gracefully on SIGTERM and SIGINT. After Ctrl-C on a terminal, the shutdown does not
 * wait for load balancers.
 */
function stopOnSignal(stopping: ShutdownParts): void {
  const stop = (signal: NodeJS.Signals) => {
    const isFromTerminal = signal === "SIGINT" && process.stdin.isTTY;
    const acceptMs = isFromTerminal ? 0 : stopping.acceptMs;
    exitAfterTimeout(acceptMs);
    stopInOrder({ ...stopping, acceptMs })
      .then(() => process.exit(0))
      .catch((error) => fail(error, "shut down cleanly"));
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
}
