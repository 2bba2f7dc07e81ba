import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";

/** CPU core of the measured server, and CPU core of the caller. */
export const SERVER_CORE = 0;
export const CALLER_CORE = 1;

/** Length of a tick of `utime` and `stime` in /proc, in milliseconds (USER_HZ is 100 on Linux). */
const TICK_MS = 10;

/** Highest one-minute load average of a machine that counts as idle. */
const QUIET_LOAD = 0.5;

/** Program that pins a process to CPU cores (util-linux). */
const TASKSET = "taskset";

/** Whether this machine has several cores and `taskset` works on it. */
const canPin = cpus().length > 1 && spawnSync(TASKSET, ["-c", "0", "true"]).status === 0;

/**
 * Returns the command that runs Node, pinned to a core if `taskset` works.
 *
 * @param core `undefined`: not pinned.
 */
export const nodeOn = (
  core: number | undefined,
  args: readonly string[],
): readonly [string, string[]] =>
  canPin && core !== undefined
    ? [TASKSET, ["-c", String(core), process.execPath, ...args]]
    : [process.execPath, [...args]];

/**
 * CPU time of a process in milliseconds: of all its living threads, and of its children that have
 * exited. Thread times are read in nanoseconds, because a short round on a busy machine has few
 * ticks (Documentation/scheduler/sched-stats.rst of Linux); times of children are counted in ticks
 * (proc_pid_stat(5)).
 *
 * @throws {Error} When there is no /proc, or when the process has exited.
 */
export function cpuMs(pid: number): number {
  const [, rest = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const [childUser = 0, childSystem = 0] = rest.split(" ").slice(13, 15).map(Number);
  const threadsNs = readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
    const [onProcessorNs] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(
      " ",
    );
    return sum + Number(onProcessorNs);
  }, 0);
  return threadsNs / 1e6 + TICK_MS * (childUser + childSystem);
}

/** Process ids of the children of a process (proc_tid_children(5)). */
export const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);

/** Resident memory of a process in megabytes (proc_pid_status(5)). */
export function residentMb(pid: number): number {
  const [, kibibytes] =
    /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return (Number(kibibytes) * 1_024) / 1e6;
}

/** The machine and the runtime of the measurement. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly node: string;
  readonly isPinned: boolean;
  /** Load average of the last minute: running and waiting processes. */
  readonly loadBefore: number;
}

/** Describes the machine before the measurement starts. */
export function machine(): Machine {
  const [first] = cpus();
  return {
    processor: first?.model.trim() ?? process.arch,
    cores: cpus().length,
    node: process.version,
    isPinned: canPin,
    loadBefore: loadNow(),
  };
}

/** Load average of the last minute. */
export const loadNow = (): number => loadavg()[0] ?? Number.NaN;

/** Describes the machine in one line. A second line warns if other processes kept it busy. */
export function machineLines({ processor, cores, node, isPinned, loadBefore }: Machine): string {
  const pinned = isPinned
    ? `server on core ${SERVER_CORE}, callers on core ${CALLER_CORE}`
    : `processes not tied to cores (no ${TASKSET})`;
  const load = `load ${loadBefore.toFixed(2)} before, ${loadNow().toFixed(2)} after`;
  const quiet =
    loadBefore > QUIET_LOAD
      ? "\nThe machine was not quiet: trust ratios and CPU times, but not wall-clock times."
      : "";
  return `${processor}, ${cores} cores, Node ${node}, ${pinned}, ${load}.${quiet}`;
}
