import type { BaselineName } from "../baseline.ts";
import { cpuRow, paceOf, rateRow } from "../harness/contest-rows.ts";
import { NAMES, withContestField } from "../harness/field.ts";
import { showProgress } from "../harness/progress.ts";
import {
  callsOfGetSignal,
  type Era,
  listOfTools,
  type Question,
  restSignals,
} from "../harness/questions.ts";
import type { Effort, Part, Row } from "../harness/report.ts";
import { type Rounds, takeTurns } from "../harness/rounds.ts";

/**
 * Highest allowed ratio of a call's CPU time to that of Express, and lowest allowed ratio of the
 * throughput to that of the SDK's stock handler.
 */
const MOST_OF_EXPRESS = 2;
const LEAST_OF_SDK = 4;

/** A request that is measured on all compared servers. */
interface Contest {
  readonly what: string;
  readonly questions: readonly Question[];
  readonly others: readonly BaselineName[];
  /**
   * Whether this request has a budget; otherwise, the service only has to be faster than the SDK,
   * tmcp and fastmcp.
   */
  readonly isBudget: boolean;
}

const contest = (era: Era, method: "tools/call" | "tools/list"): Contest => ({
  what: `MCP ${method === "tools/call" ? "tools/call get_signal" : method}, ${era} era`,
  questions: method === "tools/call" ? callsOfGetSignal(era) : listOfTools(era),
  others: ["raw", "bare", "lean", "sdk", "tmcp", ...(era === "legacy" ? ["fastmcp" as const] : [])],
  isBudget: method === "tools/call",
});

const contests: readonly Contest[] = [
  contest("modern", "tools/call"),
  contest("legacy", "tools/call"),
  contest("modern", "tools/list"),
  contest("legacy", "tools/list"),
];

/** Compares the service with Express, the SDK, tmcp and fastmcp: MCP tool calls and tool lists. */
export async function mcp(effort: Effort): Promise<Part> {
  const questions = [...restSignals(), ...contests.flatMap((one) => one.questions)];
  return withContestField(
    questions,
    ["raw", "bare", "lean", "sdk", "fastmcp", "tmcp"],
    async (field, caller) => {
      const rows: Row[] = [];
      const raw: Record<string, Rounds> = {};
      for (const one of contests) {
        showProgress(
          `${one.what}: the service, ${one.others.map((name) => NAMES[name]).join(", ")}`,
        );
        const variants = await field.variants(one.questions, one.others);
        const rounds = await takeTurns(caller, variants, paceOf(effort));
        raw[one.what] = rounds;
        rows.push(...mcpRows(one, rounds));
      }
      return { rows, raw };
    },
  );
}

function mcpRows({ what, others, isBudget }: Contest, rounds: Rounds): readonly Row[] {
  const peers = others.filter((name) => name === "tmcp" || name === "fastmcp");
  return [
    cpuRow(what, rounds, "bare", isBudget ? { most: MOST_OF_EXPRESS } : undefined),
    cpuRow(what, rounds, "lean"),
    cpuRow(what, rounds, "raw"),
    rateRow(what, rounds, "sdk", { least: isBudget ? LEAST_OF_SDK : 1 }),
    ...peers.map((peer) => rateRow(what, rounds, peer, { least: 1 })),
  ];
}
