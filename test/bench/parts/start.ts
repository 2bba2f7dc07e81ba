import { setTimeout as pause } from "node:timers/promises";
import { cpuMs, residentMb } from "../harness/machine.ts";
import { median } from "../harness/numbers.ts";
import { progress } from "../harness/progress.ts";
import { ask, restSignals } from "../harness/questions.ts";
import type { Effort, Part, Row } from "../harness/report.ts";
import { startFreely } from "../harness/server.ts";
import { buyTokens } from "../harness/tokens.ts";

/** What is promised: milliseconds to the first answer, and megabytes of an idle sandbox. */
const MOST_MS = 2_000;
const MOST_MB = 150;

/** How long nothing is asked before memory is looked at, in milliseconds. */
const IDLE_MS = 15_000;

/**
 * Starts the sandbox with an empty store, to the first signal that an agent reads which had to
 * register first; then lets it stand idle. It has the whole machine, as when somebody starts it, of
 * which it uses somewhat more than a core. Of what is compiled the last start has left behind.
 */
export async function start({ isQuick }: Effort): Promise<Part> {
  const starts = [];
  const times = isQuick ? 2 : 5;
  for (let run = 1; run <= times; run++) {
    progress(`Starting the sandbox, ${run} of ${times}, each idle for ${IDLE_MS / 1_000} s`);
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
      row("start of the sandbox to its ready line", "ms", ready),
      { ...row("start of the sandbox to the first answer", "ms", first), goal: { most: MOST_MS } },
      row("the same in time of the processor", "ms of CPU", processor),
      { ...row("memory of the idle sandbox", "MB resident", idle), goal: { most: MOST_MB } },
    ],
    raw: starts,
  };
}

/** What one start showed. */
export interface Started {
  readonly readyMs: number;
  /** From the start to the first answer, in milliseconds. */
  readonly answeredMs: number;
  /** CPU time of the process until then. */
  readonly processorMs: number;
  /** Resident memory after the idle time. */
  readonly idleMb: number;
}

/** Starts the sandbox once and asks for a signal, then waits. @param root Checkout; absent: this one. */
export async function startOnce(
  env: Readonly<Record<string, string>> = {},
  idleMs = IDLE_MS,
  root?: string,
): Promise<Started> {
  const startedAt = performance.now();
  const server = await startFreely({ SANDBOX_SESSION_SECONDS: "60", ...env }, root);
  const { readyMs, pid } = server;
  const [token = ""] = await buyTokens(server, 1);
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
