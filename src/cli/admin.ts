import { adminCommands } from "./commands.ts";
import { runProgram } from "./program.ts";

process.exitCode = await runProgram({
  program: "admin",
  commands: adminCommands,
  argv: process.argv.slice(2),
  env: process.env,
  terminal: process,
});
