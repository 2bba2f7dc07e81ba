import { parentPort, Worker, workerData } from "node:worker_threads";
import { copyFile } from "./copy.ts";
import { checkFile } from "./integrity-check.ts";

/**
 * Long work on a database file that can be done in a worker thread, so that nothing waits for it.
 */
const tasks = { check: checkFile, copy: copyFile };

/** A task and its arguments, which the worker thread gets. */
interface Assignment<Name extends keyof typeof tasks = keyof typeof tasks> {
  readonly task: Name;
  readonly args: Readonly<Parameters<(typeof tasks)[Name]>>;
}

/**
 * Runs a task in a worker thread.
 *
 * @param signal Ends the thread as soon as SQLite returns from what it is doing.
 * @returns The result of the task; `undefined` if it was aborted.
 * @throws What the task throws.
 */
export function runInBackground<Name extends keyof typeof tasks>(
  assignment: Assignment<Name>,
  signal: AbortSignal,
): Promise<ReturnType<(typeof tasks)[Name]> | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: { storeTask: assignment } });
    const end = () => void worker.terminate();
    signal.addEventListener("abort", end);
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => {
      signal.removeEventListener("abort", end);
      resolve(undefined);
    });
  });
}

/** Runs the task that this thread was started for. */
function perform({ task, args }: Assignment): unknown {
  return (tasks[task] as (...args: Assignment["args"]) => unknown)(...args);
}

const { storeTask } = (workerData ?? {}) as { readonly storeTask?: Assignment };
if (parentPort !== null && storeTask !== undefined) parentPort.postMessage(perform(storeTask));
