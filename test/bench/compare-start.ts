import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { machine, machineLines } from "./harness/machine.ts";
import { medianWithSpread } from "./harness/numbers.ts";
import { endProgress, showProgress } from "./harness/progress.ts";
import { curveTable } from "./harness/report.ts";
import { stopServers } from "./harness/server.ts";
import { type StartMeasurement, startOnce } from "./parts/start.ts";

const usage = `Compares start time and idle memory of the sandbox with another checkout.

  node test/bench/compare-start.ts --against <folder> [--rounds 5] [--idle 30]

  --against  root folder of the other checkout, in which npm ci has run
  --rounds   number of rounds of each checkout; the two take turns
  --idle     seconds without a request before memory is read

Both run on the Node of this command, each with the flags of its own npm start. In a round, a
checkout starts with an empty DATA_DIR, and then again with the files that the first start left.
Before the first round, each checkout starts once without being measured, to fill the compile cache.
`;

const { values } = parseArgs({
  options: {
    against: { type: "string" },
    rounds: { type: "string", default: "5" },
    idle: { type: "string", default: "30" },
  },
});

/**
 * Environment variables that keep the default limits. No limits are set, because the checkouts name
 * them differently; one registration stays below the defaults.
 */
const DEFAULT_LIMITS = { RATE_LIMITS: "" };

/** A start with an empty DATA_DIR, and a second start with the files that the first one left. */
interface Round {
  readonly first: StartMeasurement;
  readonly next: StartMeasurement;
}

/** The compared figures, in the order of the table. */
const FIGURES: readonly (readonly [name: string, (round: Round) => number])[] = [
  ["first start to the first answer, ms", ({ first }) => first.answeredMs],
  ["the same, ms of CPU", ({ first }) => first.processorMs],
  ["next start to the first answer, ms", ({ next }) => next.answeredMs],
  ["the same, ms of CPU", ({ next }) => next.processorMs],
  ["idle after the first start, MB resident", ({ first }) => first.idleMb],
  ["idle after the next start, MB resident", ({ next }) => next.idleMb],
];

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => stopServers().finally(() => process.exit(130)));
}
if (values.against === undefined) {
  process.stderr.write(usage);
  process.exitCode = 1;
} else {
  await compare(resolve(values.against), Number(values.rounds), 1_000 * Number(values.idle));
}

async function compare(against: string, rounds: number, idleMs: number): Promise<void> {
  const on = machine();
  const [mine, others]: [Round[], Round[]] = [[], []];
  showProgress("Filling the compile caches");
  await startOnce(DEFAULT_LIMITS, 0);
  await startOnce(DEFAULT_LIMITS, 0, against);
  for (let round = 1; round <= rounds; round++) {
    showProgress(`Round ${round} of ${rounds}`);
    mine.push(await measure(idleMs));
    others.push(await measure(idleMs, against));
  }
  endProgress();
  const title = `Medians of ${rounds} rounds (lowest to highest); the other: ${against}`;
  const columns = ["", "this checkout", "the other", "this / the other"];
  const lines = FIGURES.map(([name, of]) => {
    const [own, theirs] = [mine.map(of), others.map(of)];
    const ratios = own.map((value, at) => value / (theirs[at] as number));
    return [name, ...[own, theirs, ratios].map(medianWithSpread)];
  });
  process.stdout.write(`${curveTable({ title, columns, lines })}\n\n${machineLines(on)}\n`);
}

async function measure(idleMs: number, root?: string): Promise<Round> {
  const folder = mkdtempSync(join(tmpdir(), "bench-compare-"));
  try {
    const env = { ...DEFAULT_LIMITS, DATA_DIR: join(folder, "data") };
    const first = await startOnce(env, idleMs, root);
    return { first, next: await startOnce(env, idleMs, root) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
