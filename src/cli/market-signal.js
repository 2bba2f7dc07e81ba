#!/usr/bin/env node
/** The program `market-signal`. JavaScript, so that the preflight can say what an old Node lacks. */

import "../process/preflight.js";

const { runProgram } = await import("./program.ts");

process.exitCode = await runProgram({
  argv: process.argv.slice(2),
  env: process.env,
  folder: process.cwd(),
  terminal: process,
});
