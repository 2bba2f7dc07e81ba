import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { startCaller } from "../harness/caller.ts";
import { paceOf } from "../harness/contest-rows.ts";
import { showProgress } from "../harness/progress.ts";
import { rawRequestText } from "../harness/questions.ts";
import type { Effort, Part, Row } from "../harness/report.ts";
import { medianOfRounds, ratioOf, requestsPerSecond, takeTurns } from "../harness/rounds.ts";
import { runBenchScript } from "../harness/script.ts";
import { startProduct } from "../harness/server.ts";
import type { LogCosts, VerifyCosts } from "../signal-log.ts";

/**
 * Number of runs of 10,000 signals, of the whole and of the quick bench. In the whole bench, these
 * make a log of a million entries, including the outcomes of the signals.
 */
const RUNS = { whole: 44, quick: 10 } as const;

/** Path of the first full tile. */
const TILE = "/log/tile/0/000";

/** Lowest allowed ratio of a tile's throughput to that of a static document. */
const LEAST_OF_STATIC = 0.9;

/**
 * Measures the signal log on an embedded store: appending, proofs, checkpoints, verification and
 * tiles.
 */
export async function signalLog({ isQuick }: Effort): Promise<Part> {
  const runs = isQuick ? RUNS.quick : RUNS.whole;
  showProgress(`Writing a log of ${runs} runs of 10,000 signals`);
  const log = await runBenchScript<LogCosts>("signal-log.ts", [String(runs)]);
  try {
    showProgress(`Verifying ${log.entries.toLocaleString("en")} entries`);
    const verified = await runBenchScript<VerifyCosts>("signal-log.ts", [
      "verify",
      log.folder,
      log.key,
    ]);
    if (verified.failed > 0) throw new Error("the verification of the log failed");
    const share = verified.entries / 1_000_000;
    return {
      rows: [
        row("10,000 signals logged", log.runCpuMs, "ms of CPU", 150),
        row("longest turn meanwhile", log.longestTurnCpuMs, "ms of CPU", 20),
        { budget: "longest turn by the clock", figure: log.longestTurnMs, unit: "ms" },
        row("a proof", log.proofMs[0], "ms", 1),
        row("a checkpoint", log.checkpointMs[0], "ms", 5),
        row("verify, for a million entries", verified.cpuSeconds / share, "s of CPU", 30),
        row("verify, memory", verified.residentMb, "MB", 300),
        await tiles({ isQuick }),
      ],
      raw: { log, verified },
    };
  } finally {
    rmSync(log.folder, { recursive: true });
  }
}

const row = (budget: string, figure: number, unit: string, most: number) => ({
  ...{ budget, figure, unit, goal: { most } },
});

/** Compares the throughput of a full tile over HTTP with that of a static document. */
async function tiles(effort: Effort): Promise<Row> {
  showProgress("Measuring a tile over HTTP");
  const data = mkdtempSync(join(tmpdir(), "bench-tile-"));
  // Short sessions fill the first tile. The measured service then has sessions of a day, as in all
  // other parts.
  const filling = await startProduct({ SANDBOX_SESSION_SECONDS: "2", DATA_DIR: data });
  while (!(await fetch(`${filling.baseUrl}${TILE}`)).ok) await setTimeout(500);
  await filling.stop();
  const service = await startProduct({ DATA_DIR: data });
  const caller = startCaller();
  const variant = (name: string, path: string, expected: string) => {
    const request = rawRequestText(service, { method: "GET", path, headers: {}, body: "" });
    return { name, servers: [service], calls: [{ request, expected }] };
  };
  try {
    const [tile, other] = ["a tile", "llms.txt"];
    const variants = [variant(tile, TILE, "octet-stream"), variant(other, "/llms.txt", "text/")];
    const rounds = await takeTurns(caller, variants, paceOf(effort));
    return {
      ...{
        budget: "a tile over HTTP",
        figure: medianOfRounds(rounds, tile, requestsPerSecond),
        unit: "a second",
      },
      baseline: { name: other, figure: medianOfRounds(rounds, other, requestsPerSecond) },
      ratio: ratioOf(rounds, [tile, other], requestsPerSecond),
      goal: { least: LEAST_OF_STATIC },
    };
  } finally {
    caller.stop();
    await service.stop();
    rmSync(data, { recursive: true });
  }
}
