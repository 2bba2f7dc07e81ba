import { describe, expect, it } from "vitest";
import { connectMcp } from "../support/mcp.ts";
import { sharedTestService } from "../support/test-service.ts";
import { tokensOf, visibleTokens } from "../support/tokens.ts";

/** Most tokens of the tools that a model sees. */
const MAX_LIST_TOKENS = 3_500;

/** Most tokens of an answer. */
const MAX_ANSWER_TOKENS = 10_000;

const testService = await sharedTestService();
const { base } = testService;
const { access_token: token } = await testService.person().tokens();
const client = await connectMcp(base, token);
const { tools } = await client.listTools();

const symbol = "ALDER.SIM";
const from = "2020-01-01T00:00:00Z";

/** A typical call of each tool that reads, and a large one. */
const calls: readonly (readonly [name: string, typical: object, large: object])[] = [
  ["get_signal", { symbol }, { limit: 500 }],
  ["get_signal", { symbol, from, limit: 20 }, { symbol, from, limit: 500 }],
  ["get_factors", { symbol }, { symbol, include: "candidates" }],
  ["get_darkpool", { symbol }, { symbol, view: "prints", limit: 500 }],
  ["verify_signal", { symbol }, { index: 3 }],
  ["get_track_record", { assetClass: "stock" }, {}],
  ["find_instruments", { query: "ald" }, { limit: 500 }],
  ["list_alerts", {}, { limit: 100 }],
  ["get_alert_events", {}, { limit: 100 }],
];

const answerTokens = async (name: string, given: object): Promise<number> => {
  const { structuredContent } = await client.callTool({ name, arguments: { ...given } });
  return tokensOf(structuredContent);
};

describe("what a model has to read", () => {
  it("of the list of tools stays small, because every conversation pays for it", () => {
    const rows = tools.map((tool) => `${tool.name}: ${visibleTokens([tool])}`);
    process.stdout.write(`tokens of tools/list: ${visibleTokens(tools)} (${rows.join(", ")})\n`);
    expect(visibleTokens(tools)).toBeLessThanOrEqual(MAX_LIST_TOKENS);
  });

  it.each(calls)("of %s is counted: %j and %j", async (name, typical, large) => {
    const [one, most] = [await answerTokens(name, typical), await answerTokens(name, large)];
    process.stdout.write(`tokens of ${name}: ${one} typical, ${most} large\n`);
    expect(Math.max(one, most)).toBeLessThan(MAX_ANSWER_TOKENS);
  });
});
