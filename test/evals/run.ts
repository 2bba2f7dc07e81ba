import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { endFile } from "../support/file-end.ts";
import { FORMATS, type ModelAddress } from "./models.ts";
import { playModel } from "./play-model.ts";
import { type PlayedTask, reportOf, tableOf } from "./report.ts";
import { openRound } from "./round.ts";
import { openSeats } from "./seats.ts";
import { tasks } from "./tasks/index.ts";

/**
 * Lets a model play the tasks, and prints a table.
 *
 * EVALS_URL=https://… EVALS_KEY=… EVALS_MODEL=… node test/evals/run.ts
 * [--format openai|anthropic] [--tasks 1,2,3] [--turns 12] [--out report.json]
 */
const { values } = parseArgs({
  options: {
    format: { type: "string", default: "openai" },
    tasks: { type: "string" },
    turns: { type: "string", default: "12" },
    out: { type: "string" },
  },
});
const { EVALS_URL: url = "", EVALS_KEY: key = "", EVALS_MODEL: model = "" } = process.env;
const format = FORMATS.find((one) => one === values.format);
const numbers = values.tasks?.split(",").map(Number) ?? tasks.map((_, at) => at + 1);
if (url === "" || model === "" || format === undefined || numbers.some((n) => !tasks[n - 1])) {
  process.stderr.write(
    "EVALS_URL or EVALS_MODEL is missing, or --format or --tasks is invalid: see test/evals/run.ts.\n",
  );
  process.exit(2);
}
const address: ModelAddress = { format, url, key, model };

const seats = await openSeats(numbers.flatMap((number) => tasks[number - 1] ?? []));
const played: PlayedTask[] = [];
for (const [at, seat] of seats.entries()) {
  const round = openRound(seat);
  const number = numbers[at] ?? 0;
  try {
    await playModel(address, round, Number(values.turns));
  } catch (error) {
    // A failed request says nothing about the model, so the task is left out of the report.
    process.stdout.write(`task ${number} failed: ${(error as Error).message}\n`);
    process.exitCode = 1;
    continue;
  }
  const outcome = round.outcome() ?? { calls: [], told: [], isSolved: false };
  played.push({ number, task: seat.task, outcome });
  const verdict = outcome.isSolved ? "solved" : "not solved";
  process.stdout.write(
    `${at + 1} of ${seats.length}: task ${number} (${seat.task.kind}) ${verdict}, ${outcome.calls.length} calls\n`,
  );
}
if (values.out !== undefined) {
  writeFileSync(values.out, JSON.stringify(reportOf(model, played), undefined, 2));
}
process.stdout.write(`\n${tableOf(played)}\n`);
await endFile();
