import type { z } from "zod";
import type { StoreSettings } from "../config/config.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { OnCommandProgress } from "../maintenance/backup/progress.ts";
import type { TerminalLine } from "../outbound/terminal-text.ts";
import type { ServiceIdentity } from "../principals/applications/decisions.ts";
import type { ReadProcessReport } from "../process/process-report.ts";
import type { Store } from "../store/port/store.ts";
import type { ProgressLine } from "./progress-line.ts";

/** Context of a command on the store, in the server or in a separate process. */
export interface CommandContext {
  readonly store: Store;
  /** Absolute path of the data folder (DATA_DIR). */
  readonly folder: string;
  /** Returns the keys of the store; keys that do not exist yet are created. */
  readonly keyring: () => Promise<Keyring>;
  /** Returns the current time in milliseconds since the epoch. */
  readonly now: () => number;
  /**
   * The process that has the store open: a server, which keeps running after the command, or the
   * process of the command.
   */
  readonly holder: "server" | "command";
  /** Returns the report of the server process; absent without a server. */
  readonly report?: ReadProcessReport | undefined;
  /** Name and address of the service; absent without a server. */
  readonly site?: ServiceIdentity | undefined;
}

/** Context of a command that needs no store. */
interface LocalContext {
  /** Absolute path of the working directory, which relative file names start from. */
  readonly folder: string;
  /** What the operator types. */
  readonly stdin: Terminal["stdin"];
  /** Prints a line at once, for a command that runs until it is interrupted. */
  readonly say: (line: string) => void;
  readonly progress: ProgressLine;
}

/** The standard streams of a process. */
export interface Terminal {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

/** Outcome of a command. */
export interface CommandOutcome<Line = string> {
  /** Whether the exit code is 0 rather than 1. */
  readonly isGood: boolean;
  /** Exit code, if it is neither 0 nor 1. */
  readonly exitCode?: number;
  /**
   * Output for people. Each member is printed as one line, whatever a text in it contains, so a
   * command must split a text whose line breaks are to be shown. Empty if everything has already
   * been printed.
   */
  readonly lines: readonly Line[];
  /** Output for programs, printed as JSON. */
  readonly result: Readonly<Record<string, unknown>>;
  /** Additional information or instructions for the operator; one sentence each. */
  readonly notes: readonly string[];
}

/** How an option of the command line is written. */
export interface OptionSyntax {
  /** Placeholder of the option's value, for example `<DATABASE_URL>`; absent for a flag. */
  readonly value?: string;
  /** Whether the option may be given several times; its value is then an array. */
  readonly isRepeatable?: true;
  /**
   * Whether the option also accepts `env:NAME`, which refers to the value of an environment
   * variable.
   */
  readonly isSecret?: true;
  readonly about: string;
}

/** An option of a command. */
interface CommandOption extends OptionSyntax {
  /** Schema of its value; an option whose schema takes no `undefined` is required. */
  readonly schema: z.ZodType;
}

/** Positional arguments by name, in their order; `file` is an absolute path. */
type Operands = Readonly<Record<string, z.ZodType>>;

type Options = Readonly<Record<string, CommandOption>>;

type NoArguments = Readonly<Record<never, never>>;

/** The parsed arguments of a command by name. */
type ArgumentsOf<P extends Operands, O extends Options> = {
  readonly [N in keyof P]: z.output<P[N]>;
} & { readonly [N in keyof O]: z.output<O[N]["schema"]> };

/** What must hold of several arguments together. */
interface ArgumentRule<A> {
  readonly holds: (args: A) => boolean;
  /** The option that is wrong otherwise, and what is wrong with it. */
  readonly option: string;
  readonly error: string;
}

/** A store that is open for one command. */
export interface OpenedStore {
  readonly store: Store;
  /**
   * Called after success, once the store is closed.
   * @returns Notes to print.
   */
  readonly finish: () => Promise<readonly string[]>;
  /** Called after a failure, once the store is closed. */
  readonly abandon: () => Promise<void>;
}

/** Command-line syntax of a command; `A` are its parsed arguments. */
interface CommandSyntax<A> {
  /** Summary for the help, in one sentence. */
  readonly summary: string;
  /** Further lines of the help, of at most 100 characters each. */
  readonly notes: readonly string[];
  readonly operands: Operands;
  readonly options: Options;
  readonly rules: readonly ArgumentRule<A>[];
}

/**
 * A command on the store. The server that has the store open runs it; without a server, the process
 * of the command opens the store.
 */
export interface StoreCommand<A = unknown> extends CommandSyntax<A> {
  readonly needs: "store";

  run(args: A, context: CommandContext, onProgress: OnCommandProgress): Promise<CommandOutcome>;

  /** Opens the store when no server has it open. Default: opens an existing, intact store. */
  open?(args: A, settings: StoreSettings): Promise<OpenedStore>;
}

/** A command that needs no store and runs in the process that the operator started. */
interface LocalCommand<A = unknown> extends CommandSyntax<A> {
  readonly needs: "nothing";

  run(args: A, context: LocalContext): Promise<CommandOutcome<TerminalLine>>;
}

/** A command of the program. */
export type Command = StoreCommand | LocalCommand;

/** The arguments of a command as they are defined: what it does not have is left out. */
interface DefinedArguments<P extends Operands, O extends Options> {
  readonly operands?: P;
  readonly options?: O;
  readonly rules?: readonly ArgumentRule<ArgumentsOf<P, O>>[];
}

/** The members of a command that its definition does not have, or has otherwise. */
type Completed = "needs" | keyof DefinedArguments<Operands, Options>;

const NO_ARGUMENTS: DefinedArguments<Operands, Options> = { operands: {}, options: {}, rules: [] };

/** Defines a command on the store; infers the argument types of `run` from the schemas. */
export function defineStoreCommand<
  P extends Operands = NoArguments,
  O extends Options = NoArguments,
>(
  command: DefinedArguments<P, O> & Omit<StoreCommand<ArgumentsOf<P, O>>, Completed>,
): StoreCommand {
  return { ...NO_ARGUMENTS, ...command, needs: "store" } as unknown as StoreCommand;
}

/** Defines a command without a store; infers the argument types of `run` from the schemas. */
export function defineLocalCommand<
  P extends Operands = NoArguments,
  O extends Options = NoArguments,
>(
  command: DefinedArguments<P, O> & Omit<LocalCommand<ArgumentsOf<P, O>>, Completed>,
): LocalCommand {
  return { ...NO_ARGUMENTS, ...command, needs: "nothing" } as unknown as LocalCommand;
}

/** Thrown by a command that the operator must confirm first. */
export class ConfirmationNeeded extends Error {
  override readonly name = "ConfirmationNeeded";
}
