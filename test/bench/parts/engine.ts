import type { Feeds } from "../engine/made-market.ts";
import type { MeasuredEngine } from "../engine/measured.ts";
import { median } from "../harness/numbers.ts";
import { showProgress } from "../harness/progress.ts";
import type { Curve, Effort, Part, Row } from "../harness/report.ts";
import { runBenchScript } from "../harness/script.ts";

/**
 * Goals for a full refresh, by number of instruments: CPU time in milliseconds, and peak memory in
 * megabytes.
 */
const PROMISED: Readonly<Record<number, { readonly ms: number; readonly mb?: number }>> = {
  10000: { ms: 150 },
  100000: { ms: 1_500, mb: 700 },
};

/**
 * Number of runs of each size. All runs do the same work, so a slower run was slowed by other
 * processes.
 */
const repeatsOf = ({ isQuick }: Effort): number => (isQuick ? 1 : 3);

/** Heap limit in megabytes: it shows how little memory is enough. */
const HEAP_MB = 280;

/** Measures full refreshes of markets of several sizes. */
export async function engine(effort: Effort): Promise<Part> {
  const cases = [
    [1_000, "bars"],
    [10_000, "bars"],
    [100_000, "bars"],
    [1_000, "all feeds"],
    [10_000, "all feeds"],
  ] as const;
  const [rows, lines]: [Row[], Curve["lines"][number][]] = [[], []];
  const raw: Record<string, readonly MeasuredEngine[]> = {};
  for (const [size, feeds] of cases) {
    const name = `${size.toLocaleString("en")} instruments, ${feeds}`;
    const runs: MeasuredEngine[] = [];
    for (let repeat = 0; repeat < repeatsOf(effort); repeat++) {
      showProgress(`Full refreshes of ${name}, run ${repeat + 1} of ${repeatsOf(effort)}`);
      runs.push(await measure(size, feeds));
    }
    raw[name] = runs;
    lines.push(lineOf(name, bestOf(runs)));
    rows.push(...rowsOf(size, feeds, bestOf(runs)));
  }
  return { rows, curves: [{ title: TITLE, columns: COLUMNS, lines }], raw };
}

const TITLE = "Full refreshes on one core, in ms, the median session; best of the runs";

const COLUMNS = [
  "instruments",
  "refresh",
  "of CPU",
  "us of CPU per instrument",
  "peak MB",
  "drift",
];

/** Measures one size in a separate process, whose garbage collector runs on the same core. */
function measure(size: number, feeds: Feeds): Promise<MeasuredEngine> {
  const heap = feeds === "bars" ? [`--max-old-space-size=${HEAP_MB}`] : [];
  const flags = ["--single-threaded-gc", ...heap];
  return runBenchScript<MeasuredEngine>("engine-run.ts", [String(size), feeds], flags);
}

function rowsOf(size: number, feeds: Feeds, measured: MeasuredEngine): readonly Row[] {
  const promised = PROMISED[size];
  const name = `${size.toLocaleString("en")} instruments`;
  if (promised === undefined || feeds !== "bars") return [];
  const refresh: Row = {
    ...{ budget: `full refresh of ${name}`, unit: "ms of CPU" },
    ...{ figure: median(measured.processorMs), goal: { most: promised.ms } },
  };
  if (promised.mb === undefined) return [refresh];
  const memory: Row = {
    ...{ budget: `memory of a full refresh of ${name}`, figure: measured.peakMb, unit: "MB" },
    goal: { most: promised.mb },
  };
  return [refresh, memory];
}

function lineOf(name: string, measured: MeasuredEngine): Curve["lines"][number] {
  const { refreshMs, processorMs, peakMb, drift } = measured;
  const size = Number(name.replace(/\D/g, ""));
  const each = (1_000 * median(processorMs)) / size;
  return [name, median(refreshMs), median(processorMs), each, peakMb, drift.toExponential(0)];
}

/** Takes the fastest time of each session and the highest memory over all runs. */
function bestOf(runs: readonly MeasuredEngine[]): MeasuredEngine {
  const best = (pick: (one: MeasuredEngine) => readonly number[]) => {
    const [first = [], ...others] = runs.map(pick);
    return first.map((value, index) =>
      Math.min(value, ...others.map((other) => other[index] ?? value)),
    );
  };
  return {
    refreshMs: best(({ refreshMs }) => refreshMs),
    processorMs: best(({ processorMs }) => processorMs),
    peakMb: Math.max(...runs.map(({ peakMb }) => peakMb)),
    drift: Math.max(...runs.map(({ drift }) => drift)),
  };
}
