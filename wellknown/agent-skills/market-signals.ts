import { sh, toolTable, VARIABLES } from "../markdown.ts";
import { paths } from "../paths.ts";
import { marketNotes } from "../site.ts";
import { registerAgent } from "./register-agent.ts";
import type { Skill } from "./skill.ts";
import { skillPath } from "./skill.ts";

/** How to read scores and what is behind them. */
export const marketSignals: Skill = {
  name: "market-signals",
  description:
    "Read composite scores (0 to 100), LONG, SHORT or WAIT signals, their four factors and off-exchange trades of stocks and cryptocurrencies from Market Signal. Use it to verify what is said about an instrument, to compare instruments, or to see how a signal came about.",
  body: ({ baseUrl, market }) => `# Read market signals

${marketNotes[market]} Scores are evidence, not investment advice.

Use the tools of the MCP server at ${baseUrl}${paths.mcp}, or the same by REST. Both need a token: ${baseUrl}${skillPath(registerAgent)}

${toolTable(({ effect, scope }) => effect === undefined && scope !== "alerts:write")}

${VARIABLES} Find the symbol, then ask for it:

${sh(`curl "${baseUrl}/api/instruments?limit=1" \\
  -H "Authorization: Bearer $ACCESS_TOKEN"`)}

Answer: \`200\`.

${sh(`curl "${baseUrl}/api/signals?symbol=$SYMBOL" \\
  -H "Authorization: Bearer $ACCESS_TOKEN"`)}

Answer: \`200\`.

${sh(`curl "${baseUrl}/api/factors?symbol=$SYMBOL" \\
  -H "Authorization: Bearer $ACCESS_TOKEN"`)}

Answer: \`200\`.

Before you rely on an answer:

- \`status\`: \`ok\`, \`partial\` (a factor is missing), \`stale\` or \`insufficient_data\`; \`missingFactors\` names what is missing.
- \`asOf\` is when it was known, \`market\` where it comes from.
- \`score\` is 0 for bearish, 50 for no view, 100 for bullish. It is no probability: that is \`pOutperform\`, \`null\` where there is none.
- \`confidence\` and \`coverage\` say how much evidence there is, not which way it points.
- An unknown symbol is answered with \`404\` and candidates. Do not guess: ask which is meant.`,
};
