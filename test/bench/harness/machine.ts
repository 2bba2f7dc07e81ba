import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";

/** The server that is measured has this core, whoever calls it the other. */
export const SERVER_CORE = 0;
export const CALLER_CORE = 1;

/** Ticks of `utime` and `stime` in /proc, in milliseconds (USER_HZ is 100 on Linux). */
const TICK_MS = 10;

/** Load of the last minute that a machine has where nothing else runs. */
const QUIET_LOAD = 0.5;

/** Ties a process to cores (util-linux). */
const TASKSET = "taskset";

/** Whether that can be done here. */
const canPin = cpus().length > 1 && spawnSync(TASKSET, ["-c", "0", "true"]).status === 0;

/** A command that runs Node, tied to a core where that can be done. @param core `undefined`: to none. */
export const nodeOn = (
  core: number | undefined,
  args: readonly string[],
): readonly [string, string[]] =>
  canPin && core !== undefined
    ? [TASKSET, ["-c", String(core), process.execPath, ...args]]
    : [process.execPath, [...args]];

/**
 * Time of the processor that a process has used, with all threads that live and the children that
 * have ended, in milliseconds: of threads in nanoseconds, since a short round on a busy machine has
 * few ticks (Documentation/scheduler/sched-stats.rst of Linux), of children in ticks
 * (proc_pid_stat(5)).
 *
 * @throws {Error} Where there is no /proc, and when the process has ended.
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

/** The children of a process (proc_tid_children(5)). */
export const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);

/** Resident memory of a process in megabytes (proc_pid_status(5)). */
export function residentMb(pid: number): number {
  const [, kibibytes] =
    /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return (Number(kibibytes) * 1_024) / 1e6;
}

/** What the figures were measured on. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly node: string;
  readonly isPinned: boolean;
  /** Processes that ran or waited to, on average over the last minute. */
  readonly loadBefore: number;
}

/** @returns The machine as it is before anything is measured. */
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

/** Load of the last minute. */
export const loadNow = (): number => loadavg()[0] ?? Number.NaN;

/** The machine in one line, and a warning where others were at work. */
export function machineLines({ processor, cores, node, isPinned, loadBefore }: Machine): string {
  const pinned = isPinned
    ? `server on core ${SERVER_CORE}, callers on core ${CALLER_CORE}`
    : `processes not tied to cores (no ${TASKSET})`;
  const load = `load ${loadBefore.toFixed(2)} before, ${loadNow().toFixed(2)} after`;
  const quiet =
    loadBefore > QUIET_LOAD
      ? "\nThe machine was not quiet: trust ratios and times of the processor, not times."
      : "";
  return `${processor}, ${cores} cores, Node ${node}, ${pinned}, ${load}.${quiet}`;
}
