import type { z } from "zod";
import type { StoreChoice } from "../config.ts";
import type { Site } from "../intake/decisions.ts";
import type { OnProgress } from "../store/copies/progress.ts";
import type { Keyring } from "../store/keyring.ts";
import type { Store } from "../store/store.ts";
import type { Report } from "../telemetry/report.ts";

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

/** What came of a command. */
export interface Outcome {
  /** Whether all is well; when it is not, the exit code is 1. */
  readonly isGood: boolean;
  /** For people; one or more lines without the last newline. */
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

/** Something the operator can do. */
export interface Command<A extends z.ZodType = z.ZodType> {
  /** One sentence. */
  readonly summary: string;
  /** What else one should know; lines of at most 100 characters. */
  readonly notes: readonly string[];
  /** What it works on: `<file>`, or another name in brackets, for example `<email>`. */
  readonly operand?: `<${string}>`;
  readonly options: Readonly<Record<string, CommandOption>>;
  /** The options by name, and the operand by the name in its brackets; `file` is an absolute path. */
  readonly args: A;

  run(args: z.output<A>, context: CommandContext, onProgress: OnProgress): Promise<Outcome>;

  /** Opens the store when no server holds it. Absent: it must be there and whole. */
  open?(args: z.output<A>, settings: StoreChoice): Promise<OpenedStore>;
}

/** Gives the arguments of `run` their types. */
export function defineCommand<A extends z.ZodType>(command: Command<A>): Command {
  return command as unknown as Command;
}

/** Thrown by a command that the operator has not agreed to. */
export class ConfirmationNeeded extends Error {
  override readonly name = "ConfirmationNeeded";
}
