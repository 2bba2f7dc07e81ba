import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import type { Command, OptionSyntax } from "./command.ts";

/** Name of the program. */
export const PROGRAM_NAME = "market-signal";

/** The command that runs when the command line contains none. */
export const DEFAULT_COMMAND = "serve";

/** An invalid command line; the message gives the reason. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** A parsed command line. */
export type ParsedCommandLine =
  /** Help on one command, on a group of commands, or on all commands. */
  | { readonly kind: "help"; readonly about?: string }
  | { readonly kind: "version" }
  | {
      readonly kind: "run";
      readonly name: string;
      readonly command: Command;
      /** The arguments as they were written, for the server, which parses them itself. */
      readonly input: object;
      /** The parsed arguments. */
      readonly args: unknown;
      /** Whether to print the result as JSON. */
      readonly isJson: boolean;
    };

/** Working directory and environment variables that a command line is parsed with. */
interface CommandLineEnvironment {
  /** Absolute path of the folder that relative file names start from. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Commands by name, in the order in which the help lists them. */
export type Commands = ReadonlyMap<string, Command>;

/** Value of an option that refers to an environment variable; group 1 is the variable's name. */
const VARIABLE = /^env:(.*)$/;

/** Options that every command accepts. */
const commonOptions: Readonly<Record<string, OptionSyntax>> = {
  json: { about: "print the result as one line of JSON" },
  help: { about: "print this help" },
};

/** Help text on how commands find the store. */
const STORE_HELP =
  "The store is where DATA_DIR or DATABASE_URL says; without them in ./data of a checkout, or in the\n" +
  "user's data folder for an installed package. While a server runs, it does the work, asked through\n" +
  "DATA_DIR/admin.sock; relative file names still start from the current folder.";

/**
 * Parses a command line.
 *
 * @param given Arguments without the program name; if empty, the default command runs.
 * @throws {UsageError} When the command or an option is unknown, or a required argument is missing.
 */
export function readCommandLine(
  given: readonly string[],
  commands: Commands,
  { folder, env }: CommandLineEnvironment,
): ParsedCommandLine {
  const argv = given.length === 0 ? [DEFAULT_COMMAND] : given;
  if (argv[0] === "--help" || argv[0] === "help") return { kind: "help" };
  if (argv[0] === "--version") return { kind: "version" };
  const name = [...commands.keys()].find((each) => isCalled(each, argv));
  const command = name === undefined ? undefined : commands.get(name);
  if (name === undefined || command === undefined) {
    const [first = ""] = argv;
    if (argv[1] === "--help" && groupOf(first, commands).length > 0) {
      return { kind: "help", about: first };
    }
    throw unknownCommand(argv, commands);
  }
  const { values, positionals } = parse(argv.slice(name.split(" ").length), command);
  const { help, json, ...options } = values;
  if (help === true) return { kind: "help", about: name };
  const known = withPaths(command, withVariables(command, options, env), folder);
  const input = withOperands(command, { options: known, positionals, folder });
  const args = parseArguments(command, input);
  return { kind: "run", name, command, input, args, isJson: json === true };
}

const isCalled = (name: string, argv: readonly string[]) =>
  name === argv.slice(0, name.split(" ").length).join(" ");

/** Names of the commands that begin with the word `first`. */
const groupOf = (first: string, commands: Commands): readonly string[] =>
  [...commands.keys()].filter((name) => name.startsWith(`${first} `));

/** Commands of version 1.0.0 that are gone, and what does their work. */
const FORMER_COMMANDS: ReadonlyMap<string, string> = new Map([
  ["store export", "`store backup <file>` writes lines of JSON; read them with zcat"],
  ["store import", "`store restore <file>` reads what `store export` wrote"],
]);

function unknownCommand(argv: readonly string[], commands: Commands): UsageError {
  const group = groupOf(argv[0] ?? "", commands);
  const former = argv.slice(0, 2).join(" ");
  const successor = FORMER_COMMANDS.get(former);
  if (successor !== undefined) return new UsageError(`${former} is gone: ${successor}.`);
  const written = argv.slice(0, group.length > 0 ? 2 : 1).join(" ");
  const isUnfinished = group.length > 0 && argv.length === 1;
  const what = isUnfinished ? "Name a command" : `There is no command ${written}`;
  const names = group.length > 0 ? group : [...commands.keys()];
  return new UsageError(`${what}; the commands are: ${names.join(", ")}.`);
}

function parse(argv: readonly string[], command: Command) {
  const options = Object.entries({ ...command.options, ...commonOptions }).map(
    ([name, { value, isRepeatable = false }]) =>
      [name, { type: value === undefined ? "boolean" : "string", multiple: isRepeatable }] as const,
  );
  try {
    return parseArgs({
      args: [...argv],
      options: Object.fromEntries(options),
      allowPositionals: true,
    });
  } catch (error) {
    // Node appends a hint about `--` that does not apply here; the first sentence gives the reason.
    const [sentence = ""] = (error as Error).message.split(/(?<=['.]) To specify|\n/);
    throw new UsageError(sentence);
  }
}

/**
 * Replaces each `env:NAME` by the value of the variable. Secrets on the command line itself could
 * be read by other users.
 */
function withVariables(
  { options }: Command,
  given: Readonly<Record<string, unknown>>,
  env: CommandLineEnvironment["env"],
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

/**
 * Makes the file options absolute, because a server that runs the command may have another working
 * directory.
 */
function withPaths(
  { needs, options }: Command,
  given: Readonly<Record<string, unknown>>,
  folder: string,
): Readonly<Record<string, unknown>> {
  const isFile = (name: string) => needs === "store" && options[name]?.value === "<file>";
  const entries = Object.entries(given).map(([name, value]) => [
    name,
    isFile(name) ? resolve(folder, String(value)) : value,
  ]);
  return Object.fromEntries(entries);
}

interface Parsed {
  readonly options: Readonly<Record<string, unknown>>;
  readonly positionals: readonly string[];
  readonly folder: string;
}

/** Adds the operands to the options, under their names; a file name becomes an absolute path. */
function withOperands(command: Command, { options, positionals, folder }: Parsed): object {
  const names = Object.keys(command.operands);
  const [extra] = positionals.slice(names.length);
  if (extra !== undefined) throw new UsageError(`There is nothing to do with ${extra}.`);
  const operands = positionals.map((given, at) => {
    const name = names[at] ?? "";
    return [name, name === "file" ? resolve(folder, given) : given] as const;
  });
  return { ...options, ...Object.fromEntries(operands) };
}

/**
 * Parses the arguments of a command by its schemas and rules.
 *
 * @param input Options and operands by name, as they were written.
 * @throws {UsageError} With the name of the invalid argument.
 */
export function parseArguments(command: Command, input: unknown): unknown {
  const { operands, options, rules } = command;
  const schemas = Object.entries(options).map(([name, { schema }]) => [name, schema] as const);
  const { success, data, error } = z
    .strictObject({ ...operands, ...Object.fromEntries(schemas) })
    .safeParse(input);
  if (success) {
    const broken = rules.find(({ holds }) => !holds(data));
    if (broken === undefined) return data;
    throw new UsageError(`--${broken.option}: ${broken.error}.`);
  }
  const [issue] = error.issues;
  const name = issue?.path[0];
  if (name === undefined) throw new UsageError(`${issue?.message}.`);
  const written = String(name) in operands ? `<${String(name)}>` : `--${String(name)}`;
  throw new UsageError(`${written}: ${issue?.message}.`);
}

/**
 * Help on the program, or on a command or group of commands.
 * @param about The command or group; empty for the whole program.
 */
export function helpText(commands: Commands, about = ""): string {
  const command = commands.get(about);
  if (command !== undefined) return commandHelp(about, command);
  const isAbout = ([name]: readonly [string, Command]) => `${name} `.startsWith(`${about} `);
  return overview(about === "" ? commands : new Map([...commands].filter(isAbout)));
}

function overview(commands: Commands): string {
  const calls = [...commands].map(([name, command]) => [callOf(name, command), command] as const);
  const width = Math.max(...calls.map(([call]) => call.length)) + 2;
  const lines = calls.map(([call, { summary }]) => `  ${call.padEnd(width)}${summary}`);
  const more = `${PROGRAM_NAME} <command> --help says more; --version prints the version.`;
  return [
    `${PROGRAM_NAME} [command]; without a command: ${DEFAULT_COMMAND}`,
    "",
    ...lines,
    "",
    more,
    STORE_HELP,
  ].join("\n");
}

function commandHelp(name: string, command: Command): string {
  const options = Object.entries({ ...command.options, ...commonOptions }).map(
    ([option, { value = "", about }]) => `  ${`--${option} ${value}`.padEnd(24)}${about}`,
  );
  const call = `${PROGRAM_NAME} ${callOf(name, command)} [options]`;
  const place = command.needs === "store" ? ["", STORE_HELP] : [];
  return [call, "", command.summary, ...command.notes, "", ...options, ...place].join("\n");
}

/** The synopsis of a command: its name, operands and required options. */
function callOf(name: string, { operands, options }: Command): string {
  const required = Object.entries(options)
    .filter(([, { schema }]) => !schema.safeParse(undefined).success)
    .map(([option, { value }]) => `--${option} ${value}`);
  return [name, ...Object.keys(operands).map((operand) => `<${operand}>`), ...required].join(" ");
}
