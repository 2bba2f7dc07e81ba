import { resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Command, CommandOption } from "./command.ts";

/** A command line that cannot be understood; the message says why. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** A command line that was understood. */
export type Invocation =
  | { readonly kind: "help"; readonly command?: string }
  | {
      readonly kind: "run";
      readonly name: string;
      readonly command: Command;
      readonly args: unknown;
      /** Whether the result is wanted for a program. */
      readonly isJson: boolean;
    };

/** Where a command line was written. */
export interface Surroundings {
  /** That relative file names start from. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** An option of this value stands for an environment variable. */
const VARIABLE = /^env:(.*)$/;

/** What every command takes. */
export const commonOptions: Readonly<Record<string, CommandOption>> = {
  json: { about: "print the result as one line of JSON" },
  help: { about: "say this" },
};

/**
 * Reads a command line.
 *
 * @param argv Without the program.
 * @throws {UsageError} When the command or an option is unknown, or something is missing.
 */
export function readArguments(
  argv: readonly string[],
  commands: ReadonlyMap<string, Command>,
  { folder, env }: Surroundings,
): Invocation {
  if (argv[0] === "--help" || argv[0] === "help") return { kind: "help" };
  const name = [...commands.keys()].find((each) => isCalled(each, argv));
  const command = name === undefined ? undefined : commands.get(name);
  if (name === undefined || command === undefined) throw unknownCommand(argv, commands);
  const { values, positionals } = parse(argv.slice(name.split(" ").length), command);
  const { help, json, ...options } = values;
  if (help === true) return { kind: "help", command: name };
  const known = withVariables(command, options, env);
  const args = checked(command, withOperand(command, { options: known, positionals, folder }));
  return { kind: "run", name, command, args, isJson: json === true };
}

const isCalled = (name: string, argv: readonly string[]) =>
  name === argv.slice(0, name.split(" ").length).join(" ");

function unknownCommand(
  argv: readonly string[],
  commands: ReadonlyMap<string, Command>,
): UsageError {
  const what = argv.length === 0 ? "Name a command" : `There is no command ${argv[0]}`;
  return new UsageError(`${what}; the commands are: ${[...commands.keys()].join(", ")}.`);
}

function parse(argv: readonly string[], command: Command) {
  const options = Object.entries({ ...command.options, ...commonOptions }).map(
    ([name, { value }]) => [name, { type: value === undefined ? "boolean" : "string" }] as const,
  );
  try {
    return parseArgs({
      args: [...argv],
      options: Object.fromEntries(options),
      allowPositionals: true,
    });
  } catch (error) {
    const [sentence = ""] = (error as Error).message.split(/(?<=['.]) To specify|\n/);
    throw new UsageError(sentence);
  }
}

interface Parsed {
  readonly options: Readonly<Record<string, unknown>>;
  readonly positionals: readonly string[];
  readonly folder: string;
}

/** Reads what was not to stand in the command line, where other users of the machine see it. */
function withVariables(
  { options }: Command,
  given: Readonly<Record<string, unknown>>,
  env: Surroundings["env"],
): Readonly<Record<string, unknown>> {
  const read = ([name, value]: [string, unknown]) => {
    const variable = VARIABLE.exec(String(value))?.[1];
    if (options[name]?.isSecret !== true || variable === undefined) return [name, value];
    const text = env[variable];
    if (text === undefined) throw new UsageError(`--${name}: ${variable} is not set.`);
    return [name, text];
  };
  return Object.fromEntries(Object.entries(given).map(read));
}

/** Adds the operand under the name that is written in its brackets; only a file is a place. */
function withOperand({ operand }: Command, { options, positionals, folder }: Parsed): object {
  const wanted = operand === undefined ? 0 : 1;
  const [extra] = positionals.slice(wanted);
  if (extra !== undefined) throw new UsageError(`There is nothing to do with ${extra}.`);
  const [given] = positionals;
  if (operand === undefined || given === undefined) return options;
  const name = operand.slice(1, -1);
  return { ...options, [name]: name === "file" ? resolve(folder, given) : given };
}

function checked(command: Command, args: object): unknown {
  const { success, data, error } = command.args.safeParse(args);
  if (success) return data;
  const [issue] = error.issues;
  const name = String(issue?.path[0]);
  const isOperand = command.operand === `<${name}>`;
  throw new UsageError(`${isOperand ? command.operand : `--${name}`}: ${issue?.message}.`);
}
