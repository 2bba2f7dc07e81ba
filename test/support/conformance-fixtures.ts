import {
  completable,
  fromJsonSchema,
  type McpServer,
  ResourceTemplate,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { McpExtension } from "../../src/http/mcp/server-factory.ts";
import { codec, registerRounds } from "./conformance-rounds.ts";

/** A PNG with one pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
/** A WAV file without samples. */
const WAV = Buffer.concat([
  Buffer.from("RIFF$\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0", "latin1"),
  Buffer.from("\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\0\0\0\0", "latin1"),
]).toString("base64");

const text = (words: string) => ({ type: "text" as const, text: words });
const image = { type: "image" as const, data: PNG, mimeType: "image/png" };
const embedded = (uri: string, mimeType: string, words: string) => ({
  type: "resource" as const,
  resource: { uri, mimeType, text: words },
});

/**
 * Tools, resources and prompts that the MCP conformance kit requires by name, as the kit describes
 * them; the product itself does not need them.
 */
export const fixtures: McpExtension = {
  options: { requestState: { verify: codec.verify } },
  register(server) {
    server.server.registerCapabilities({ logging: {} });
    registerContents(server);
    registerSchemas(server);
    registerNotices(server);
    registerRounds(server);
    registerResources(server);
    registerPrompts(server);
  },
};

/** Registers tools that answer with each kind of content. */
function registerContents(server: McpServer): void {
  const contents = {
    test_simple_text: [text("This is a simple text response for testing.")],
    test_image_content: [image],
    test_audio_content: [{ type: "audio" as const, data: WAV, mimeType: "audio/wav" }],
    test_embedded_resource: [
      embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."),
    ],
    test_multiple_content_types: [
      text("Multiple content types test:"),
      image,
      embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
    test_streaming_elicitation: [text("No question was asked.")],
  };
  for (const [name, content] of Object.entries(contents)) {
    server.registerTool(name, { description: "Answers with fixed content." }, () => ({ content }));
  }
  server.registerTool("test_error_handling", { description: "Fails." }, () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
}

/** Registers tools with unusual input schemas. */
function registerSchemas(server: McpServer): void {
  const answer = () => ({ content: [text("ok")] });
  const region = { type: "string" as const, "x-mcp-header": "Region" };
  server.registerTool(
    "json_schema_2020_12_tool",
    {
      description: "Has a schema with the vocabulary of 2020-12.",
      inputSchema: fromJsonSchema({
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        $defs: {
          address: {
            $anchor: "addressDef",
            type: "object",
            properties: { street: { type: "string" }, city: { type: "string" } },
          },
        },
        properties: {
          name: { type: "string" },
          address: { $ref: "#/$defs/address" },
          contactMethod: { type: "string", enum: ["phone", "email"] },
          phone: { type: "string" },
          email: { type: "string" },
        },
        allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
        if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { required: ["phone"] },
        else: { required: ["email"] },
        additionalProperties: false,
      }),
    },
    answer,
  );
  server.registerTool(
    "test_header_parameter",
    {
      description: "Takes an argument that is also sent as a header.",
      inputSchema: fromJsonSchema({ type: "object", properties: { region } }),
    },
    answer,
  );
}

/** Registers tools that send notifications while they run. */
function registerNotices(server: McpServer): void {
  server.registerTool(
    "test_tool_with_progress",
    { description: "Reports progress." },
    async ({ mcpReq }: ServerContext) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
        const params = { progressToken, progress, total: 100 } as never;
        await mcpReq.notify({ method: "notifications/progress", params });
      }
      return { content: [text("Reported.")] };
    },
  );
  const lines = ["Tool execution started", "Tool processing data", "Tool execution completed"];
  for (const name of ["test_tool_with_logging", "test_logging_tool"]) {
    server.registerTool(name, { description: "Logs." }, async ({ mcpReq }: ServerContext) => {
      for (const line of lines) await mcpReq.log("info", line);
      return { content: [text("Logged.")] };
    });
  }
}

function registerResources(server: McpServer): void {
  const of = (mimeType: string) => ({ description: "Never changes.", mimeType });
  server.registerResource("static-text", "test://static-text", of("text/plain"), ({ href }) => ({
    contents: [
      {
        ...{ uri: href, mimeType: "text/plain" },
        text: "This is the content of the static text resource.",
      },
    ],
  }));
  server.registerResource("static-binary", "test://static-binary", of("image/png"), (uri) => ({
    contents: [{ uri: uri.href, mimeType: "image/png", blob: PNG }],
  }));
  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    of("application/json"),
    ({ href: uri }, { id }) => {
      const content = { id, templateTest: true, data: `Data for ID: ${id}` };
      return { contents: [{ uri, mimeType: "application/json", text: JSON.stringify(content) }] };
    },
  );
}

function registerPrompts(server: McpServer): void {
  const said = <T>(...contents: T[]) => ({
    messages: contents.map((content) => ({ role: "user" as const, content })),
  });
  const description = "Says something.";
  server.registerPrompt("test_simple_prompt", { description }, () =>
    said(text("This is a simple prompt for testing.")),
  );
  const arg1 = completable(z.string(), () => ["paris", "park", "party"]);
  server.registerPrompt(
    "test_prompt_with_arguments",
    { description, argsSchema: z.object({ arg1, arg2: z.string() }) },
    (given) => said(text(`Prompt with arguments: arg1='${given.arg1}', arg2='${given.arg2}'`)),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description, argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) =>
      said<ReturnType<typeof embedded> | ReturnType<typeof text>>(
        embedded(resourceUri, "text/plain", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
      ),
  );
  server.registerPrompt("test_prompt_with_image", { description }, () =>
    said<typeof image | ReturnType<typeof text>>(image, text("Please analyze the image above.")),
  );
}
