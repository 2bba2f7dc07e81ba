import { Readable, Writable } from "node:stream";
import { runProgram } from "../../src/cli/program.ts";

/** Where a command line runs. */
interface Surroundings {
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs a command line to its end in this process, without a terminal.
 *
 * @returns Its exit code and what it printed.
 */
export async function runCommand(argv: readonly string[], { folder, env = {} }: Surroundings) {
  const said = { out: "", err: "" };
  const into = (name: keyof typeof said) =>
    new Writable({
      decodeStrings: false,
      write(chunk, _encoding, callback) {
        said[name] += chunk;
        callback();
      },
    });
  const terminal = { stdin: Readable.from([]), stdout: into("out"), stderr: into("err") };
  const code = await runProgram({ argv, env, folder, terminal });
  return { code, ...said };
}
