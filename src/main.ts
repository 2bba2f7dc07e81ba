import { statSync } from "node:fs";
import type { RequestListener } from "node:http";
import { flushCompileCache } from "node:module";
import type { Logger } from "pino";
import { type AdminSocket, serveAdmin } from "./cli/admin-socket.ts";
import { type Config, secretValues, type MarketChoice, readConfig } from "./config/config.ts";
import { sendProblem } from "./http/errors.ts";
import { createAdmission } from "./http/load-shedding.ts";
import { createBoundedServer } from "./http/server.ts";
import { isLoopbackHost } from "./lib/loopback.ts";
import { type Email, emailText } from "./mail/email.ts";
import { Problem } from "./problem.ts";
import { listenExclusively, listenShared, originOf, isPortShared } from "./process/bind-port.ts";
import { collectGarbage } from "./process/collect-garbage.ts";
import { liveMarketLines } from "./process/announce.ts";
import { createSteadyClock } from "./process/steady-clock.ts";
import { exitInTime, openSocketsOf, type Stopping, stopInOrder } from "./process/stop.ts";
import { createService, NAME, type Service } from "./service.ts";
import { createLog } from "./telemetry/log.ts";
import { type MetricsServer, serveMetrics } from "./telemetry/metrics-server.ts";

/** Takes a line of a terminal away: back to its start (CR), erase to its end (ECMA-48 EL). */
const ERASE_LINE = "\r\u001b[K";

/** What group and others may do, of the mode of a folder. */
const OTHERS = 0o077;

/** Long enough after the start that nobody waits for a first answer any more, in milliseconds. */
const SETTLE_MS = 3_000;

// Beside keeping what was compiled for the next start, it lets go of what was read: 12 MB that would
// otherwise leave holes between what is made later, and the system gets holes back only whole.
flushCompileCache();
await main();

async function main(): Promise<void> {
  const config = settings();
  if (config === undefined) return;
  const { log, lastErrors } = createLog({
    level: config.logLevel,
    secrets: secretValues(process.env),
    write: (line) => process.stderr.write(line),
  });
  const counts = { shed: 0 };
  const server = createBoundedServer(starting);
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
      processParts: () => ({ ...counts, lastErrors: lastErrors() }),
      onProgress: showProgress(config.market.kind === "live" ? "lists" : "instruments"),
      onEmail: process.stderr.isTTY || isOnlyHere(config, baseUrl) ? showEmail : undefined,
    });
    const admin = await takeCommands(service, config, baseUrl);
    const admit = createAdmission({
      ...{ handle: service.app, now: () => performance.now(), proxyHops: config.proxyHops },
      onShed: () => {
        counts.shed += 1;
      },
    });
    server.off("request", starting).on("request", admit);
    if (isPortShared(config)) await listenShared(server, config, service.keyIds());
    const metrics = offerMetrics(service, config, log);
    const close = async () => {
      metrics?.close();
      await admin.close();
      await service.close();
    };
    stopOnSignal({ ...service, server, openSockets, close, acceptMs: config.drainMs });
    warnOfReaders(config.store.folder);
    announce(service, config, baseUrl);
    keepCurrent(service, log);
    setTimeout(collectGarbage, SETTLE_MS).unref();
  } catch (error) {
    fail(error);
  }
}

function settings(): Config | undefined {
  try {
    return readConfig(process.env);
  } catch (error) {
    fail(error);
    return undefined;
  }
}

