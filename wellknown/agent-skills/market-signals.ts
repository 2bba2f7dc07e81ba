import type { Scope } from "../../src/access/scopes.ts";
import {
  DIRECTION_EVIDENCE_TEXT,
  DIRECTION_LIMITS_TEXT,
  SCORE_CAVEAT,
  SCORE_MEANING,
} from "../../src/answers/meaning.ts";
import { marketNotes, type Site } from "../../src/answers/site.ts";
import { paths, skillPath } from "../../src/lib/paths.ts";
import { isAboutAlerts } from "../../src/tool/tool.ts";
import { isDeniedToUnclaimed, restCommand } from "../calls.ts";
import { COMMAND_VARIABLES_NOTE, toolTable } from "../markdown.ts";
import { registerAgent } from "./register-agent.ts";
import type { Skill } from "./skill.ts";

/** Skill: read scores and their evidence. */
export const marketSignals: Skill = {
  name: "market-signals",
  description: ({ name }) =>
    `Read composite scores (0 to 100), LONG, SHORT or WAIT signals, their four factors and off-exchange trades of stocks and cryptocurrencies from ${name}. Use it to check claims about an instrument, to compare instruments, or to see the reasons for a signal.`,
  body: (site) => `# Read market signals

${marketNotes[site.market]} ${DIRECTION_EVIDENCE_TEXT} ${DIRECTION_LIMITS_TEXT}

Use the tools of the MCP server at ${site.baseUrl}${paths.mcp}, or the same tools over REST. Both need a token: ${site.baseUrl}${skillPath(registerAgent.name)}

${toolTable((tool) => !isAboutAlerts(tool))}

${COMMAND_VARIABLES_NOTE} ${questions(site)}

Before you rely on an answer:

- \`status\`: \`ok\`, \`partial\` (a factor is missing), \`stale\` or \`insufficient_data\`; \`missingFactors\` names what is missing.
- \`asOf\`: only data known at this instant was used; \`market\`: simulated, recorded or live.
- \`score\`: ${SCORE_MEANING} ${SCORE_CAVEAT}
- \`evidence\` is the measured value of directions. \`pOutperform\` is \`null\` unless the whole interval of its measured skill is above 0, and \`pOutperformReason\` says why.
- \`confidence\` and \`coverage\` say how much evidence there is, not which way it points.
- An unknown symbol gets \`404\` with candidates. Do not guess: ask which one is meant.`,
};

/** REST requests for the examples, each with the scope that it requires. */
const requests: readonly (readonly [scope: Scope, path: string])[] = [
  ["signals:read", "/api/instruments?limit=1"],
  ["signals:read", "/api/signals?symbol=$SYMBOL"],
  ["factor:read", "/api/factors?symbol=$SYMBOL"],
  ["darkpool:read", "/api/darkpool?symbol=$SYMBOL"],
];

/**
 * The requests that an unclaimed agent can make, and a note on the scopes that it lacks for the
 * other requests.
 */
function questions(site: Site): string {
  const open = requests.filter(([scope]) => !isDeniedToUnclaimed(scope, site));
  const lacking = [...new Set(requests.map(([scope]) => scope))].filter((s) =>
    isDeniedToUnclaimed(s, site),
  );
  const isListed = !lacking.includes("signals:read");
  return [
    isListed ? "Find the symbol, then request it:" : "Request a symbol that you were given:",
    ...open.map(([, path]) => restCommand(site, path)),
    ...(lacking.length === 0 ? [] : [lackingNote(lacking)]),
  ].join("\n\n");
}

const lackingNote = (lacking: readonly Scope[]): string =>
  `The other tools are rejected until a person has claimed the agent, which then gets \`${lacking.join(" ")}\` as well: over REST with \`403\`, over MCP with \`claim_required\` and what to tell the person.`;
