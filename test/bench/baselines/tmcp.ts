import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";
import { HttpTransport } from "@tmcp/transport-http";
import { McpServer } from "tmcp";
import { z } from "zod";
import { type Answers, fixedTools } from "./answers.ts";
import { type Bearer, listen } from "./bearer.ts";

/**
 * The adapter of tmcp fails on input schemas with transforms, so this adapter publishes the schema
 * of the input before the transform.
 */
class InputAdapter extends ZodJsonSchemaAdapter {
  override async toJsonSchema(schema: z.ZodType) {
    return z.toJSONSchema(schema, { target: "draft-7", io: "input" }) as Awaited<
      ReturnType<ZodJsonSchemaAdapter["toJsonSchema"]>
    >;
  }
}

/** tmcp on a node:http server. */
export function startTmcp(answers: Answers, bearer: Bearer): Promise<string> {
  const server = new McpServer(
    { name: "bench", version: "1.0.0", description: "Bench" },
    { adapter: new InputAdapter(), capabilities: { tools: {} } },
  );
  for (const { name, title, description, input, output, answer } of fixedTools(answers)) {
    server.tool({ name, title, description, schema: input, outputSchema: output }, (given) => {
      const structuredContent = answer(given);
      const text = JSON.stringify(structuredContent);
      return { structuredContent, content: [{ type: "text", text }] };
    });
  }
  const transport = new HttpTransport(server, { path: "/mcp" });
  const refused = new Response(null, { status: 404 });
  const answerTo = toNodeHandler({
    fetch: async (request) => (await transport.respond(request)) ?? refused,
  });
  return listen(
    createServer(async (req, res) => {
      if (await bearer.isGood(req)) await answerTo(req as Parameters<typeof answerTo>[0], res);
      else res.writeHead(401).end();
    }),
  );
}
