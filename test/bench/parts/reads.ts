import { quantile } from "../harness/numbers.ts";
import { showProgress } from "../harness/progress.ts";
import type { Effort, Part } from "../harness/report.ts";
import { runBenchScript } from "../harness/script.ts";
import type { Reads } from "../reads-run.ts";

const SIZES = [1_000, 10_000, 100_000];

/** Measures how the time of an answer scales with the number of instruments. */
export async function reads(_effort: Effort): Promise<Part> {
  const raw: Record<number, Reads> = {};
  for (const size of SIZES) {
    showProgress(`Measuring answers about ${size.toLocaleString("en")} instruments`);
    raw[size] = await runBenchScript<Reads>("reads-run.ts", [String(size)]);
  }
  const lines = Object.entries(raw).map(([size, { symbolUs, pageUs }]) => [
    Number(size),
    ...[symbolUs.first, symbolUs.again, pageUs.first, pageUs.again].flatMap((took) => [
      ...[quantile(took, 0.5), quantile(took, 0.99)],
    ]),
  ]);
  const columns = [
    ...["instruments", "one symbol, first: p50", "p99", "repeated: p50", "p99"],
    ...["a page, first: p50", "p99", "repeated: p50", "p99"],
  ];
  const title = "get_signal without HTTP, in us: one symbol, and a page of about 50";
  return { curves: [{ title, columns, lines }], raw };
}
