import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { loadNow, machine, machineLines } from "./harness/machine.ts";
import { endProgress } from "./harness/progress.ts";
import { curveTable, isMet, type Part, tableOf } from "./harness/report.ts";
import { stopServers } from "./harness/server.ts";
import { parts } from "./parts/index.ts";

const usage = `Measures every budget. If a budget has a baseline, both are measured in the same run and compared as a ratio.

  npm run bench -- [--only <part of a name>] [--quick] [--json <file>]

  --only   ${Object.keys(parts).join(", ")}
  --quick  fewer and shorter rounds, for a first look
  --json   file for all measured numbers

The exit code is 1 when a budget is missed.
`;

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    quick: { type: "boolean", default: false },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const say = (text: string): void => void process.stdout.write(`${text}\n`);

// Stop the servers when this process is interrupted.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => stopServers().finally(() => process.exit(130)));
}
if (values.help) process.stdout.write(usage);
else await main();

async function main(): Promise<void> {
  const on = machine();
  const chosen = Object.entries(parts).filter(([name]) => name.includes(values.only));
  if (chosen.length === 0) {
    process.stderr.write(`--only: no part has ${values.only} in its name.\n\n${usage}`);
    process.exitCode = 1;
    return;
  }
  const measured: Record<string, Part> = {};
  for (const [name, part] of chosen) {
    const outcome = await attempt(name, () => part({ isQuick: values.quick }));
    if (outcome !== undefined) measured[name] = outcome;
  }
  const rows = Object.values(measured).flatMap((part) => part.rows ?? []);
  if (chosen.length > 1) say(`\nAll budgets\n${tableOf(rows)}`);
  say(`\n${machineLines(on)}`);
  if (rows.some((row) => isMet(row) === false)) process.exitCode = 1;
  if (values.json === undefined) return;
  const document = { machine: { ...on, loadAfter: loadNow() }, at: new Date(), parts: measured };
  writeFileSync(values.json, `${JSON.stringify(document, undefined, 1)}\n`);
}

/** Measures a part and prints its result. A part that fails counts as a missed budget. */
async function attempt(name: string, measure: () => Promise<Part>): Promise<Part | undefined> {
  try {
    const part = await measure();
    endProgress();
    say(`\n${name}`);
    if (part.rows?.length) say(tableOf(part.rows));
    for (const curve of part.curves ?? []) say(curveTable(curve));
    return part;
  } catch (error) {
    endProgress();
    say(`\n${name}\n  FAILED: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
    await stopServers();
    return undefined;
  }
}
