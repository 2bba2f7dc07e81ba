import { fork } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { fileURLToPath } from "node:url";
import type { DelivererOptions, DelivererReport } from "./deliverer.ts";

const SCRIPT = fileURLToPath(new URL("./deliverer.ts", import.meta.url));

/** What a worker said of itself. */
export interface Figures {
  /** Attempts that ended. */
  readonly sent: number;
  /** Memory in use, in bytes: when it was ready, and the most since then. */
  readonly firstBytes: number;
  readonly mostBytes: number;
  /** Maximum resident memory of the process, in bytes, including garbage. */
  readonly rss: number;
}

/** A process that queues or delivers. */
export interface Worker {
  readonly delivers: boolean;
  figures(): Figures;
  /** Resolves when the process reports that its work is done; never once it has ended. */
  cleared(): Promise<void>;
  /** Ends it as it stands: kill -9. */
  kill(): Promise<void>;
  /** Stops the process, if it still runs. */
  stop(): Promise<void>;
}

/** Starts a worker, which ends with this process. */
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
  ended.then(() => ready.reject(new Error("A worker ended.")));
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
