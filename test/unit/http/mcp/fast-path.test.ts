import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { isJSONRPCRequest, McpServer, type ProtocolEra } from "@modelcontextprotocol/server";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createFastPath,
  fastPathRequestOf,
  type ReceivedMessage,
} from "../../../../src/http/mcp/fast-path.ts";
import { resultJson, toolResult } from "../../../../src/http/mcp/tool-result-json.ts";
import { jsonSchema } from "../../../../src/lib/json-schema.ts";
import { tools } from "../../../../tools/index.ts";
import { listenLocally } from "../../../support/local-server.ts";

const VERSION = "io.modelcontextprotocol/protocolVersion";
const META = { [VERSION]: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
const ACCEPT = "application/json, text/event-stream";
const names = { "tools/call": new Set(["get"]) };

const modern = {
  headers: {
    "content-type": "application/json",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "get",
  },
  body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "get", _meta: META } },
};
const legacy = {
  headers: { "content-type": "application/json", accept: ACCEPT },
  body: { jsonrpc: "2.0", id: "a", method: "tools/call", params: { name: "get" } },
};

interface Change {
  readonly headers?: object;
  readonly body?: object;
  readonly params?: object;
  readonly meta?: object;
}

/** Applies changes to a request. */
const changed = (
  { headers, body }: { readonly headers: object; readonly body: { readonly params: object } },
  change: Change,
): ReceivedMessage => {
  const { _meta } = body.params as { readonly _meta?: object };
  const meta = change.meta && { _meta: { ..._meta, ...change.meta } };
  return {
    headers: { ...headers, ...change.headers },
    body: { ...body, params: { ...body.params, ...change.params, ...meta }, ...change.body },
  };
};

