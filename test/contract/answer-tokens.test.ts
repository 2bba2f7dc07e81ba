import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { connectMcp } from "../support/mcp.ts";
import { sharedTestService } from "../support/test-service.ts";
import { tokensOf, visibleTokens } from "../support/tokens.ts";

/** Most tokens of the tools that a model sees. */
const MAX_LIST_TOKENS = 3_500;

/** Most tokens of an answer. */
const MAX_ANSWER_TOKENS = 10_000;

/** Most tokens of a typical answer. */
const MAX_TYPICAL: Readonly<Record<string, number>> = { get_signal: 350, get_factors: 600 };

/** Most tokens of a session in a history, where sessions have dates. */
const MAX_ROW_TOKENS = 15;

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
  ["get_signal", { limit: 5 }, { symbol, from, limit: 500 }],
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
    expect(one).toBeLessThanOrEqual(MAX_TYPICAL[name] ?? MAX_ANSWER_TOKENS);
    expect(Math.max(one, most)).toBeLessThan(MAX_ANSWER_TOKENS);
  });
});

it("a session of a history costs at most 15 tokens, with its date, score and price", () => {
  const days = Array.from(
    { length: 500 },
    (_, day) => new Date(1_400_000_000_000 + day * 86_400_000),
  );
  const session = days.map((day) => day.toISOString().slice(0, 10));
  const score = days.map((_, day) => (day * 37) % 100);
  const price = days.map((_, day) => Number((90 + ((day * 7919) % 4_000) / 100).toFixed(2)));
  expect(tokensOf({ session, score, price }) / days.length).toBeLessThan(MAX_ROW_TOKENS);
});

/** Texts that mean something to a tool, by the name of the member. */
const texts: Readonly<Record<string, readonly string[]>> = {
  symbol: ["ALDER.SIM", "BYTEN.SIM", "DRIMO-USD.SIM", "NOBODY"],
  query: ["", "a", "nothing"],
  sector: ["Technology", "Energy", "none"],
  cursor: [],
  knownCheckpoint: ["0:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="],
};

/** Instants and dates of the sandbox. */
const INSTANTS = ["2026-11-20", "2026-11-21T01:00:00Z", "2026-11-21T04:40:00Z"];

interface Property {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
}

/** Values that a member of an input can have: the largest list, both ends of a range, every choice. */
function valuesOf(name: string, property: Property): fc.Arbitrary<unknown> {
  const { type, enum: choices, const: only, minimum = 0, maximum = 1_000_000 } = property;
  if (only !== undefined) return fc.constant(only);
  if (choices !== undefined) return fc.constantFrom(...choices);
  if (type === "array") {
    const symbols = listedSymbols.slice(0, property.maxItems);
    return fc.constantFrom(symbols, [...symbols.slice(0, 20), ...Array(30).fill("NOBODY")]);
  }
  if (type === "number" || type === "integer") return fc.constantFrom(minimum, maximum, maximum);
  return fc.constantFrom(...(texts[name] ?? INSTANTS), undefined);
}

const listedSymbols = testService.service.market.instruments().map(({ symbol }) => symbol);

/** Tools that answer about the market, whose answers grow with it. */
const reading = tools.filter(({ annotations }) => annotations?.readOnlyHint);

describe("an answer to any legal call", () => {
  it.each(reading)("of $name stays under 10,000 tokens", async ({ name, inputSchema }) => {
    const { properties = {}, required = [] } = inputSchema as {
      readonly properties?: Readonly<Record<string, Property>>;
      readonly required?: readonly string[];
    };
    const members = Object.entries(properties).map(
      ([member, property]) => [member, valuesOf(member, property)] as const,
    );
    const input = fc.record(Object.fromEntries(members), { requiredKeys: [...required] });
    // Few members at once, since many exclude each other.
    const some = fc
      .tuple(
        input,
        fc.subarray(Object.keys(properties), { maxLength: Math.min(4, members.length) }),
      )
      .map(([all, kept]) =>
        Object.fromEntries(
          Object.entries(all).filter(
            ([member, value]) =>
              value !== undefined && (kept.includes(member) || required.includes(member)),
          ),
        ),
      );
    let answered = 0;
    const property = fc.asyncProperty(some, async (given) => {
      const answer = await client.callTool({ name, arguments: given });
      if (!answer.isError) answered++;
      expect(tokensOf(answer.structuredContent ?? answer.content)).toBeLessThan(MAX_ANSWER_TOKENS);
    });
    await fc.assert(property, { seed: 12, numRuns: 60 });
    expect(answered, name).toBeGreaterThan(0);
  });
});
