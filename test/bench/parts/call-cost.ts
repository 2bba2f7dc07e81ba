import type { Caller } from "../harness/caller.ts";
import { cpuRow, paceOf } from "../harness/contest-rows.ts";
import { SERVICE, withContestField } from "../harness/field.ts";
import { residentMb } from "../harness/machine.ts";
import { showProgress } from "../harness/progress.ts";
import { callsOfGetSignal, restSignals } from "../harness/questions.ts";
import type { Effort, Part, Row } from "../harness/report.ts";
import { measure, type Rounds, takeTurns, type Variant } from "../harness/rounds.ts";

/**
 * Highest allowed ratio of the CPU time of a call to that of a route of Express which checks nothing
 * and sends the same JSON.
 */
const MOST_OF_OPEN = { mcp: 2, rest: 1.25 };

/** Number of calls before the memory is read, and the highest allowed resident memory after them. */
const CALLS = 100_000;
const MOST_MB = 250;

/** Requests for signals that are measured. */
const contests = [
  { what: "MCP get_signal, 2026-07-28", questions: callsOfGetSignal("modern"), most: "mcp" },
  { what: "MCP get_signal, 2025-11-25", questions: callsOfGetSignal("legacy"), most: "mcp" },
  { what: "REST get_signal of one", questions: restSignals(), most: "rest" },
] as const;

/** Measures what all checks, counts and headers of a call cost, and the memory after many calls. */
export async function callCost(effort: Effort): Promise<Part> {
  const questions = contests.flatMap((one) => one.questions);
  return withContestField(questions, ["open"], async (field, caller) => {
    const rows: Row[] = [];
    const raw: Record<string, Rounds> = {};
    let answered = 0;
    for (const { what, questions: asked, most } of contests) {
      showProgress(what);
      const variants = await field.variants(asked, ["open"]);
      const rounds = await takeTurns(caller, variants, paceOf(effort));
      raw[what] = rounds;
      rows.push(cpuRow(what, rounds, "open", { most: MOST_OF_OPEN[most] }));
      answered += (rounds[SERVICE] ?? []).reduce((sum, round) => sum + round.answered, 0);
    }
    showProgress(`${CALLS} calls`);
    const [service] = await field.variants(restSignals(), []);
    if (service === undefined) throw new Error("the service is not in the field");
    const figure = await memoryAfter(CALLS - answered, service, caller);
    const budget = `memory after ${CALLS} calls`;
    rows.push({ budget, unit: "MB resident", figure, goal: { most: MOST_MB } });
    return { rows, raw };
  });
}

/** Sends calls to the service. @returns Its resident memory afterwards, in megabytes. */
async function memoryAfter(calls: number, service: Variant, caller: Caller): Promise<number> {
  let left = calls;
  while (left > 0) left -= (await measure(caller, service, { ms: 1_000, callers: 16 })).answered;
  return residentMb(service.servers[0]?.pid ?? 0);
}
