import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import pino, { type Logger } from "pino";
import { type AdminSocket, serveAdmin } from "./cli/admin-socket.ts";
import { type Config, type MarketChoice, readConfig } from "./config.ts";
import { sendPlainProblem } from "./http/errors.ts";
import { followingLines } from "./live-words.ts";
import { type Letter, letterText } from "./mail/letter.ts";
import { Problem } from "./problem.ts";
import { createService, NAME, type Service } from "./service.ts";
import { createSteadyClock } from "./steady-clock.ts";

/** Addresses that stand for all addresses of the machine. */
const WILDCARD_ADDRESSES: readonly string[] = ["0.0.0.0", "::"];

/** Requests may take this long to end after a stop was asked for. */
const DRAIN_MS = 5_000;

/** Takes a line of a terminal away: back to its start (CR), erase to its end (ECMA-48 EL). */
const ERASE_LINE = "\r\u001b[K";

/** Connections that have nothing under way are ended this often while the process stops. */
const IDLE_LOOK_MS = 50;

/** The process ends this long after a stop was asked for, whatever the database does. */
const STOP_MS = 10_000;

await main();

async function main(): Promise<void> {
  const config = settings();
  if (config === undefined) return;
  const log = pino({ level: config.logLevel }, pino.destination(2));
  const server = createServer(starting);
  try {
    const baseUrl = await listen(server, config);
    const service = await createService({
      config,
      baseUrl,
      now: () => new Date(),
      storeNow: createSteadyClock({ wall: Date.now, monotonic: () => performance.now() }),
      log,
      onProgress: showProgress(config.market.kind === "live" ? "lists" : "instruments"),
      onLetter: process.stderr.isTTY ? showLetter : undefined,
    });
    const admin = await takeCommands(service, config, baseUrl);
    server.off("request", starting).on("request", service.app);
    stopOnSignal(server, () => admin.close().then(service.close), service);
    announce(service, config, baseUrl);
    keepCurrent(service, log);
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
  const detail = "The market is being read.";
  sendPlainProblem(res, new Problem("not_ready", { detail, headers: { "retry-after": "1" } }));
}

/**
 * @returns The public origin, which needs the port when none is configured.
 * @throws {Error} When the port is taken, or the address is none that could be published.
 */
async function listen(server: Server, { host, port, baseUrl }: Config): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, resolve);
  });
  const { address, port: actualPort } = server.address() as AddressInfo;
  if (baseUrl === undefined && WILDCARD_ADDRESSES.includes(address)) {
    throw new Error(`HOST: ${host} is no address to publish; set BASE_URL with it.`);
  }
  const authority = host.includes(":") ? `[${host}]` : host;
  return baseUrl ?? `http://${authority}:${actualPort}`;
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
  const lines = following ? followingLines(following, config.anonymousScopes) : [];
  process.stderr.write(
    `${NAME} serves ${instruments} ${simulated ? "simulated " : ""}instruments as of ${asOf}.\n` +
      `${playing ?? ""}` +
      lines.map((line) => `  ${line}\n`).join("") +
      `  MCP     ${baseUrl}/mcp\n` +
      `  REST    ${baseUrl}/api/signals\n` +
      `  Health  ${baseUrl}/api/health\n` +
      `  Account ${baseUrl}/account\n` +
      "  Stop with Ctrl-C.\n",
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

/** Without a mail server whoever runs the service passes messages on. */
function showLetter(letter: Letter): void {
  process.stderr.write(`\nA message that no mail server took:\n${letterText(letter)}\n`);
}

/** Scores again whenever the market has moved on. */
function keepCurrent(service: Service, log: Logger): void {
  const wait = service.untilNextRefresh();
  if (wait === undefined) {
    endReplay(service, log);
    return;
  }
  showReplay(service);
  setTimeout(() => {
    try {
      service.refresh();
    } catch (error) {
      log.error({ err: error }, "scoring failed; it is tried again at the next session");
    }
    keepCurrent(service, log);
  }, wait).unref();
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

/** Lets the operator's commands reach the store that this process holds. */
function takeCommands(
  { state }: Service,
  { store }: Config,
  baseUrl: string,
): Promise<AdminSocket> {
  const { folder, databaseUrl } = store;
  const keyring = () => Promise.resolve(state.keyring);
  const site = { name: NAME, baseUrl };
  const context = { store: state.store, keyring, now: Date.now, holder: "server", site } as const;
  return serveAdmin({ folder, context, databaseUrl });
}

/** Lets requests under way end, lets go of the store, then ends the process. */
function stopOnSignal(server: Server, close: () => Promise<void>, { drain }: Service): void {
  const stop = () => {
    drain();
    setTimeout(() => process.exit(1), STOP_MS).unref();
    const drained = new Promise<unknown>((resolve) => {
      server.close(resolve);
      setTimeout(resolve, DRAIN_MS).unref();
    });
    setInterval(() => server.closeIdleConnections(), IDLE_LOOK_MS).unref();
    drained
      .then(close)
      .then(() => process.exit(0))
      .catch((error) => fail(error, "stop in good order"));
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
}
