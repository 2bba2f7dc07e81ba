import { paceOf, rateRow } from "../harness/contest-rows.ts";
import { withContestField } from "../harness/field.ts";
import { showProgress } from "../harness/progress.ts";
import { restQuestion, restSignals } from "../harness/questions.ts";
import type { Effort, Part, Row } from "../harness/report.ts";
import { type Rounds, takeTurns } from "../harness/rounds.ts";

/** Lowest allowed ratio of the throughput of signal requests over REST to that of bare Express. */
const LEAST_OF_BARE = 0.85;

/** Compares the service with Express in answering requests for signals over REST. */
export async function rest(effort: Effort): Promise<Part> {
  const page = [restQuestion("/api/signals")];
  return withContestField(
    [...restSignals(), ...page],
    ["raw", "bare", "lean"],
    async (field, caller) => {
      const rows: Row[] = [];
      const raw: Record<string, Rounds> = {};
      for (const [what, questions] of [
        ["REST get_signal of one", restSignals()],
        ["REST get_signal of a page", page],
      ] as const) {
        showProgress(what);
        const variants = await field.variants(questions, ["raw", "bare", "lean"]);
        const rounds = await takeTurns(caller, variants, paceOf(effort));
        raw[what] = rounds;
        const goal = { least: LEAST_OF_BARE };
        rows.push(
          rateRow(what, rounds, "bare", goal),
          rateRow(what, rounds, "lean"),
          rateRow(what, rounds, "raw"),
        );
      }
      return { rows, raw };
    },
  );
}
