import { fork } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { fileURLToPath } from "node:url";
import type { DelivererOptions, DelivererReport } from "./deliverer.ts";

const SCRIPT = fileURLToPath(new URL("./deliverer.ts", import.meta.url));

/** Measurements that a worker reports. */
export interface Figures {
  /** Number of finished attempts. */
  readonly sent: number;
  /** Live memory in bytes: when the worker was ready, and the maximum since then. */
  readonly firstBytes: number;
  readonly mostBytes: number;
  /** Maximum resident memory in bytes, including garbage. */
  readonly rss: number;
}

/** A child process that queues events, delivers them, or both. */
export interface Worker {
  readonly delivers: boolean;
  figures(): Figures;
  /**
   * Resolves when the process reports that no delivery is left; stays pending if the process ends
   * first.
   */
  cleared(): Promise<void>;
  /** Kills the process (SIGKILL). */
  kill(): Promise<void>;
  /** Stops the process if it is still running. */
  stop(): Promise<void>;
}

/** Starts a worker; it exits when this process exits. */
export async function startWorker(options: DelivererOptions): Promise<Worker> {
  const child = fork(SCRIPT, [JSON.stringify(options)], { execArgv: ["--expose-gc"] });
  const ended = once(child, "exit");
  const ready = Promise.withResolvers<void>();
  const reports = new EventEmitter();
  let [sent, firstBytes, mostBytes, rss] = [0, 0, 0, 0];
  child.on("message", (report: DelivererReport) => {
    if (report.is === "ready") ready.resolve();
    if (report.is === "sent") sent = report.sent;
    if (report.is === "left" && report.left === 0) reports.emit("cleared");
    if (report.is !== "memory") return;
    firstBytes ||= report.live;
    mostBytes = Math.max(mostBytes, report.live);
    rss = Math.max(rss, report.rss);
  });
  ended.then(() => ready.reject(new Error("A worker exited before it was ready.")));
  await ready.promise;
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if ((child.exitCode ?? child.signalCode) === null) child.kill(signal);
    await ended;
  };
  return {
    delivers: options.delivers,
    cleared: async () => void (await once(reports, "cleared")),
    figures: () => ({ sent, firstBytes, mostBytes, rss }),
    kill: () => end("SIGKILL"),
    stop: () => end("SIGTERM"),
  };
}
