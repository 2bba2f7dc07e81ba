import type { z } from "zod";
import type { StoreChoice } from "../config/config.ts";
import type { Site } from "../intake/decisions.ts";
import type { OnProgress } from "../store/backup/progress.ts";
import type { Keyring } from "../store/keys/keyring.ts";
import type { Store } from "../store/port/store.ts";
import type { Report } from "../telemetry/report.ts";
import type { ProgressLine } from "./progress-line.ts";

/** What a command works on, in a server or in a process of its own. */
export interface CommandContext {
  readonly store: Store;
  /** The keys of the store; the ones that it lacks are made. */
  readonly keyring: () => Promise<Keyring>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Who holds the store: a server that goes on after the command, or the command alone. */
  readonly holder: "server" | "command";
  /** How the process of the server is doing; known to a server only. */
  readonly report?: Report | undefined;
  /** Where people find the service; known to a server only. */
  readonly site?: Site | undefined;
}

/** The process in which a command runs that needs no store. */
interface LocalContext {
  /** The folder that relative file names start from; absolute. */
  readonly folder: string;
  readonly terminal: Terminal;
  readonly progress: ProgressLine;
}

/** The standard streams of a process. */
export interface Terminal {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

/** What came of a command. */
export interface Outcome {
  /** Whether all is well; when it is not, the exit code is 1. */
  readonly isGood: boolean;
  /** For people; lines without the last newline, empty when all has been said. */
  readonly text: string;
  /** For programs; JSON. */
  readonly result: Readonly<Record<string, unknown>>;
  /** What the operator has to know or do besides; a sentence each. */
  readonly notes: readonly string[];
}

/** An option of the command line. */
export interface CommandOption {
  /** What it stands for, when it has a value, for example `<DATABASE_URL>`. */
  readonly value?: string;
  /** Whether the command cannot do without it. */
  readonly isRequired?: true;
  /** Whether it can be given as `env:NAME` too, which stands for an environment variable. */
  readonly isSecret?: true;
  readonly about: string;
}

/** A store that was opened for one command. */
export interface OpenedStore {
  readonly store: Store;
  /** Called when the store is closed after the command succeeded. @returns What else to say. */
  readonly finish: () => Promise<readonly string[]>;
  /** Called when the store is closed after the command failed. */
  readonly abandon: () => Promise<void>;
}

/** How a command is called. */
interface CommandSyntax<A extends z.ZodType> {
  /** One sentence. */
  readonly summary: string;
  /** What else one should know; lines of at most 100 characters. */
  readonly notes: readonly string[];
  /** What it works on: `<file>`, or another name in brackets, for example `<email>`. */
  readonly operand?: `<${string}>`;
  readonly options: Readonly<Record<string, CommandOption>>;
  /** The options by name, and the operand by the name in its brackets; `file` is an absolute path. */
  readonly args: A;
}

/** Something the operator does with the store. The server that holds the store runs it; without a
 *  server, the process of the command opens the store. */
export interface StoreCommand<A extends z.ZodType = z.ZodType> extends CommandSyntax<A> {
  readonly needs: "store";

  run(args: z.output<A>, context: CommandContext, onProgress: OnProgress): Promise<Outcome>;

  /** Opens the store when no server holds it. Absent: it must be there and whole. */
  open?(args: z.output<A>, settings: StoreChoice): Promise<OpenedStore>;
}

/** Something that needs no store and runs where it was called. */
export interface LocalCommand<A extends z.ZodType = z.ZodType> extends CommandSyntax<A> {
  readonly needs: "nothing";

  run(args: z.output<A>, context: LocalContext): Promise<Outcome>;
}

/** A command of the program. */
export type Command = StoreCommand | LocalCommand;

/** Gives the arguments of `run` their types. */
export function defineStoreCommand<A extends z.ZodType>(
  command: Omit<StoreCommand<A>, "needs">,
): StoreCommand {
  return { ...command, needs: "store" } as unknown as StoreCommand;
}

/** Gives the arguments of `run` their types. */
export function defineLocalCommand<A extends z.ZodType>(
  command: Omit<LocalCommand<A>, "needs">,
): LocalCommand {
  return { ...command, needs: "nothing" } as unknown as LocalCommand;
}

/** Thrown by a command that the operator has not agreed to. */
export class ConfirmationNeeded extends Error {
  override readonly name = "ConfirmationNeeded";
}
