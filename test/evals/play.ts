import { parseArgs } from "node:util";

/** Usage text of the program. */
const USAGE = `Plays the tasks from a command line: whoever reads the output is the player.

  node test/evals/play.ts serve [--port 4750] [--out report.json]
  node test/evals/play.ts tools TASK            prints the question and the tools, as an MCP client shows them
  node test/evals/play.ts call TASK TOOL JSON   calls a tool as the agent of the task
  node test/evals/play.ts person TASK TEXT      sends the person a message, and prints their reply
  node test/evals/play.ts answer TASK TEXT      gives the answer, which is possible only once
  node test/evals/play.ts report [--json]       prints which tasks were solved

TASK is a number from 1. All commands except serve connect to a running serve at --port. The exit
code is 1 when a tool answers with an error, and 2 when a command is invalid.
`;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    port: { type: "string", default: "4750" },
    out: { type: "string" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  },
});
const [command = "", task = "", ...rest] = positionals;

if (values.help || command === "") {
  process.stdout.write(USAGE);
  process.exitCode = values.help ? 0 : 2;
} else if (command === "serve") {
  const { serveRounds } = await import("./play-server.ts");
  await serveRounds({ port: Number(values.port), out: values.out });
} else {
  const response = await ask().catch(() => undefined);
  const text = await response?.text();
  process.stdout.write(`${text ?? `Nothing listens on port ${values.port}: serve first.`}\n`);
  process.exitCode = { 200: 0, 422: 1 }[response?.status ?? 0] ?? 2;
}

function ask(): Promise<Response> {
  return fetch(`http://127.0.0.1:${values.port}/${encodeURIComponent(command)}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ task: Number(task), rest, isJson: values.json }),
  });
}
