import { showProgress } from "../harness/progress.ts";
import type { Effort, Part } from "../harness/report.ts";
import { runBenchScript } from "../harness/script.ts";
import type { MeasuredStore } from "../store-embedded.ts";

/** Numbers of stored records of any kind, such as clients, tokens, alerts and deliveries. */
const SIZES = [10_000, 50_000, 100_000, 200_000];

/** Measures how writes and reads of the embedded store scale with the number of records. */
export async function records({ isQuick }: Effort): Promise<Part> {
  const raw: Record<number, MeasuredStore> = {};
  for (const size of SIZES) {
    showProgress(`Measuring an embedded store of ${size.toLocaleString("en")} records`);
    const args = [String(size), String(isQuick ? 1_000 : 3_000)];
    raw[size] = await runBenchScript<MeasuredStore>("store-embedded.ts", args);
  }
  const lines = Object.entries(raw).map(([size, { openMs, residentMb, changes, ...one }]) => [
    ...[Number(size), changes.perSecond, changes.p50, changes.p99, changes.cpuMicros],
    ...[one.additions.cpuMicros, one.readUs, one.claimMs, openMs, residentMb],
    ...[one.besideBackup.alone.p99, one.besideBackup.during.p99],
    one.besideBackup.lostPerDump,
  ]);
  const columns = [
    ...[
      "records",
      "commits a second",
      "p50 ms",
      "p99 ms",
      "us of CPU per change",
      "us of CPU per insert",
    ],
    ...["us per get", "ms per claim of 100", "ms to open", "MB resident"],
    ...["p99 ms of 5 writers", "the same during backups", "changes lost to one backup"],
  ];
  const title = "Embedded store, fsync, 50 writers, one record of 457 bytes a commit";
  return { curves: [{ title, columns, lines }], raw };
}
