import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { readStoreSettings } from "../config/config.ts";
import type { OnCommandProgress } from "../maintenance/backup/progress.ts";
import {
  type TerminalLine,
  terminalJson,
  terminalLine,
  terminalMessage,
} from "../outbound/terminal-text.ts";
import { operatorErrorText } from "../store/port/unavailable.ts";
import { programVersion } from "../telemetry/program-version.ts";
import { runCommandInServer } from "./admin-client.ts";
import type { StoreCommand, Terminal } from "./command.ts";
import { type CommandOutcome, ConfirmationNeeded } from "./command.ts";
import {
  type Commands,
  DEFAULT_COMMAND,
  helpText,
  type ParsedCommandLine,
  PROGRAM_NAME,
  readCommandLine,
  UsageError,
} from "./command-line.ts";
import { serveCommand } from "./commands/serve.ts";
import { createProgressLine } from "./progress-line.ts";
import { runCommandDirectly } from "./run-on-store.ts";

/** Exit code of a command that succeeded. */
const SUCCESS = 0;

/** Exit code of a command that failed or found a problem. */
const FAILURE = 1;

/** Exit code of an invalid command line. */
const USAGE = 2;

/** A call of the program. */
interface ProgramInvocation {
  /** Command-line arguments after the program name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute path of the working directory, which relative file names start from. */
  readonly folder: string;
  readonly terminal: Terminal;
}

/**
 * Runs a command line.
 * @returns The exit code.
 */
export async function runProgram(call: ProgramInvocation): Promise<number> {
  const { argv, env, folder, terminal } = call;
  const { stdout, stderr } = terminal;
  const say = sayTo(terminal);
  try {
    const commands = await commandsFor(argv);
    const invocation = readCommandLine(argv, commands, { folder, env });
    if (invocation.kind === "help") {
      stdout.write(`${helpText(commands, invocation.about)}\n`);
      return SUCCESS;
    }
    if (invocation.kind === "version") {
      stdout.write(`${programVersion()}\n`);
      return SUCCESS;
    }
    const { isGood, exitCode, lines, result, notes } = await run(invocation, call);
    if (invocation.isJson) stdout.write(`${terminalJson({ ...result, notes })}\n`);
    else for (const line of [...lines, ...notes]) say(line);
    return exitCode ?? (isGood ? SUCCESS : FAILURE);
  } catch (error) {
    stderr.write(`${terminalMessage(operatorErrorText(error))}\n`);
    if (!(error instanceof UsageError)) return FAILURE;
    stderr.write(`${PROGRAM_NAME} --help says more.\n`);
    return USAGE;
  }
}

/**
 * Creates the function that prints a line; all output of a command except JSON passes through it.
 */
const sayTo =
  ({ stdout }: Terminal) =>
  (line: TerminalLine): void =>
    void stdout.write(`${terminalLine(line, stdout)}\n`);

/**
 * Loads the commands. To start the service, only the command `serve` is loaded, because the code of
 * the other commands is larger than the service.
 */
async function commandsFor([first = DEFAULT_COMMAND]: readonly string[]): Promise<Commands> {
  if (first === DEFAULT_COMMAND) return new Map([[first, serveCommand]]);
  return (await import("./all-commands.ts")).commands;
}

type Run = Extract<ParsedCommandLine, { readonly kind: "run" }>;

async function run(
  invocation: Run,
  call: ProgramInvocation,
): Promise<CommandOutcome<TerminalLine>> {
  const { command, args } = invocation;
  if (command.needs === "store") return runConfirmed({ ...invocation, command }, call);
  const { folder, terminal } = call;
  const progress = createProgressLine(terminal.stderr, () => performance.now());
  try {
    const { stdin } = terminal;
    return await command.run(args, { folder, stdin, say: sayTo(terminal), progress });
  } finally {
    progress.end();
  }
}

interface StoreRun extends Run {
  readonly command: StoreCommand;
}

/** Runs a command; if it needs confirmation, asks the operator and runs it again. */
async function runConfirmed(run: StoreRun, call: ProgramInvocation): Promise<CommandOutcome> {
  const { terminal } = call;
  try {
    return await runOnce(run, call);
  } catch (error) {
    if (!(error instanceof ConfirmationNeeded)) throw error;
    if (!terminal.stdin.isTTY) throw new Error(`${error.message} Say --yes to do it.`);
    if (!(await isConfirmed(`${error.message} Go on? (y/N) `, terminal)))
      throw new Error("Nothing was changed.");
    const confirmed = { yes: true };
    const input = { ...run.input, ...confirmed };
    return runOnce({ ...run, input, args: { ...(run.args as object), ...confirmed } }, call);
  }
}

/** Asks the operator for confirmation; Ctrl-C and Ctrl-D mean no. */
async function isConfirmed(question: string, { stdin, stderr }: Terminal): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr });
  const closed = once(lines, "close").then(() => "");
  lines.once("SIGINT", () => lines.close());
  const answer = await Promise.race([lines.question(terminalLine(question)), closed]).catch(
    () => "",
  );
  lines.close();
  return /^y(es)?$/i.test(answer.trim());
}

/**
 * Runs a command in the server that has the store open; without a server, in this process. The
 * first interrupt cancels the command cleanly; the second interrupt kills the process.
 */
async function runOnce(
  { name, command, input, args }: StoreRun,
  { env, terminal }: ProgramInvocation,
): Promise<CommandOutcome> {
  const settings = readStoreSettings(env);
  const line = createProgressLine(terminal.stderr, () => performance.now());
  const stopping = new AbortController();
  const stop = () => stopping.abort(new Error("Stopped."));
  const { signal } = stopping;
  const onProgress: OnCommandProgress = (progress) => {
    signal.throwIfAborted();
    line.show(progress);
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    const served = await runCommandInServer({ name, input, settings, signal }, onProgress);
    return served ?? (await runCommandDirectly({ command, args, settings }, onProgress));
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
    line.end();
  }
}
