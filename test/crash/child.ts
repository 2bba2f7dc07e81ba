import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { quotas } from "../../src/limits/quotas.ts";
import type { Report } from "./reports.ts";

/** A process of the harness. */
export interface Child {
  /** Resolves when it has reported this, now or before; rejects when it ends without. */
  said<K extends Report["is"]>(is: K): Promise<Extract<Report, { is: K }>>;
  /** Asks the process to stop. */
  stop(): void;
  /** Halts it wherever it is; from when this resolves it does nothing any more. */
  freeze(): Promise<void>;
  /** Ends it as it stands: kill -9. */
  kill(): void;
  /** Resolves when it has ended and everything it had said was noted. */
  readonly ended: Promise<unknown>;
}

/** Part of a child's standard error that a message quotes, in characters. */
const QUOTED = 2_000;

/** Maximum time for an expected report of a child process, in milliseconds. */
const PATIENCE_MS = 60_000;

/** No process lives longer, whatever it hangs on, in milliseconds. */
const LIFE_MS = 300_000;

const scripts = {
  writer: fileURLToPath(new URL("./writer.ts", import.meta.url)),
  check: fileURLToPath(new URL("./check.ts", import.meta.url)),
  watcher: fileURLToPath(new URL("./watcher.ts", import.meta.url)),
  "log-appender": fileURLToPath(new URL("./log-appender.ts", import.meta.url)),
};

/** A storm comes from one address: no limit is met, as the setting is written. */
export const NO_LIMITS = Object.keys(quotas)
  .map((name) => `${name}=10000000/3600`)
  .join(" ");

/** The service itself. */
const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** A system call that is under way, such as a sync, comes to its end first. */
async function freeze(child: ChildProcess): Promise<void> {
  child.kill("SIGSTOP");
  while (isRunning(child)) await setTimeout(1);
}

/** Whether a process is neither halted (T) nor gone, as Linux tells in /proc. */
function isRunning({ pid, exitCode, signalCode }: ChildProcess): boolean {
  if ((exitCode ?? signalCode) !== null) return false;
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.some(
    (thread) => !/\) [TZX] /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8")),
  );
}

/** Starts a script of this folder as a process and notes every line it says. */
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
      if (report === undefined) throw new Error(`the ${script} ended: ${stderr()}`);
      return report as Extract<Report, { is: K }>;
    },
    stop: () => void child.kill("SIGTERM"),
    freeze: () => freeze(child),
    kill: () => void child.kill("SIGKILL"),
    ended,
  };
}

/** The service as a process of its own. */
export type ServiceProcess = ReturnType<typeof startService>;

/** Starts the service, on a free port unless told. @param env Its environment variables. */
export function startService(env: Readonly<Record<string, string>>) {
  const ready = Promise.withResolvers<string>();
  const all = { PATH: process.env.PATH, PORT: "0", LOG_LEVEL: "silent", ...env };
  const { child, ended, stderr } = start([MAIN], all, (line) => ready.resolve(line));
  ended.then(() => ready.reject(new Error(`the service ended: ${stderr()}`)));
  return {
    /** Resolves with its address once it says that it is ready. */
    baseUrl: () => ready.promise.then((line) => (JSON.parse(line) as { baseUrl: string }).baseUrl),
    freeze: () => freeze(child),
    kill: () => void child.kill("SIGKILL"),
    /** Asks it to stop. @returns Its exit code, and how long it took in milliseconds. */
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

/** A line that a kill cut off says nothing. */
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