function fail(error: unknown, doing = "start"): void {
  process.stderr.write(`Cannot ${doing}: ${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}

/** Answers while the market is being read. */
function starting(...[, res]: Parameters<RequestListener>): void {
  const problem = new Problem("not_ready", {
    detail: "The market is being read.",
    next: "Try again in a moment; GET /readyz answers 200 once the service is ready.",
    headers: { "retry-after": "1" },
  });
  sendProblem(res, problem);
}

/** One JSON line for programs on standard output, a few words for people on standard error. */
function announce({ market, following }: Service, config: Config, baseUrl: string): void {
  const instruments = market.instruments().length;
  const asOf = new Date(market.knownUntil()).toISOString();
  const { simulated } = market.source;
  const replay = replayOf(config.market);
  const live = following && { followed: following.instruments };
  const ready = { event: "ready", baseUrl, market: market.mode, simulated, asOf, instruments };
  process.stdout.write(`${JSON.stringify({ ...ready, ...live, ...(replay && { replay }) })}\n`);
  const playing = replay && `  Replay  to ${replay.to}, ${replay.daysPerSecond} days a second\n`;
  const lines = following ? liveMarketLines(following, config.anonymousScopes) : [];
  process.stderr.write(
    `${NAME} serves ${instruments} ${simulated ? "simulated " : ""}instruments as of ${asOf}.\n` +
      `${playing ?? ""}` +
      lines.map((line) => `  ${line}\n`).join("") +
      `  Home    ${baseUrl}/\n` +
      `  API     ${baseUrl}/docs/api\n` +
      `  MCP     ${baseUrl}/mcp\n` +
      `  REST    ${baseUrl}/api/signals\n` +
      `  Health  ${baseUrl}/api/health\n` +
      `  Account ${baseUrl}/account\n` +
      "  Stop with Ctrl-C.\n",
  );
}

/** Says so when others on this machine may look into the folder with secrets and personal data. */
function warnOfReaders(folder: string): void {
  const mode = statSync(folder, { throwIfNoEntry: false })?.mode ?? 0;
  // Windows has no such modes: it tells what the owner may do for everybody.
  if (process.platform === "win32" || (mode & OTHERS) === 0) return;
  const shown = (mode & 0o777).toString(8);
  process.stderr.write(
    `Other users of this machine can open ${folder} (mode ${shown}), which holds keys and personal data: chmod 700 ${folder}\n`,
  );
}

/** The replay that was chosen, if any, with the instant at which time will stand still. */
function replayOf(choice: MarketChoice) {
  if (choice.kind !== "replay") return undefined;
  const { from, to, daysPerSecond } = choice;
  const iso = (at: number) => new Date(at).toISOString();
  return { from: iso(from), to: iso(to), daysPerSecond };
}

/** Says how far reading is: on one line of a terminal, elsewhere only when it is done. */
function showProgress(of: string): (done: number, total: number) => void {
  return (done, total) => {
    const isDone = done === total;
    if (!isDone && !process.stderr.isTTY) return;
    const start = process.stderr.isTTY ? "\r" : "";
    const end = isDone ? "; now scoring\n" : "";
    process.stderr.write(`${start}Reading the market: ${done} of ${total} ${of}${end}`);
  };
}

/** Whether all that can be reached is an invented market on this machine: then messages may stand in
 *  what the process writes, terminal or not, since nobody else is there to pass them on. */
function isOnlyHere({ market, host, proxyHops }: Config, baseUrl: string): boolean {
  const hosts = [host.includes(":") ? `[${host}]` : host, new URL(baseUrl).hostname];
  return market.kind === "sandbox" && proxyHops === 0 && hosts.every(isLoopbackHost);
}

/** Without a mail server whoever runs the service passes messages on. */
function showEmail(email: Email): void {
  process.stderr.write(`\nA message that no mail server took:\n${emailText(email)}\n`);
}

/** Scores what has closed since the start began, and again whenever the market has moved on. */
function keepCurrent(service: Service, log: Logger): void {
  try {
    service.refresh();
  } catch (error) {
    log.error({ err: error }, "scoring failed; it is tried again at the next session");
  }
  const wait = service.untilNextRefresh();
  if (wait === undefined) {
    endReplay(service, log);
    return;
  }
  showReplay(service);
  setTimeout(keepCurrent, wait, service, log).unref();
}

/** Says on one line of a terminal how far a replay is. */
function showReplay({ market }: Service): void {
  if (market.mode !== "replay" || !process.stderr.isTTY) return;
  const at = new Date(market.knownUntil()).toISOString();
  process.stderr.write(`${ERASE_LINE}Replay: ${at.slice(0, 16)} UTC`);
}

/** Takes that line away. */
function endReplay({ market }: Service, log: Logger): void {
  if (market.mode !== "replay") return;
  if (process.stderr.isTTY) process.stderr.write(ERASE_LINE);
  const asOf = new Date(market.knownUntil()).toISOString();
  log.info({ asOf }, "the replay has reached its end; time stands still");
}

/** Offers the metrics, if any are kept. */
function offerMetrics(
  { metrics }: Service,
  { host, metricsPort: port }: Config,
  log: Logger,
): MetricsServer | undefined {
  if (metrics === undefined || port === undefined) return undefined;
  const onError = (err: unknown, doing: string) => log.warn({ err }, doing);
  return serveMetrics({ ...metrics, host, port, onError });
}

/** Lets the operator's commands reach the store that this process holds. */
function takeCommands(
  { state, report }: Service,
  { store }: Config,
  baseUrl: string,
): Promise<AdminSocket> {
  const { folder, databaseUrl } = store;
  const keyring = () => Promise.resolve(state.keyring);
  const site = { name: NAME, baseUrl };
  const common = { store: state.store, keyring, now: Date.now, site, report };
  const context = { ...common, holder: "server" } as const;
  return serveAdmin({ folder, context, databaseUrl });
}

/** Stops in good order when asked to. Whoever presses Ctrl-C wants the terminal back: then nobody is
 *  waited for who might take over. */
function stopOnSignal(stopping: Stopping): void {
  const stop = (signal: NodeJS.Signals) => {
    const isHurried = signal === "SIGINT" && process.stdin.isTTY;
    const acceptMs = isHurried ? 0 : stopping.acceptMs;
    exitInTime(acceptMs);
    stopInOrder({ ...stopping, acceptMs })
      .then(() => process.exit(0))
      .catch((error) => fail(error, "stop in good order"));
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
}
