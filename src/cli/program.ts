import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { readStoreChoice } from "../config.ts";
import { faultText } from "../store/copies/fault-text.ts";
import type { OnProgress } from "../store/copies/progress.ts";
import { askServer } from "./admin-client.ts";
import { type Invocation, readArguments, UsageError } from "./arguments.ts";
import { type Command, ConfirmationNeeded, type Outcome } from "./command.ts";
import { runDirectly } from "./direct.ts";
import { commandHelp, overview } from "./help.ts";
import { createProgressLine } from "./progress-line.ts";

/** Exit codes: done and all is well; failed, or something is wrong; not understood. */
const GOOD = 0;
const BAD = 1;
const MISUSED = 2;

/** A program of commands and how it was called. */
export interface ProgramCall {
  /** Name of its script, for help. */
  readonly program: string;
  readonly commands: ReadonlyMap<string, Command>;
  /** Without the program. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where the program reads and writes. */
  readonly terminal: StandardStreams;
}

/** The standard streams of a process. */
interface StandardStreams {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stdout: Pick<NodeJS.WriteStream, "write">;
  readonly stderr: NodeJS.WritableStream & Partial<Pick<NodeJS.WriteStream, "isTTY" | "columns">>;
}

/** Does what a command line says. @returns The exit code. */
export async function runProgram(call: ProgramCall): Promise<number> {
  const { program, commands, argv, env, terminal } = call;
  const { stdout, stderr } = terminal;
  try {
    const invocation = readArguments(argv, commands, { folder: callerFolder(call), env });
    if (invocation.kind === "help") {
      stdout.write(`${helpText(call, invocation.command)}\n`);
      return GOOD;
    }
    const { isGood, text, result, notes } = await runAgreed(invocation, call);
    const said = invocation.isJson
      ? JSON.stringify({ ...result, notes })
      : [text, ...notes].join("\n");
    stdout.write(`${said}\n`);
    return isGood ? GOOD : BAD;
  } catch (error) {
    stderr.write(`${faultText(error)}\n`);
    if (!(error instanceof UsageError)) return BAD;
    stderr.write(`npm run ${program} -- --help says more.\n`);
    return MISUSED;
  }
}

/** npm starts scripts in the folder of the project and says where it was called. */
function callerFolder({ program, env }: ProgramCall): string {
  const isScript = env.npm_lifecycle_event === program;
  return (isScript ? env.INIT_CWD : undefined) ?? process.cwd();
}

function helpText({ program, commands }: ProgramCall, name: string | undefined): string {
  const command = name === undefined ? undefined : commands.get(name);
  if (name === undefined || command === undefined) return overview(program, commands);
  return commandHelp(program, [name, command]);
}

type Run = Extract<Invocation, { readonly kind: "run" }>;

/** Runs a command; asks the operator first when it has to be agreed to. */
async function runAgreed(run: Run, { env, terminal }: ProgramCall): Promise<Outcome> {
  try {
    return await runOnce(run, { env, terminal });
  } catch (error) {
    if (!(error instanceof ConfirmationNeeded)) throw error;
    if (!terminal.stdin.isTTY) throw new Error(`${error.message} Say --yes to do it.`);
    if (!(await isAgreed(`${error.message} Go on? (y/N) `, terminal)))
      throw new Error("Nothing was changed.");
    return runOnce({ ...run, args: { ...(run.args as object), yes: true } }, { env, terminal });
  }
}

/** Ctrl-C and Ctrl-D are no agreement. */
async function isAgreed(question: string, { stdin, stderr }: StandardStreams): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr });
  const closed = once(lines, "close").then(() => "");
  lines.once("SIGINT", () => lines.close());
  const answer = await Promise.race([lines.question(question), closed]).catch(() => "");
  lines.close();
  return /^y(es)?$/i.test(answer.trim());
}

/** By the server that holds the store; without one, here. An interrupt ends it in good order, a
 *  second one at once. */
async function runOnce(
  { name, command, args }: Run,
  { env, terminal }: Pick<ProgramCall, "env" | "terminal">,
): Promise<Outcome> {
  const settings = readStoreChoice(env);
  const line = createProgressLine(terminal.stderr, () => performance.now());
  const stopping = new AbortController();
  const stop = () => stopping.abort(new Error("Stopped."));
  const { signal } = stopping;
  const onProgress: OnProgress = (progress) => {
    signal.throwIfAborted();
    line.show(progress);
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    const served = await askServer({ name, args, settings, signal }, onProgress);
    return served ?? (await runDirectly({ command, args, settings }, onProgress));
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
    line.end();
  }
}
