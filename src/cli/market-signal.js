#!/usr/bin/env node
/**
 * The program `market-signal`. It is JavaScript, so that even an old Node can run the preflight,
 * which reports the missing features.
 */

import "../process/preflight.js";

const { defaultDataFolder } = await import("../config/data-folder.ts");
const { runProgram } = await import("./program.ts");

const { env, platform } = process;
// Set in the environment, because `serve` reads its settings from there.
env.DATA_DIR ||= defaultDataFolder({ program: import.meta.dirname, platform, env });

process.exitCode = await runProgram({
  argv: process.argv.slice(2),
  env,
  folder: process.cwd(),
  terminal: process,
});
