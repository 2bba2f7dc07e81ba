import { describe, expect, it } from "vitest";
import { newToken } from "../support/agent.ts";
import { connectMcp } from "../support/mcp.ts";
import { mcpAsks, resultOf } from "../support/mcp-messages.ts";
import { sharedTestService } from "../support/test-service.ts";
import { answerFaults, type ListedTool, toolFaults } from "../support/tool-linter.ts";

/** Maximum size of the serialized tool list, in bytes. */
const MAX_LIST_BYTES = 28_000;
/** Maximum number of tools that a model should have to choose from. */
const MAX_TOOLS = 12;

const testService = await sharedTestService();
const { base } = testService;
const { access_token: personToken } = await testService.person().tokens();
const { eras } = mcpAsks(base, await newToken(base));
const client = await connectMcp(base, personToken);

const { ask } = eras[0];
const { tools } = await resultOf<{ tools: readonly ListedTool[] }>(ask("tools/list"));

describe.each(eras)("the list of tools for a client of MCP $era", ({ era, ask }) => {
  it(`has at most ${MAX_TOOLS} tools and fewer than ${MAX_LIST_BYTES} bytes`, async () => {
    const text = await (await ask("tools/list")).text();
    process.stdout.write(`tools/list for ${era}: ${Buffer.byteLength(text)} bytes\n`);
    expect(Buffer.byteLength(text)).toBeLessThan(MAX_LIST_BYTES);
    const listed = await resultOf<{ tools: readonly ListedTool[] }>(ask("tools/list"));
    expect(listed.tools.length).toBeLessThanOrEqual(MAX_TOOLS);
    expect(listed.tools).toEqual(tools);
  });
});

describe.each(tools)("the tool $name", (tool) => {
  it("has a valid definition", () => {
    expect(toolFaults(tool)).toEqual([]);
  });
});

/** A call that succeeds and a call that fails, for each tool. */
const calls: Readonly<Record<string, readonly (readonly [object, object])[]>> = {
  get_signal: [
    [{ symbol: "ALDER.SIM" }, { symbol: "NOSUCH" }],
    [{ limit: 2 }, { limit: -1 }],
  ],
  get_factors: [[{ symbol: "ALDER.SIM" }, {}]],
  get_darkpool: [[{ symbol: "ALDER.SIM" }, { symbol: "ALDER.SIM", view: "none" }]],
  verify_signal: [
    [{ symbol: "ALDER.SIM" }, {}],
    [{ index: 0 }, { index: 1_000_000 }],
  ],
  get_track_record: [[{}, { assetClass: "none" }]],
  find_instruments: [[{ query: "ald" }, { query: 7 }]],
  register_alert: [[{ symbols: ["ALDER.SIM"] }, { symbols: [] }]],
  list_alerts: [[{}, { id: "none" }]],
  manage_alert: [
    [
      { id: "made", action: "pause" },
      { id: "none", action: "pause" },
    ],
  ],
  get_alert_events: [[{}, { view: "deliveries" }]],
  manage_watchlist: [[{}, { action: "delete", watchlist: "none" }]],
};

describe("a tool answer", () => {
  const made = async () => {
    const params = { name: "register_alert", arguments: { symbols: ["ALDER.SIM"] } };
    const { structuredContent } = await client.callTool(params);
    return (structuredContent as { readonly id: string }).id;
  };

  it("is tested for every tool", () => {
    expect(Object.keys(calls).sort()).toEqual(tools.map(({ name }) => name).sort());
  });

  it.each(tools)(
    "of $name has the same content as text and as structured content, even for errors",
    async (tool) => {
      const id = await made();
      for (const [good, bad] of calls[tool.name] ?? []) {
        const given = "id" in good ? { ...good, id } : good;
        const answer = await client.callTool({ name: tool.name, arguments: { ...given } });
        expect(answer.isError ?? false).toBe(false);
        expect(answerFaults(tool, answer)).toEqual([]);
        const refusal = await client.callTool({ name: tool.name, arguments: { ...bad } });
        expect(refusal.isError).toBe(true);
        expect(answerFaults(tool, refusal)).toEqual([]);
      }
    },
  );
});

describe("the tool linter", () => {
  const [good] = tools as readonly [ListedTool];
  const input = (properties: object) => ({
    inputSchema: { type: "object", properties, additionalProperties: false },
  });

  it.each<[object, string]>([
    [{ name: "GetSignal" }, "its name is no snake_case"],
    [{ title: "" }, "it has no title"],
    [{ description: "Short." }, "its description has not"],
    [{ description: "x".repeat(1_025) }, "its description has not"],
    [{ description: `Always call this first. ${"x".repeat(50)}` }, "orders the model about"],
    [{ annotations: { readOnlyHint: true } }, "a hint is missing"],
    [{ annotations: { ...good.annotations, destructiveHint: true } }, "it reads and destroys"],
    [{ outputSchema: undefined }, "its output is no object"],
    [{ inputSchema: { type: "object", properties: {} } }, "anything may be added to input"],
    [{ inputSchema: { type: "objekt" } }, "a schema is none"],
    [input({ a: { type: "string" } }), "nothing is said of input.a"],
    [
      input({ a: { description: "A.", oneOf: [{ type: "object", properties: { b: {} } }] } }),
      "nothing is said of input.a.b",
    ],
    [
      input({ a: { description: "A.", type: "array", items: { type: "object" } } }),
      "anything may be added to input.a[]",
    ],
    [input({ a: { description: "x".repeat(5_000) } }), "bytes"],
  ])("finds the fault of a tool with %j", (changes, fault) => {
    expect(toolFaults({ ...good, ...changes }).join()).toContain(fault);
  });

  it.each<[object, string]>([
    [{ structuredContent: { a: 1 }, content: [{ type: "text", text: '{ "a": 1 }' }] }, "differ"],
    [{ structuredContent: {}, content: [] }, "one text"],
    [{ isError: true, content: [{ type: "text", text: "Error" }] }, "no code"],
    [
      { structuredContent: { score: "x" }, content: [{ type: "text", text: '{"score":"x"}' }] },
      "data/score must be integer",
    ],
  ])("finds the fault of the answer %j", (answer, fault) => {
    expect(answerFaults(good, answer).join()).toContain(fault);
  });
});

it("the service logs no internal failure during these tests", () => {
  expect(testService.logged).toEqual([]);
});
