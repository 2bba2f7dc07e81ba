import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { rateClasses } from "../../src/limits/classes.ts";
import type { Report } from "./reports.ts";

/** A child process of the crash harness. */
export interface Child {
  /**
   * Resolves once the process has sent a report of this kind, or at once if it already has; rejects
   * when the process exits without such a report.
   */
  said<K extends Report["is"]>(is: K): Promise<Extract<Report, { is: K }>>;
  /** Asks the process to stop. */
  stop(): void;
  /** Suspends the process (SIGSTOP). Resolves once all of its threads have stopped. */
  freeze(): Promise<void>;
  /** Kills the process (SIGKILL). */
  kill(): void;
  /** Resolves when the process has exited and all its reports are recorded. */
  readonly ended: Promise<unknown>;
}

/** Maximum length of the quoted standard error in an error message, in characters. */
const QUOTED = 2_000;

/** Maximum time for an expected report of a child process, in milliseconds. */
const PATIENCE_MS = 60_000;

/** Maximum lifetime of a process, in milliseconds, after which a hanging process is killed. */
const LIFE_MS = 300_000;

const scripts = {
  writer: fileURLToPath(new URL("./writer.ts", import.meta.url)),
  check: fileURLToPath(new URL("./check.ts", import.meta.url)),
  watcher: fileURLToPath(new URL("./watcher.ts", import.meta.url)),
  "log-appender": fileURLToPath(new URL("./log-appender.ts", import.meta.url)),
};

/**
 * Value of `RATE_LIMITS` with limits that are never reached, although all load comes from one
 * address.
 */
export const NO_LIMITS = Object.keys(rateClasses)
  .map((name) => `${name}=10000000/10000000/10000000`)
  .join(" ");

/** Path of the service's entry point. */
const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/**
 * Waits until all threads have stopped: a system call in progress, such as a sync, completes first.
 */
async function freeze(child: ChildProcess): Promise<void> {
  child.kill("SIGSTOP");
  while (isRunning(child)) await setTimeout(1);
}

/** Whether any thread is neither stopped (T) nor dead (Z, X), by its state in /proc. */
function isRunning({ pid, exitCode, signalCode }: ChildProcess): boolean {
  if ((exitCode ?? signalCode) !== null) return false;
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.some(
    (thread) => !/\) [TZX] /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8")),
  );
}

/** Starts a script of this folder as a child process and passes each of its reports to `note`. */
export function startChild(
  script: keyof typeof scripts,
  args: readonly string[],
  note: (report: Report) => void = () => {},
): Child {
  const heard = new Map<string, Report>();
  const reports = new EventEmitter();
  const { child, ended, stderr } = start([scripts[script], ...args], process.env, (line) => {
    const report = parse(line);
    if (report === undefined) return;
    heard.set(report.is, report);
    note(report);
    reports.emit(report.is);
  });
  return {
    async said<K extends Report["is"]>(is: K) {
      const signal = AbortSignal.timeout(PATIENCE_MS);
      if (!heard.has(is)) await Promise.race([once(reports, is, { signal }), ended]);
      const report = heard.get(is);
      if (report === undefined) throw new Error(`the ${script} process exited: ${stderr()}`);
      return report as Extract<Report, { is: K }>;
    },
    stop: () => void child.kill("SIGTERM"),
    freeze: () => freeze(child),
    kill: () => void child.kill("SIGKILL"),
    ended,
  };
}

/** The service in a child process. */
export type ServiceProcess = ReturnType<typeof startService>;

/** Starts the service, on a free port unless `env` has a PORT. @param env Environment variables. */
export function startService(env: Readonly<Record<string, string>>) {
  const ready = Promise.withResolvers<string>();
  const all = { PATH: process.env.PATH, PORT: "0", LOG_LEVEL: "silent", ...env };
  const { child, ended, stderr } = start([MAIN], all, (line) => ready.resolve(line));
  ended.then(() => ready.reject(new Error(`the service exited: ${stderr()}`)));
  return {
    /** Resolves with the base URL once the service is ready. */
    baseUrl: () => ready.promise.then((line) => (JSON.parse(line) as { baseUrl: string }).baseUrl),
    freeze: () => freeze(child),
    kill: () => void child.kill("SIGKILL"),
    /** Sends SIGTERM. @returns The exit code, and the time until the exit in milliseconds. */
    async stop() {
      const startedAt = performance.now();
      child.kill("SIGTERM");
      await ended;
      return { code: child.exitCode, ms: performance.now() - startedAt };
    },
    ended,
  };
}

function start(args: readonly string[], env: NodeJS.ProcessEnv, onLine: (line: string) => void) {
  const child = spawn(process.execPath, args, {
    ...{ env, timeout: LIFE_MS, killSignal: "SIGKILL" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  const ended = once(child, "close").then(() => running.delete(child));
  createInterface({ input: child.stdout }).on("line", onLine);
  return { child, ended, stderr: tailOf(child) };
}

/** Parses a report; `undefined` for a line that is incomplete because of a kill. */
function parse(line: string): Report | undefined {
  try {
    return JSON.parse(line) as Report;
  } catch {
    return undefined;
  }
}

function tailOf({ stderr }: ChildProcess): () => string {
  let tail = "";
  stderr?.on("data", (chunk) => {
    tail = (tail + chunk).slice(-QUOTED);
  });
  return () => tail;
}
