#!/usr/bin/env node
/** The program `market-signal`. JavaScript, so that the preflight can say what an old Node lacks. */

import "../process/preflight.js";

const { defaultDataFolder } = await import("../config/data-folder.ts");
const { runProgram } = await import("./program.ts");

const { env, platform } = process;
// The service, which the program may start, reads the environment itself.
env.DATA_DIR ||= defaultDataFolder({ program: import.meta.dirname, platform, env });

process.exitCode = await runProgram({
  argv: process.argv.slice(2),
  env,
  folder: process.cwd(),
  terminal: process,
});
