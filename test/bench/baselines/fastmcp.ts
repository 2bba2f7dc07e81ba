import { FastMCP } from "fastmcp";
import { freePort } from "../../support/free-port.ts";
import { type Answers, fixedTools } from "./answers.ts";
import type { Bearer } from "./bearer.ts";

/**
 * fastmcp in stateless mode, on its bundled HTTP server. It supports only the older revisions of
 * MCP.
 */
export async function startFastmcp(answers: Answers, bearer: Bearer): Promise<string> {
  const server = new FastMCP({
    ...{ name: "bench", version: "1.0.0" as const, logger: silent },
    async authenticate(request) {
      if (await bearer.isGood(request)) return {};
      throw new Response(null, { status: 401 });
    },
  });
  for (const { name, description, input, output, answer } of fixedTools(answers)) {
    server.addTool({
      ...{ name, description, parameters: input, outputSchema: output },
      execute: async (given: object) => {
        const structuredContent = answer(given);
        const text = JSON.stringify(structuredContent);
        return { structuredContent, content: [{ type: "text", text }] };
      },
    });
  }
  const port = Number(await freePort());
  await server.start({
    transportType: "httpStream",
    httpStream: {
      ...{ port, host: "127.0.0.1", endpoint: "/mcp" },
      ...{ stateless: true, enableJsonResponse: true },
    },
  });
  return `http://127.0.0.1:${port}`;
}

/**
 * Logger that discards all output, because standard output is reserved for the line with the base
 * URL.
 */
const silent = { debug() {}, error() {}, info() {}, log() {}, warn() {} };
