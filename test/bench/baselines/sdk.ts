import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import express from "express";
import { type Answers, fixedTools } from "./answers.ts";
import { type Bearer, listen } from "./bearer.ts";
import { requireValidBearer } from "./express.ts";

/** The SDK's own handler in Express, set up as the SDK's documentation shows. */
export function startSdk(answers: Answers, bearer: Bearer): Promise<string> {
  const handler = toNodeHandler(createMcpHandler(() => serverWith(answers)));
  const app = express();
  app.post("/mcp", requireValidBearer(bearer), express.json(), (req, res) =>
    handler(req, res, req.body),
  );
  return listen(createServer(app));
}

function serverWith(answers: Answers): McpServer {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  for (const { name, title, description, input, output, answer } of fixedTools(answers)) {
    const definition = { title, description, inputSchema: input, outputSchema: output };
    server.registerTool(name, definition, (given: object) => {
      const structuredContent = answer(given);
      const text = JSON.stringify(structuredContent);
      return { structuredContent, content: [{ type: "text", text }] };
    });
  }
  return server;
}
