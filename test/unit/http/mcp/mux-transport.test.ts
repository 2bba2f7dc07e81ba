import {
  type AuthInfo,
  type JSONRPCRequest,
  McpServer,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { MuxTransport } from "../../../../src/http/mcp/mux-transport.ts";
import { LATEST_PROTOCOL_REVISION, mcpProtocol } from "../../../../src/http/mcp/protocol.ts";

const META = {
  "io.modelcontextprotocol/protocolVersion": LATEST_PROTOCOL_REVISION,
  "io.modelcontextprotocol/clientCapabilities": {},
};

const by = (clientId: string): AuthInfo => ({ token: "", clientId, scopes: [] });

/** Starts a server with tools that respond on command, throw, or violate their output schema. */
async function start(era: "modern" | "legacy") {
  const reported: Error[] = [];
  const begun: { readonly who: string; readonly finish: () => void }[] = [];
  const server = new McpServer(
    { name: "test", version: "1" },
    era === "modern" ? { supportedProtocolVersions: [LATEST_PROTOCOL_REVISION] } : {},
  );
  server.server.onerror = (error) => reported.push(error);
  server.registerTool("who", { description: "Waits." }, async ({ http }) => {
    const who = http?.authInfo?.clientId ?? "nobody";
    await new Promise<void>((finish) => begun.push({ who, finish }));
    return { content: [{ type: "text", text: who }] };
  });
  server.registerTool("broken", { description: "Throws." }, () => {
    throw new Error("broken");
  });
  server.registerTool(
    "wrong",
    { description: "Lies.", outputSchema: z.object({ score: z.number() }) },
    () => ({ content: [], structuredContent: { score: "high" } as never }),
  );
  server.registerPrompt("broken", { description: "Throws." }, () => {
    throw new Error("broken");
  });
  const transport = new MuxTransport(era, server.server);
  await server.connect(transport);
  const call = (name: string, id: string | number, more: Partial<JSONRPCRequest> = {}) => ({
    ...{ jsonrpc: "2.0" as const, id, method: "tools/call" },
    params: { name, ...(era === "modern" && { _meta: META }) },
    ...more,
  });
  /** Yields one turn of the event loop so that pending work can proceed. */
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { server, transport, call, begun, reported, settled };
}

describe.each(["modern", "legacy"] as const)(
  "one MCP server for many callers, in the %s era",
  (era) => {
    it("answers each call with its own id and for its own caller, in any order", async () => {
      const { transport, call, begun, settled } = await start(era);
      const asked = ["ann", "bob", "cid"].map((who) => transport.dispatch(call("who", 1), by(who)));
      await settled();
      expect(transport.pendingCount).toBe(3);
      for (const { finish } of begun.toReversed()) finish();
      const answers = await Promise.all(asked);
      expect(answers).toMatchObject(
        ["ann", "bob", "cid"].map((text) => ({ id: 1, result: { content: [{ text }] } })),
      );
      expect(transport.pendingCount).toBe(0);
    });

    it("supports ids that are strings or 0", async () => {
      const { transport, call } = await start(era);
      const ids = ["1", 0, ""];
      const asked = ids.map((id) => transport.dispatch(call("broken", id), by("ann")));
      expect((await Promise.all(asked)).map((answer) => answer?.id)).toEqual(ids);
    });

    it("answers calls whose handler throws or violates its output schema", async () => {
      const { transport, call, reported } = await start(era);
      const get = call("broken", 3, { method: "prompts/get" });
      const [thrown, wrong, prompt, unknown] = await Promise.all(
        [call("broken", 1), call("wrong", 2), get, call("unknown", 4)].map((message) =>
          transport.dispatch(message, by("ann")),
        ),
      );
      expect(thrown).toMatchObject({ id: 1, result: { isError: true } });
      expect(wrong).toMatchObject({ id: 2, result: { isError: true } });
      expect(JSON.stringify(wrong)).toContain("Output validation error");
      expect(prompt).toMatchObject({ id: 3, error: { message: "broken" } });
      expect(unknown).toMatchObject({ id: 4, error: { code: -32602 } });
      expect(transport.pendingCount).toBe(0);
      expect(reported).toEqual([]);
    });

    it("leaves a call to the SDK's handler when the server rejects it without running a registered handler", async () => {
      const { transport, call } = await start(era);
      const unknown = call("who", 1, { method: "resources/read" });
      expect(transport.dispatch(unknown, by("ann"))).toBeUndefined();
      expect(transport.pendingCount).toBe(0);
    });

    it("rejects pending calls when it closes, and leaves later calls to the SDK's handler", async () => {
      const { server, transport, call, begun, settled } = await start(era);
      const asked = transport.dispatch(call("who", 1), by("ann"));
      await settled();
      await server.close();
      await expect(asked).rejects.toThrow("closed");
      expect(transport.pendingCount).toBe(0);
      begun[0]?.finish();
      await settled();
      expect(transport.dispatch(call("who", 2), by("bob"))).toBeUndefined();
      expect(transport.pendingCount).toBe(0);
    });

    it("leaves messages to the SDK's handler before a server is connected", () => {
      const message = { jsonrpc: "2.0" as const, id: 1, method: "tools/list" };
      const { server } = new McpServer({ name: "test", version: "1" });
      expect(new MuxTransport(era, server).dispatch(message, by("ann"))).toBeUndefined();
    });

    it("ignores messages from the server that have no recipient", async () => {
      const { transport } = await start(era);
      await transport.send({ jsonrpc: "2.0", method: "notifications/message" });
      await transport.send({ jsonrpc: "2.0", id: 99, result: {} });
      expect(transport.pendingCount).toBe(0);
    });
  },
);

it("the transport leaves a message of the newest revision to the SDK's handler when its envelope is invalid", async () => {
  const { transport, call } = await start("modern");
  const wrong = [{}, { ...META, "io.modelcontextprotocol/clientCapabilities": 4 }];
  for (const _meta of wrong) {
    const message = call("who", 1, { params: { name: "who", _meta } });
    expect(transport.dispatch(message, by("ann"))).toBeUndefined();
  }
  expect(transport.pendingCount).toBe(0);
});

it("the transport advertises every protocol revision that the SDK supports, newest first", () => {
  expect(mcpProtocol.versions).toEqual([LATEST_PROTOCOL_REVISION, ...SUPPORTED_PROTOCOL_VERSIONS]);
});
