import { spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter, dirname } from "node:path";

/** Commands of the nightly run, in order; each runs a test suite in its full size. */
const COMMANDS = [
  "npm run test:full",
  "npx vitest run --mode sources",
  "npx vitest run --mode nightly --no-file-parallelism",
  "npm run crash",
  "node test/load/overload.ts",
  "node test/load/slow-clients.ts",
  "node test/load/floods.ts",
  "node test/load/soak.ts",
  "node test/bench/deliveries.ts",
  "npm run bench",
];

/** Sizes of the random tests and the backfill test, larger than their defaults. */
const SIZES = { FUZZ: "20000", BACK_FILL: "500x730", STORE_MODEL_RUNS: "2000" };

/** `PATH` with the folder of this Node.js first, for the commands that start with `node`. */
const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);

/** Runs a command. @returns Its exit code and duration. */
async function run(command: string) {
  const startedAt = performance.now();
  const child = spawn(command, {
    shell: true,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, PATH, ...SIZES },
  });
  const [code] = await once(child, "exit");
  return { command, passed: code === 0, minutes: (performance.now() - startedAt) / 60_000 };
}

const outcomes = [];
for (const command of COMMANDS) outcomes.push(await run(command));

const lines = outcomes.map(
  ({ command, passed, minutes }) =>
    `${passed ? "passed" : "FAILED"} ${minutes.toFixed(1).padStart(6)} min  ${command}`,
);
const failed = outcomes.filter(({ passed }) => !passed).length;
process.stdout.write(
  `\n${lines.join("\n")}\n${outcomes.length - failed} passed, ${failed} failed\n`,
);
if (failed > 0) process.exitCode = 1;
