import { runTraining } from "./train/run.ts";

process.exitCode = await runTraining({
  argv: process.argv.slice(2),
  env: process.env,
  terminal: process,
});
