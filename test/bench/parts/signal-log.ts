import { rmSync } from "node:fs";
import { progress } from "../harness/progress.ts";
import type { Effort, Part } from "../harness/report.ts";
import { runScript } from "../harness/script.ts";
import type { LogCosts, VerifyCosts } from "../signal-log.ts";

/** Runs of 10,000 signals: a million entries, or a first look. */
const RUNS = { whole: 100, quick: 10 } as const;

/** What the log of signals costs on an embedded store, and whoever verifies it. */
export async function signalLog({ isQuick }: Effort): Promise<Part> {
  const runs = isQuick ? RUNS.quick : RUNS.whole;
  progress(`A log of ${runs} runs of 10,000 signals`);
  const log = await runScript<LogCosts>("signal-log.ts", [String(runs)]);
  try {
    progress(`Verifying ${log.entries.toLocaleString("en")} entries`);
    const verified = await runScript<VerifyCosts>("signal-log.ts", ["verify", log.folder, log.key]);
    if (verified.failed > 0) throw new Error("the log is not verified");
    const share = verified.entries / 1_000_000;
    return {
      rows: [
        row("10,000 signals logged", log.runCpuMs, "ms of CPU", 150),
        row("longest step meanwhile", log.longestStepCpuMs, "ms of CPU", 20),
        { budget: "longest turn meanwhile", figure: log.longestTurnMs, unit: "ms" },
        row("a proof", log.proofMs[0], "ms", 1),
        row("a checkpoint", log.checkpointMs[0], "ms", 5),
        row("verify, for a million entries", verified.cpuSeconds / share, "s of CPU", 30),
        row("verify, memory", verified.residentMb, "MB", 300),
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
