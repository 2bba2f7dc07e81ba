import { storeCommands } from "./commands.ts";
import { runProgram } from "./program.ts";

process.exitCode = await runProgram({
  program: "store",
  commands: storeCommands,
  argv: process.argv.slice(2),
  env: process.env,
  terminal: process,
});
