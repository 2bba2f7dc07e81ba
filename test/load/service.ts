import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { rateClasses } from "../../src/limits/classes.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Length of a tick of `utime` and `stime` in /proc, in milliseconds (USER_HZ is 100 on Linux). */
const TICK_MS = 10;

/** Value of `RATE_LIMITS` with limits that are never reached. */
const NO_LIMITS = Object.keys(rateClasses)
  .map((name) => `${name}=999999999/999999999/999999999`)
  .join(" ");

/**
 * Module for `node --import`. On request, it reports the event loop delay since the last request,
 * or the used heap.
 */
const TELLS = `data:text/javascript,${encodeURIComponent(`
  import { monitorEventLoopDelay } from "node:perf_hooks";
  import { setFlagsFromString } from "node:v8";
  import { runInNewContext } from "node:vm";
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const tells = {
    delay() {
      process.send({ p99Ms: delay.percentile(99) / 1e6, maxMs: delay.max / 1e6 });
      delay.reset();
    },
    heap() {
      setFlagsFromString("--expose-gc");
      const collect = runInNewContext("gc");
      collect();
      collect();
      process.send({ usedMb: process.memoryUsage().heapUsed / 2 ** 20 });
    },
  };
  process.on("message", (question) => tells[question]());
  process.channel.unref();
`)}`;

/** The service in a child process, prepared for load measurements. */
export interface LoadedService {
  readonly baseUrl: string;
  readonly port: number;
  readonly child: ChildProcess;
  /** Resource usage of the process, read from /proc. */
  usage(): Usage;
  /** Event loop delay since the last call. */
  loopDelay(): Promise<LoopDelay>;
  /** Used heap after a garbage collection, in megabytes. */
  heapMb(): Promise<number>;
  stop(): Promise<void>;
}

/** Resource usage of a process. */
interface Usage {
  /** CPU time, in milliseconds. */
  readonly cpuMs: number;
  /** Resident memory, in megabytes. */
  readonly rssMb: number;
  /** Number of open files and sockets. */
  readonly files: number;
}

/** Event loop delay: 99th percentile and maximum, in milliseconds. */
interface LoopDelay {
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Starts `src/main.ts` on a free port, with limits that are never reached. */
export async function startLoaded(
  env: Readonly<Record<string, string>> = {},
): Promise<LoadedService> {
  const folder = mkdtempSync(join(tmpdir(), "market-signal-load-"));
  const child = spawn(process.execPath, ["--import", TELLS, "src/main.ts"], {
    cwd: ROOT,
    env: {
      ...{ PATH: process.env.PATH ?? "", DATA_DIR: join(folder, "data"), PORT: "0" },
      ...{ RATE_LIMITS: NO_LIMITS, LOG_LEVEL: "error", ...env },
    },
    stdio: ["ignore", "pipe", "ignore", "ipc"],
  });
  const lines = createInterface({ input: child.stdout ?? process.stdin });
  const [line] = await Promise.race([
    once(lines, "line"),
    once(child, "exit").then(([code]) =>
      Promise.reject(new Error(`the service exited with ${code}`)),
    ),
  ]);
  const { baseUrl } = JSON.parse(String(line)) as { readonly baseUrl: string };
  const pid = child.pid ?? 0;
  return {
    ...{ baseUrl, child, port: Number(new URL(baseUrl).port) },
    usage: () => ({ cpuMs: cpuMsOf(pid), rssMb: rssMbOf(pid), files: filesOf(pid) }),
    async loopDelay() {
      child.send("delay");
      const [delay] = await once(child, "message");
      return delay as LoopDelay;
    },
    async heapMb() {
      child.send("heap");
      const [{ usedMb }] = (await once(child, "message")) as [{ readonly usedMb: number }];
      return usedMb;
    },
    async stop() {
      if (child.exitCode === null && child.kill("SIGTERM")) await once(child, "exit");
      rmSync(folder, { recursive: true });
    },
  };
}

/**
 * CPU time of a process, in milliseconds. The line in /proc is split after the last `) `, because
 * the program name is enclosed in parentheses and may contain anything.
 */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

function rssMbOf(pid: number): number {
  const [, kB] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
  return Number(kB) / 1024;
}

const filesOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;
