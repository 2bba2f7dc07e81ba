import { commonOptions } from "./arguments.ts";
import type { Command } from "./command.ts";

/** Where every command finds the store. */
const PLACES =
  "The store is where DATA_DIR (./data) or DATABASE_URL says. While a server runs, it does the work,\n" +
  "asked through DATA_DIR/admin.sock; relative files are found from here all the same.";

/** What a program of commands can do. */
export function overview(program: string, commands: ReadonlyMap<string, Command>): string {
  const width = Math.max(...[...commands].map((entry) => callOf(entry).length)) + 2;
  const lines = [...commands].map((entry) => `  ${callOf(entry).padEnd(width)}${entry[1].summary}`);
  return [
    ...[`npm run ${program} -- <command>`, "", ...lines, ""],
    ...[`npm run ${program} -- <command> --help says more.`, PLACES],
  ].join("\n");
}

/** What one command does. */
export function commandHelp(program: string, [name, command]: readonly [string, Command]): string {
  const options = Object.entries({ ...command.options, ...commonOptions }).map(
    ([option, { value = "", about }]) => `  ${`--${option} ${value}`.padEnd(24)}${about}`,
  );
  return [
    ...[`npm run ${program} -- ${callOf([name, command])} [options]`, "", command.summary],
    ...[...command.notes, "", ...options, "", PLACES],
  ].join("\n");
}

/** The command with all that it cannot do without. */
function callOf([name, { operand, options }]: readonly [string, Command]): string {
  const required = Object.entries(options)
    .filter(([, { isRequired }]) => isRequired)
    .map(([option, { value }]) => `--${option} ${value}`);
  return [name, ...(operand === undefined ? [] : [operand]), ...required].join(" ");
}
