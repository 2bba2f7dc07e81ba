import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { machine, machineLines } from "./harness/machine.ts";
import { medianWithSpread } from "./harness/numbers.ts";
import { endProgress, showProgress } from "./harness/progress.ts";
import { curveTable, type Part, type Row } from "./harness/report.ts";
import { parts } from "./parts/index.ts";

const ROOT = resolve(import.meta.dirname, "../..");

const usage = `Compares parts of the bench with those of another checkout.

  node test/bench/compare-parts.ts --against <folder> [--only <part>,<part>] [--rounds 5] [--quick]

  --against  root folder of the other checkout, in which npm ci has run
  --only     ${Object.keys(parts).join(", ")}
  --rounds   how often each part runs in each checkout; the two take turns
  --quick    fewer and shorter measurements in each round

Each checkout runs its own bench (npm run bench). Where that compares a figure with a baseline, the
ratio to the baseline is compared, since it depends less on other work on the machine.
`;

const { values } = parseArgs({
  options: {
    against: { type: "string" },
    only: { type: "string", default: Object.keys(parts).join(",") },
    rounds: { type: "string", default: "5" },
    quick: { type: "boolean", default: false },
  },
});

if (values.against === undefined) {
  process.stderr.write(usage);
  process.exitCode = 1;
} else {
  const on = machine();
  for (const part of values.only.split(",")) {
    const table = await comparePart(part, resolve(values.against), Number(values.rounds));
    endProgress();
    process.stdout.write(`${table}\n\n`);
  }
  process.stdout.write(`${machineLines(on)}\n`);
}

/**
 * Runs a part of the bench in both checkouts alternately.
 *
 * @returns A line for each row that both checkouts have.
 */
async function comparePart(part: string, against: string, rounds: number): Promise<string> {
  const [own, others]: [Row[][], Row[][]] = [[], []];
  for (let round = 1; round <= rounds; round++) {
    showProgress(`${part}, round ${round} of ${rounds}`);
    own.push(await measureRows(part, ROOT));
    others.push(await measureRows(part, against));
  }
  const lines = (own[0] ?? []).flatMap((row) => {
    const [mine, theirs] = [figuresOf(own, row), figuresOf(others, row)];
    if (mine.length < rounds || theirs.length < rounds) return [];
    const ratios = mine.map((figure, round) => figure / (theirs[round] as number));
    const unit = row.ratio === undefined ? row.unit : `× ${row.baseline?.name}`;
    return [[`${row.budget}, ${unit}`, ...[mine, theirs, ratios].map(medianWithSpread)]];
  });
  const columns = ["", "this checkout", "the other", "this / the other"];
  return curveTable({ title: `${part}, medians of ${rounds} (lowest to highest)`, columns, lines });
}

/** The compared figure of a row, from each round that contains the row. */
function figuresOf(rounds: readonly (readonly Row[])[], { budget, unit, baseline }: Row): number[] {
  return rounds.flatMap((rows) => {
    const row = rows.find(
      (one) => one.budget === budget && one.unit === unit && one.baseline?.name === baseline?.name,
    );
    return row === undefined ? [] : [row.ratio ?? row.figure];
  });
}

/**
 * Measures one part in a checkout.
 *
 * @throws If the bench fails before it writes its figures.
 */
async function measureRows(part: string, root: string): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "bench-parts-"));
  try {
    const file = join(folder, "figures.json");
    const args = ["run", "-s", "bench", "--", "--only", part, "--json", file];
    const child = spawn("npm", [...args, ...(values.quick ? ["--quick"] : [])], {
      cwd: root,
      stdio: "ignore",
    });
    // The exit code is 1 for a missed budget too, so only the file shows whether the part was
    // measured.
    await once(child, "exit");
    const measured: { parts: Record<string, Part> } = JSON.parse(readFileSync(file, "utf8"));
    return [...(measured.parts[part]?.rows ?? [])];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
