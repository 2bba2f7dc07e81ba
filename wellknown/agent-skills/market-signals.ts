import { DIRECTION_WORTH, SCORE_IS, SCORE_IS_NOT } from "../../src/answers/meaning.ts";
import type { Scope } from "../../src/auth/scopes.ts";
import { isDeniedToUnclaimed, restCall } from "../calls.ts";
import { toolTable, VARIABLES } from "../markdown.ts";
import { paths } from "../paths.ts";
import { marketNotes, type Site } from "../site.ts";
import { registerAgent } from "./register-agent.ts";
import { type Skill, skillPath } from "./skill.ts";

/** How to read scores and what is behind them. */
export const marketSignals: Skill = {
  name: "market-signals",
  description: ({ name }) =>
    `Read composite scores (0 to 100), LONG, SHORT or WAIT signals, their four factors and off-exchange trades of stocks and cryptocurrencies from ${name}. Use it to verify what is said about an instrument, to compare instruments, or to see how a signal came about.`,
  body: (site) => `# Read market signals

${marketNotes[site.market]} ${DIRECTION_WORTH}

Use the tools of the MCP server at ${site.baseUrl}${paths.mcp}, or the same by REST. Both need a token: ${site.baseUrl}${skillPath(registerAgent)}

${toolTable(({ scopes }) => !scopes.includes("alerts:write"))}

${VARIABLES} ${questions(site)}

Before you rely on an answer:

- \`status\`: \`ok\`, \`partial\` (a factor is missing), \`stale\` or \`insufficient_data\`; \`missingFactors\` names what is missing.
- \`asOf\` is when it was known, \`market\` where it comes from.
- \`score\`: ${SCORE_IS} ${SCORE_IS_NOT}
- \`evidence\` says what directions were worth, as measured. \`pOutperform\` is \`null\` unless its measured skill is above 0, and \`pOutperformReason\` says why.
- \`confidence\` and \`coverage\` say how much evidence there is, not which way it points.
- An unknown symbol is answered with \`404\` and candidates. Do not guess: ask which is meant.`,
};

/** REST requests, with the scope that each needs. */
const requests: readonly (readonly [scope: Scope, path: string])[] = [
  ["signals:read", "/api/instruments?limit=1"],
  ["signals:read", "/api/signals?symbol=$SYMBOL"],
  ["factor:read", "/api/factors?symbol=$SYMBOL"],
  ["darkpool:read", "/api/darkpool?symbol=$SYMBOL"],
];

/** The requests an agent can make, and the scopes it lacks for the others. */
function questions(site: Site): string {
  const open = requests.filter(([scope]) => !isDeniedToUnclaimed(scope, site));
  const lacking = [...new Set(requests.map(([scope]) => scope))].filter((s) =>
    isDeniedToUnclaimed(s, site),
  );
  const isListed = !lacking.includes("signals:read");
  return [
    isListed ? "Find the symbol, then ask for it:" : "Ask for a symbol that you were told:",
    ...open.map(([, path]) => restCall(site, path)),
    ...(lacking.length === 0 ? [] : [lackingNote(lacking)]),
  ].join("\n\n");
}

const lackingNote = (lacking: readonly Scope[]): string =>
  `The other tools are refused with \`403\` until a person has claimed the agent, who then gets \`${lacking.join(" ")}\` as well.`;