describe("the fast path for MCP requests", () => {
  it("handles requests of the modern and the legacy protocol era", () => {
    expect(fastPathRequestOf(modern, names)).toEqual({ era: "modern", message: modern.body });
    expect(fastPathRequestOf(legacy, names)).toEqual({ era: "legacy", message: legacy.body });
  });

  it.each<[string, Change]>([
    ["a string as the id", { body: { id: "x" } }],
    [
      "a character set in the content type",
      { headers: { "content-type": "application/json; charset=UTF-8" } },
    ],
    [
      "client information",
      { meta: { "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" } } },
    ],
    [
      "a traceparent",
      { meta: { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" } },
    ],
    ["arguments", { params: { arguments: { a: 1 } } }],
  ])("handles requests with %s", (_what, change) => {
    expect(fastPathRequestOf(changed(modern, change), names)).toBeDefined();
  });

  it.each<[string, string | undefined]>([
    ["both JSON and event streams", "text/event-stream, application/json"],
    ["any type", "*/*"],
    ["nothing", undefined],
  ])("handles requests of older revisions whose Accept header contains %s", (_what, accept) => {
    expect(fastPathRequestOf(changed(legacy, { headers: { accept } }), names)).toBeDefined();
  });

  const odd: readonly (readonly [string, Change])[] = [
    ["no id", { body: { id: undefined } }],
    ["a fraction as the id", { body: { id: 1.5 } }],
    ["an id above the safe integers", { body: { id: 2 ** 53 } }],
    ["null as the id", { body: { id: null } }],
    ["another version of JSON-RPC", { body: { jsonrpc: "1.0" } }],
    ["a member that JSON-RPC does not define", { body: { more: 1 } }],
    ["a method whose answer is a stream", { body: { method: "subscriptions/listen" } }],
    ["the method initialize", { body: { method: "initialize" } }],
    ["a notification", { body: { method: "notifications/cancelled", id: undefined } }],
    ["an unknown tool", { params: { name: "other" } }],
    ["no tool name", { params: { name: undefined } }],
    ["a progress token", { meta: { progressToken: 1 } }],
    ["a log level", { meta: { "io.modelcontextprotocol/logLevel": "info" } }],
    ["a related task", { meta: { "io.modelcontextprotocol/related-task": {} } }],
    ["input responses", { params: { inputResponses: {} } }],
    ["a request state", { params: { requestState: "x" } }],
    ["a task", { params: { task: {} } }],
    ["parameters in an array", { body: { params: [] } }],
    ["an unusual content type parameter", { headers: { "content-type": "application/json; a=b" } }],
    ["no content type", { headers: { "content-type": undefined } }],
  ];
  it.each(odd)("leaves requests with %s to the SDK's handler", (_what, change) => {
    expect(fastPathRequestOf(changed(modern, change), names)).toBeUndefined();
    expect(fastPathRequestOf(changed(legacy, change), names)).toBeUndefined();
  });

  it.each<[string, Change]>([
    ["no MCP-Protocol-Version header", { headers: { "mcp-protocol-version": undefined } }],
    ["another revision in the header", { headers: { "mcp-protocol-version": "2025-11-25" } }],
    ["another revision in the message", { meta: { [VERSION]: "2025-11-25" } }],
    ["a revision in the message that is not a string", { meta: { [VERSION]: null } }],
    ["no Mcp-Method header", { headers: { "mcp-method": undefined } }],
    ["another method in the Mcp-Method header", { headers: { "mcp-method": "tools/list" } }],
    ["no Mcp-Name header", { headers: { "mcp-name": undefined } }],
    ["another name in the Mcp-Name header", { headers: { "mcp-name": "got" } }],
    ["two names in the Mcp-Name header", { headers: { "mcp-name": "get, get" } }],
    ["an encoded name in the Mcp-Name header", { headers: { "mcp-name": "=?base64?Z2V0?=" } }],
  ])("leaves requests of the newest revision with %s to the SDK's handler", (_what, change) => {
    expect(fastPathRequestOf(changed(modern, change), names)).toBeUndefined();
  });

  it.each(["=?base64?Zm9v?=", "two words", "größe", ""])(
    "leaves a request to the SDK's handler when its resource URI cannot be sent in a header: %o",
    (uri) => {
      const body = { method: "resources/read", params: { uri, _meta: META } };
      const headers = { "mcp-method": "resources/read", "mcp-name": uri };
      expect(fastPathRequestOf(changed(modern, { headers, body }), names)).toBeUndefined();
    },
  );

  it.each<[string, Change]>([
    ["an unknown revision in the header", { headers: { "mcp-protocol-version": "2024-01-01" } }],
    [
      "the newest revision in the header but not in the message",
      { headers: { "mcp-protocol-version": "2026-07-28" } },
    ],
    ["an Accept header without event streams", { headers: { accept: "application/json" } }],
    ["an Accept header without JSON", { headers: { accept: "text/event-stream" } }],
  ])("leaves requests of older revisions with %s to the SDK's handler", (_what, change) => {
    expect(fastPathRequestOf(changed(legacy, change), names)).toBeUndefined();
  });

  it.each([[[legacy.body]], [null], ["x"], [1], [{}]])(
    "leaves the body %o to the SDK's handler",
    (body) => {
      expect(fastPathRequestOf({ ...legacy, body }, names)).toBeUndefined();
    },
  );
});

/**
 * The SDK's handler compares arguments marked `x-mcp-header` with headers, and the fast path does
 * not.
 */
it("the fast path is correct for every tool, since no tool has arguments that are also sent as headers", () => {
  for (const { input } of tools)
    expect(JSON.stringify(jsonSchema(input, "input"))).not.toContain("x-mcp-header");
});

/** Starts a server that only uses the fast path, with a tool that waits for the test. */
async function serve() {
  const begun: PromiseWithResolvers<void>[] = [];
  const newServer = ({ era }: { readonly era: ProtocolEra }) => {
    const versions = era === "modern" ? { supportedProtocolVersions: ["2026-07-28"] } : {};
    const server = new McpServer({ name: "test", version: "1" }, versions);
    server.registerTool("get", { description: "Waits.", inputSchema: z.object({}) }, async () => {
      const waiting = Promise.withResolvers<void>();
      begun.push(waiting);
      await waiting.promise;
      return { content: [] };
    });
    return server;
  };
  const reported: unknown[] = [];
  const answer = createFastPath({ newServer, onReport: (error) => reported.push(error) });
  const written: Promise<void>[] = [];
  const server = createServer(async (req: IncomingMessage, res: ServerResponse) => {
    const body = JSON.parse(Buffer.concat(await req.toArray()).toString());
    res.once("close", () => server.emit("left"));
    const auth = { token: "", clientId: "ann", scopes: [] };
    const usual = fastPathRequestOf({ headers: req.headers, body }, names);
    const answering = usual && answer(usual, auth);
    written.push((async () => (await answering)?.(res))());
    server.emit("taken");
  });
  const url = await listenLocally(server);
  afterAll(() => server.close());
  return { server, url, begun, written, reported };
}

it("the fast path tolerates a caller that disconnects before the response, and answers the next caller", async () => {
  const { server, url, begun, written, reported } = await serve();
  const send = () => {
    const sent = request(url, { method: "POST", headers: legacy.headers });
    sent.on("error", () => {});
    sent.end(JSON.stringify(legacy.body));
    return sent;
  };
  const [left] = [send(), await once(server, "taken")];
  await new Promise((resolve) => setImmediate(resolve));
  const gone = once(server, "left");
  left.destroy();
  await gone;
  begun[0]?.resolve();
  await expect(written[0]).resolves.toBeUndefined();

  const next = send();
  await once(server, "taken");
  await new Promise((resolve) => setImmediate(resolve));
  begun[1]?.resolve();
  const [answer] = (await once(next, "response")) as [IncomingMessage];
  expect(answer.statusCode).toBe(200);
  expect(Buffer.concat(await answer.toArray()).toString()).toContain('"id":"a"');
  expect(reported).toEqual([]);
});

it("the fast path handles only messages that the SDK treats as requests, since other messages get no response", () => {
  const values = fc.jsonValue({ maxDepth: 2 });
  const some = (usual: unknown) => fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, values);
  const requests = fc.record(
    {
      jsonrpc: some("2.0"),
      id: some(1),
      method: some("tools/list"),
      params: fc.oneof(
        {
          weight: 3,
          arbitrary: fc.record({ _meta: some({}), cursor: values }, { requiredKeys: [] }),
        },
        values,
      ),
      more: values,
    },
    { requiredKeys: ["jsonrpc", "id", "method"] },
  );
  const isUsual = (body: unknown) => fastPathRequestOf({ ...legacy, body }, names) !== undefined;
  const seen = { usual: 0, odd: 0 };
  fc.assert(
    fc.property(requests, (body) => {
      seen[isUsual(body) ? "usual" : "odd"]++;
      return !isUsual(body) || isJSONRPCRequest(body);
    }),
    { seed: 9, numRuns: 2_000 },
  );
  expect(seen.usual).toBeGreaterThan(100);
  expect(seen.odd).toBeGreaterThan(200);
});

describe("the JSON of an MCP response", () => {
  const value = { symbol: 'A"B', score: 1, text: "\u2028\n" };
  const result = toolResult(value, JSON.stringify(value));
  const response = (given: object) => ({
    jsonrpc: "2.0" as const,
    id: 'x"1',
    result: { ...given },
  });

  it.each<[string, object]>([
    ["a tool's result", result],
    [
      "a tool's result with additional members",
      { ...result, resultType: "complete", _meta: { a: 1 } },
    ],
    ["a result that is not a tool's result", { tools: [] }],
    ["a tool's result with changed text content", { ...result, content: [] }],
    [
      "a tool's result with changed structured content",
      { ...result, structuredContent: { ...value, score: 2 } },
    ],
    ["a tool's error", { isError: true, content: [{ type: "text", text: "no" }] }],
  ])("equals the SDK's JSON for %s", (_what, given) => {
    expect(JSON.parse(resultJson(response(given)))).toEqual(response(given));
  });

  it("equals the SDK's JSON for an error", () => {
    const failure = { jsonrpc: "2.0" as const, id: 1, error: { code: -32602, message: "no" } };
    expect(JSON.parse(resultJson(failure))).toEqual(failure);
  });
});
