import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { readStoreChoice } from "../config/config.ts";
import type { OnProgress } from "../store/backup/progress.ts";
import { faultText } from "../store/port/unavailable.ts";
import { askServer } from "./admin-client.ts";
import type { Command, StoreCommand, Terminal } from "./command.ts";
import { ConfirmationNeeded, type Outcome } from "./command.ts";
import { helpText, type Invocation, PROGRAM, readCommandLine, UsageError } from "./command-line.ts";
import { backtest, explain } from "./commands/backtest.ts";
import { listen } from "./commands/listen.ts";
import { serve } from "./commands/serve.ts";
import { train } from "./commands/train.ts";
import { createProgressLine } from "./progress-line.ts";
import { runDirectly } from "./run-on-store.ts";
import { storeCommands } from "./store-commands.ts";

/** Every command by name, in the order of the help. */
export const commands: ReadonlyMap<string, Command> = new Map<string, Command>([
  ["serve", serve],
  ...storeCommands,
  ["listen", listen],
  ["backtest", backtest],
  ["explain", explain],
  ["train", train],
]);

/** Exit codes: done and all is well; failed, or something is wrong; not understood. */
const GOOD = 0;
const BAD = 1;
const MISUSED = 2;

/** How the program was called. */
export interface ProgramCall {
  /** Without the program. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder that relative file names start from; absolute. */
  readonly folder: string;
  readonly terminal: Terminal;
}

/** Does what a command line says. @returns The exit code. */
export async function runProgram(call: ProgramCall): Promise<number> {
  const { argv, env, folder, terminal } = call;
  const { stdout, stderr } = terminal;
  try {
    const invocation = readCommandLine(argv, commands, { folder, env });
    if (invocation.kind === "help") {
      stdout.write(`${helpText(commands, invocation.about)}\n`);
      return GOOD;
    }
    const { isGood, text, result, notes } = await run(invocation, call);
    const said = invocation.isJson
      ? JSON.stringify({ ...result, notes })
      : [text, ...notes].filter((line) => line !== "").join("\n");
    if (said !== "") stdout.write(`${said}\n`);
    return isGood ? GOOD : BAD;
  } catch (error) {
    stderr.write(`${faultText(error)}\n`);
    if (!(error instanceof UsageError)) return BAD;
    stderr.write(`${PROGRAM} --help says more.\n`);
    return MISUSED;
  }
}

type Run = Extract<Invocation, { readonly kind: "run" }>;

async function run(invocation: Run, call: ProgramCall): Promise<Outcome> {
  const { command, args } = invocation;
  if (command.needs === "store") return runAgreed({ ...invocation, command }, call);
  const { folder, terminal } = call;
  const progress = createProgressLine(terminal.stderr, () => performance.now());
  try {
    return await command.run(args, { folder, terminal, progress });
  } finally {
    progress.end();
  }
}

interface StoreRun extends Run {
  readonly command: StoreCommand;
}

/** Runs a command; asks the operator first when it has to be agreed to. */
async function runAgreed(run: StoreRun, call: ProgramCall): Promise<Outcome> {
  const { terminal } = call;
  try {
    return await runOnce(run, call);
  } catch (error) {
    if (!(error instanceof ConfirmationNeeded)) throw error;
    if (!terminal.stdin.isTTY) throw new Error(`${error.message} Say --yes to do it.`);
    if (!(await isAgreed(`${error.message} Go on? (y/N) `, terminal)))
      throw new Error("Nothing was changed.");
    return runOnce({ ...run, args: { ...(run.args as object), yes: true } }, call);
  }
}

/** Ctrl-C and Ctrl-D are no agreement. */
async function isAgreed(question: string, { stdin, stderr }: Terminal): Promise<boolean> {
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
  { name, command, args }: StoreRun,
  { env, terminal }: ProgramCall,
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
