import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { nodeOn, SERVER_CORE } from "./machine.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** Arguments that `npm start` passes to Node in a checkout. */
function startArguments(root: string): readonly string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return scripts.start.split(" ").slice(1);
}

const PRODUCT = startArguments(ROOT);

/** V8 flags of `npm start` for memory and threads; the compared servers use them too. */
export const HEAP_FLAGS = PRODUCT.filter((argument) => /semi-space|v8-pool/.test(argument));

/** Files of checkouts that define limits, with the member that has them by name. */
const DEFINITIONS = [
  ["src/limits/classes.ts", "rateClasses", "999999999/999999999/999999999"],
  ["src/limits/quotas.ts", "quotas", "999999999/1"],
] as const;

/** Limits that are too high to be reached: the benchmark measures work, not rejections. */
async function noLimitsOf(root: string): Promise<string> {
  const found = DEFINITIONS.filter(([file]) => existsSync(join(root, file)));
  const settings = found.map(async ([file, member, high]) => {
    const defined = await import(pathToFileURL(join(root, file)).href);
    return Object.keys(defined[member]).map((name) => `${name}=${high}`);
  });
  return (await Promise.all(settings)).flat().join(" ");
}

const NO_LIMITS = await noLimitsOf(ROOT);

/** A server process and its addresses. */
export interface Server {
  readonly name: string;
  readonly baseUrl: string;
  /** Base URL of the authorization server that belongs to this server. */
  readonly tokensUrl: string;
  readonly pid: number;
  /** Time from the start of the process to its ready line, in milliseconds. */
  readonly readyMs: number;
  /** Stops the server gracefully and removes its files. */
  stop(): Promise<void>;
}

/** Options of a server. */
interface Start {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The CPU core that the server is pinned to; `undefined`: not pinned. */
  readonly core?: number | undefined;
  /** Root folder of the checkout; absent: this checkout. */
  readonly root?: string;
}

/** Name of the file that receives a server's standard error. */
const LOG = "log";

const running = new Set<Server>();

/** Stops every server that is still running. */
export async function stopServers(): Promise<void> {
  await Promise.all([...running].map((server) => server.stop()));
}

/** Starts a checkout in sandbox mode as `npm start` does, not pinned to a core. */
export const startUnpinned = (env: Readonly<Record<string, string>>, root = ROOT) =>
  startServer({ name: "the service", args: startArguments(root), env, core: undefined, root });

/**
 * Starts a checkout in sandbox mode as `npm start` does. Its sessions last a day, so that the
 * market does not change during the measurement.
 */
export async function startProduct(
  env: Readonly<Record<string, string>> = {},
  name = "the service",
  root = ROOT,
): Promise<Server> {
  const common = { RATE_LIMITS: await noLimitsOf(root), SANDBOX_SESSION_SECONDS: "86400" };
  return startServer({ name, args: startArguments(root), env: { ...common, ...env }, root });
}

/**
 * Starts a script that prints `{"baseUrl"}` once it can answer.
 *
 * @throws {Error} When the script exits before that.
 */
export async function startServer(start: Start): Promise<Server> {
  const { name, args, env, core, root } = { env: {}, core: SERVER_CORE, root: ROOT, ...start };
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  const started = performance.now();
  const [command, all] = nodeOn(core, args);
  const child = spawn(command, all, {
    cwd: root,
    env: {
      ...{ PATH: process.env.PATH ?? "", PORT: "0", DATA_DIR: join(folder, "data") },
      ...{ RATE_LIMITS: NO_LIMITS, ...env },
    },
    stdio: ["ignore", "pipe", openSync(join(folder, LOG), "w")],
  });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout ?? process.stdin });
  const line = await Promise.race([
    once(lines, "line").then(([first]) => String(first)),
    ended.then(() => Promise.reject(failure(name, folder))),
  ]);
  const readyMs = performance.now() - started;
  const said = JSON.parse(line) as { readonly baseUrl: string; readonly tokensUrl?: string };
  // The processes of a cluster share a public address, but each is called on its own port.
  const baseUrl = env.PORT === undefined ? said.baseUrl : `http://127.0.0.1:${env.PORT}`;
  const { tokensUrl = baseUrl } = said;
  const server = {
    ...{ name, baseUrl, tokensUrl, readyMs, pid: child.pid ?? 0 },
    async stop() {
      if (!running.delete(server)) return;
      child.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
  running.add(server);
  return server;
}

/**
 * Creates the exception for a server that exits early; the message quotes the end of standard
 * error.
 */
function failure(name: string, folder: string): Error {
  const said = readFileSync(join(folder, LOG), "utf8");
  rmSync(folder, { recursive: true, force: true });
  return new Error(`${name} does not start: ${said.slice(-500)}`);
}
