import { setTimeout as pause } from "node:timers/promises";
import { cpuMs, residentMb } from "../harness/machine.ts";
import { median } from "../harness/numbers.ts";
import { showProgress } from "../harness/progress.ts";
import { ask, restSignals } from "../harness/questions.ts";
import type { Effort, Part, Row } from "../harness/report.ts";
import { startUnpinned } from "../harness/server.ts";
import { requestTokens } from "../harness/tokens.ts";

/**
 * Goals: milliseconds until the ready line and until the first answer, and megabytes of resident
 * memory of an idle sandbox.
 */
const MOST_READY_MS = 1_500;
const MOST_MS = 2_000;
const MOST_MB = 150;

/** Idle time before the memory is read, in milliseconds. */
const IDLE_MS = 15_000;

/**
 * Measures the time from the start of the sandbox with an empty store until a new agent, which
 * registers first, reads a signal; then the memory of the idle sandbox. The process is not pinned,
 * as in normal use, and needs slightly more than one core. The compile cache is already filled by
 * an earlier start.
 */
export async function start({ isQuick }: Effort): Promise<Part> {
  const starts = [];
  const times = isQuick ? 2 : 5;
  for (let run = 1; run <= times; run++) {
    showProgress(`Starting the sandbox, ${run} of ${times}, each idle for ${IDLE_MS / 1_000} s`);
    starts.push(await startOnce());
  }
  const row = (budget: string, unit: string, figures: readonly number[]): Row => ({
    ...{ budget, unit, figure: median(figures) },
  });
  const processor = starts.map(({ processorMs }) => processorMs);
  const first = starts.map(({ answeredMs }) => answeredMs);
  const idle = starts.map(({ idleMb }) => idleMb);
  const ready = starts.map(({ readyMs }) => readyMs);
  return {
    rows: [
      {
        ...row("start of the sandbox to its ready line", "ms", ready),
        goal: { most: MOST_READY_MS },
      },
      { ...row("start of the sandbox to the first answer", "ms", first), goal: { most: MOST_MS } },
      row("the same in time of the processor", "ms of CPU", processor),
      { ...row("memory of the idle sandbox", "MB resident", idle), goal: { most: MOST_MB } },
    ],
    raw: starts,
  };
}

/** Result of one start. */
export interface StartMeasurement {
  readonly readyMs: number;
  /** Time from the start to the first answer, in milliseconds. */
  readonly answeredMs: number;
  /** CPU time of the process until the first answer, in milliseconds. */
  readonly processorMs: number;
  /** Resident memory after the idle time, in megabytes. */
  readonly idleMb: number;
}

/**
 * Starts the sandbox, asks for a signal, and reads the memory after the idle time.
 *
 * @param root Root folder of the checkout; absent: this checkout.
 */
export async function startOnce(
  env: Readonly<Record<string, string>> = {},
  idleMs = IDLE_MS,
  root?: string,
): Promise<StartMeasurement> {
  const startedAt = performance.now();
  const server = await startUnpinned({ SANDBOX_SESSION_SECONDS: "60", ...env }, root);
  const { readyMs, pid } = server;
  const [token = ""] = await requestTokens(server, 1);
  const [question] = restSignals();
  const answer = question && (await ask(server, question, token));
  const answeredMs = performance.now() - startedAt;
  const processorMs = cpuMs(pid);
  if (typeof answer?.score !== "number") throw new Error(`no score: ${JSON.stringify(answer)}`);
  await pause(idleMs);
  const idleMb = residentMb(pid);
  await server.stop();
  return { readyMs, answeredMs, processorMs, idleMb };
}
