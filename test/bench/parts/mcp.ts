import type { BaselineName } from "../baseline.ts";
import { cpuRow, paceOf, rateRow } from "../harness/contest-rows.ts";
import { among, NAMES } from "../harness/field.ts";
import { progress } from "../harness/progress.ts";
import {
  callsOfGetSignal,
  type Era,
  listOfTools,
  type Question,
  restSignals,
} from "../harness/questions.ts";
import type { Effort, Part, Row } from "../harness/report.ts";
import { type Rounds, takeTurns } from "../harness/rounds.ts";

/** Most of Express's time of the processor, and least of the stock handler's throughput, that a
 *  call may take and must reach. */
const MOST_OF_EXPRESS = 2;
const LEAST_OF_SDK = 4;

/** A request that all compared servers are measured with. */
interface Contest {
  readonly what: string;
  readonly questions: readonly Question[];
  readonly others: readonly BaselineName[];
  /** Whether the budgets are about it; otherwise the service only has to be first. */
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

/** Calls and lists of MCP against Express, the SDK and its peers. */
export async function mcp(effort: Effort): Promise<Part> {
  const questions = [...restSignals(), ...contests.flatMap((one) => one.questions)];
  return among(
    questions,
    ["raw", "bare", "lean", "sdk", "fastmcp", "tmcp"],
    async (field, caller) => {
      const rows: Row[] = [];
      const raw: Record<string, Rounds> = {};
      for (const one of contests) {
        progress(`${one.what}: the service, ${one.others.map((name) => NAMES[name]).join(", ")}`);
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
