import { startCaller } from "../harness/caller.ts";
import { showProgress } from "../harness/progress.ts";
import { ask, callsOfGetSignal, rawCall } from "../harness/questions.ts";
import type { Effort, Part } from "../harness/report.ts";
import { measure, type Round } from "../harness/rounds.ts";
import { startProduct } from "../harness/server.ts";
import { requestTokens } from "../harness/tokens.ts";

/** Numbers of concurrent agents, each with its own token and connection. */
const AGENTS = [1, 10, 100, 1_000];

const MS = 3_000;

/** Measures how MCP calls scale with the number of agents. */
export async function agents({ isQuick }: Effort): Promise<Part> {
  const most = AGENTS.at(-1) ?? 0;
  showProgress(`Registering ${most.toLocaleString("en")} agents`);
  const server = await startProduct();
  const caller = startCaller();
  try {
    const tokens = await requestTokens(server, most);
    const questions = callsOfGetSignal("modern");
    const calls = [];
    for (const [at, token] of tokens.entries()) {
      const question = questions[at % questions.length];
      if (question === undefined) continue;
      const expected = await ask(server, question, token);
      calls.push(await rawCall(server, question, { token, expected }));
    }
    const raw: Record<number, Round> = {};
    for (const count of AGENTS) {
      showProgress(`Measuring MCP calls by ${count.toLocaleString("en")} agents`);
      const variant = { name: server.name, servers: [server], calls: calls.slice(0, count) };
      await measure(caller, variant, { callers: count, ms: isQuick ? 1_000 : MS });
      raw[count] = await measure(caller, variant, { callers: count, ms: isQuick ? 1_000 : MS });
    }
    const lines = Object.entries(raw).map(
      ([count, { perSecond, p50, p99, cpuMicros, refused }]) => [
        ...[Number(count), perSecond, p50, p99, cpuMicros, refused],
      ],
    );
    const columns = [
      "concurrent agents",
      "calls a second",
      "p50 ms",
      "p99 ms",
      "us of CPU per call",
      "refused",
    ];
    return { curves: [{ title: "MCP tools/call get_signal, modern era", columns, lines }], raw };
  } finally {
    caller.stop();
    await server.stop();
  }
}
