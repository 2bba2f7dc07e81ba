import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { nodeOn, SERVER_CORE } from "./machine.ts";
import { HEAP_FLAGS } from "./server.ts";

const run = promisify(execFile);

/** Maximum size of a script's output, in bytes. */
const MOST_BYTES = 2 ** 26;

/**
 * Runs a script from `test/bench` in a separate process, with the heap flags of `npm start`.
 *
 * @param flags Additional flags for Node.
 * @returns The parsed JSON output.
 */
export async function runBenchScript<T>(
  name: string,
  args: readonly string[],
  flags: readonly string[] = [],
): Promise<T> {
  const script = fileURLToPath(new URL(`../${name}`, import.meta.url));
  const [command, all] = nodeOn(SERVER_CORE, [...HEAP_FLAGS, ...flags, script, ...args]);
  const { stdout } = await run(command, all, { maxBuffer: MOST_BYTES });
  return JSON.parse(stdout) as T;
}
