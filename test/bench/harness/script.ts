import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { nodeOn, SERVER_CORE } from "./machine.ts";
import { HEAP_FLAGS } from "./server.ts";

const run = promisify(execFile);

/** Maximum output of a script, in bytes. */
const MOST_BYTES = 2 ** 26;

/**
 * Runs a script of this folder's parent in a process of its own, with the heap of `npm start`.
 *
 * @param flags More flags for Node.
 * @returns What it prints, which is JSON.
 */
export async function runScript<T>(
  name: string,
  args: readonly string[],
  flags: readonly string[] = [],
): Promise<T> {
  const script = fileURLToPath(new URL(`../${name}`, import.meta.url));
  const [command, all] = nodeOn(SERVER_CORE, [...HEAP_FLAGS, ...flags, script, ...args]);
  const { stdout } = await run(command, all, { maxBuffer: MOST_BYTES });
  return JSON.parse(stdout) as T;
}
