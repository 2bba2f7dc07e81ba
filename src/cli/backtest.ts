import { runBacktestProgram } from "./backtest/program.ts";

process.exitCode = await runBacktestProgram({
  argv: process.argv.slice(2),
  folder: process.cwd(),
  terminal: process,
});
