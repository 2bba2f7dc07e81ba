import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { quotas } from "../../../src/limits/quotas.ts";
import { nodeOn, SERVER_CORE } from "./machine.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** Arguments of `npm start` for Node in a checkout. */
function startArguments(root: string): readonly string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return scripts.start.split(" ").slice(1);
}

const PRODUCT = startArguments(ROOT);

/** Flags of `npm start` that say how V8 uses memory and threads; whatever is compared has the same. */
export const HEAP_FLAGS = PRODUCT.filter((argument) => /semi-space|v8-pool/.test(argument));

/** Limits that are never reached: the benchmark measures work, not rejections. */
const noLimits = (names: object): string =>
  Object.keys(names)
    .map((name) => `${name}=999999999/1`)
    .join(" ");

const NO_LIMITS = noLimits(quotas);

/** The same for another checkout, whose limits may have other names; those of old ones are in `limits.ts`. */
async function noLimitsOf(root: string): Promise<string> {
  const newer = join(root, "src/limits/quotas.ts");
  const file = existsSync(newer) ? newer : join(root, "src/limits/limits.ts");
  const limits = await import(pathToFileURL(file).href);
  return noLimits(limits.quotas);
}

/** A process that answers over HTTP. */
export interface Server {
  readonly name: string;
  readonly baseUrl: string;
  /** URL of its token endpoint. */
  readonly tokensUrl: string;
  readonly pid: number;
  /** From the start of the process to its ready line, in milliseconds. */
  readonly readyMs: number;
  /** Lets it end in good order and removes its files. */
  stop(): Promise<void>;
}

/** Options of a server. */
interface Start {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The core that it is tied to; `undefined` for none. */
  readonly core?: number | undefined;
  /** Root folder of the checkout; absent: this one. */
  readonly root?: string;
}

/** Name of the file that takes what a server says on standard error. */
const LOG = "log";

const running = new Set<Server>();

/** Ends every server that still runs. */
export async function stopServers(): Promise<void> {
  await Promise.all([...running].map((server) => server.stop()));
}

/** Starts the product of a checkout as `npm start` does, with the sandbox, and with every core. */
export const startFreely = (env: Readonly<Record<string, string>>, root = ROOT) =>
  startServer({ name: "the service", args: startArguments(root), env, core: undefined, root });

/** Starts the product of a checkout as `npm start` does, with the sandbox, whose market stands still
 *  meanwhile. */
export async function startProduct(
  env: Readonly<Record<string, string>> = {},
  name = "the service",
  root = ROOT,
): Promise<Server> {
  const common = { RATE_LIMITS: await noLimitsOf(root), SANDBOX_SESSION_SECONDS: "86400" };
  return startServer({ name, args: startArguments(root), env: { ...common, ...env }, root });
}

/**
 * Starts a script that says `{"baseUrl"}` on its standard output when it answers.
 *
 * @throws {Error} When it ends before.
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
  // Behind one public address each of several processes still has its own.
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

/** What a server said before it ended. */
function failure(name: string, folder: string): Error {
  const said = readFileSync(join(folder, LOG), "utf8");
  rmSync(folder, { recursive: true, force: true });
  return new Error(`${name} does not start: ${said.slice(-500)}`);
}
