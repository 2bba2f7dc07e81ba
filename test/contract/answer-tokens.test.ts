import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allScopes } from "../../src/access/scopes.ts";
import { connectMcp, textOf } from "../support/mcp.ts";
import { LOOSE_LIMITS, startTestService } from "../support/test-service.ts";
import { tokensOf, visibleTokens } from "../support/tokens.ts";

/** Maximum tokens of the tool list as a model sees it. */
const MAX_LIST_TOKENS = 3_500;

/** Maximum tokens of any tool answer. */
const MAX_ANSWER_TOKENS = 10_000;

/** Maximum tokens of the typical answer of a tool, where it is lower than the general maximum. */
const MAX_TYPICAL: Readonly<Record<string, number>> = { get_signal: 350, get_factors: 600 };

/** Maximum tokens per session in a price history. */
const MAX_ROW_TOKENS = 15;

const testService = await startTestService({ RATE_LIMITS: LOOSE_LIMITS });
const { base } = testService;
const client = await connectMcp(base, await testService.person().createKey(allScopes));
const { tools } = await client.listTools();

const symbol = "ALDER.SIM";
const from = "2020-01-01T00:00:00Z";

/** A typical call and a large call of each read-only tool. */
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

describe("the token count", () => {
  it("of tools/list stays within its limit, since every conversation includes the tool list", () => {
    const rows = tools.map((tool) => `${tool.name}: ${visibleTokens([tool])}`);
    process.stdout.write(`tokens of tools/list: ${visibleTokens(tools)} (${rows.join(", ")})\n`);
    expect(visibleTokens(tools)).toBeLessThanOrEqual(MAX_LIST_TOKENS);
  });

  it.each(calls)(
    "of an answer from %s stays within its limit for the arguments %j and %j",
    async (name, typical, large) => {
      const [one, most] = [await answerTokens(name, typical), await answerTokens(name, large)];
      process.stdout.write(`tokens of ${name}: ${one} typical, ${most} large\n`);
      expect(one).toBeLessThanOrEqual(MAX_TYPICAL[name] ?? MAX_ANSWER_TOKENS);
      expect(Math.max(one, most)).toBeLessThan(MAX_ANSWER_TOKENS);
    },
  );
});

it("each trading session in a price history takes fewer than 15 tokens, including date, score and price", () => {
  const days = Array.from(
    { length: 500 },
    (_, day) => new Date(1_400_000_000_000 + day * 86_400_000),
  );
  const session = days.map((day) => day.toISOString().slice(0, 10));
  const score = days.map((_, day) => (day * 37) % 100);
  const price = days.map((_, day) => Number((90 + ((day * 7919) % 4_000) / 100).toFixed(2)));
  expect(tokensOf({ session, score, price }) / days.length).toBeLessThan(MAX_ROW_TOKENS);
});

/** A name of about 100 characters, most of which take several tokens each. */
const longName = (place: number) => `${place} ${"𓀀𒀱ⵣ꩜".repeat(24)}`;

/** A URL of 2,048 characters. */
const longUrl = (place: number) =>
  `https://hooks.example.com/${place}/${"x9Q-".repeat(512)}`.slice(0, 2_048);

const listedSymbols = testService.service.market.instruments().map(({ symbol }) => symbol);

/** Fills an account with alerts and watchlists of maximum size. @returns The ids of the alerts. */
async function fillAccount(): Promise<readonly string[]> {
  const call = async (name: string, given: object) => {
    const answer = await client.callTool({ name, arguments: { ...given } });
    expect(answer.isError, textOf(answer)).toBeFalsy();
    return answer.structuredContent as { readonly id: string };
  };
  const symbols = listedSymbols.slice(0, 100);
  const ids: string[] = [];
  for (let place = 0; place < 40; place++) {
    await call("manage_watchlist", { action: "set", watchlist: longName(place), symbols });
    const url = longUrl(place);
    // An account can have 20 webhooks; five are left for the calls below.
    const delivery = place < 15 ? { type: "webhook", url } : { type: "poll" };
    ids.push((await call("register_alert", { symbols, label: longName(place), delivery })).id);
  }
  return ids;
}

const alertIds = await fillAccount();

/** Instants in the future of the sandbox. */
const LATER = ["2026-12-24T00:00:00Z"];

/** Valid values of text members, by the name of the member. */
const texts: Readonly<Record<string, readonly string[]>> = {
  symbol: ["ALDER.SIM", "BYTEN.SIM", "DRIMO-USD.SIM", "NOBODY"],
  query: ["", "a", "nothing"],
  sector: ["Technology", "Energy", "none"],
  cursor: [],
  knownCheckpoint: ["0:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="],
  id: alertIds,
  alertId: alertIds,
  watchlist: [0, 1, 60].map(longName),
  label: [longName(1), "short"],
  url: [longUrl(1)],
  expiresAt: LATER,
  snoozedUntil: LATER,
  idempotencyKey: ["one", "~".repeat(255)],
};

/** Texts that no tool accepts and that an error may quote. */
const nonsense = Array.from({ length: 100 }, (_, place) => `${'"\\~'.repeat(6)}${place}`);

/** Values of list members, by the name of the member. */
const lists: Readonly<Record<string, readonly (readonly string[])[]>> = {
  fields: [["symbol"], ["symbol", "name", "score", "asOf", "scoreRaw"], nonsense.slice(0, 30)],
  kinds: [["signal_shift", "volatility", "report", "range", "steadiness"]],
};

/** Instants and dates for which the sandbox has data. */
const INSTANTS = ["2026-11-20", "2026-11-21T01:00:00Z", "2026-11-21T04:40:00Z"];

interface Property {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Property>>;
  readonly anyOf?: readonly Property[];
  readonly oneOf?: readonly Property[];
}

/** Generates values of an input member: the longest list, both ends of a range, or every choice. */
function valuesOf(name: string, property: Property): fc.Arbitrary<unknown> {
  const { type, enum: choices, const: only, minimum = 0, maximum = 1_000_000 } = property;
  const branches = property.anyOf ?? property.oneOf;
  if (branches !== undefined) return fc.oneof(...branches.map((one) => valuesOf(name, one)));
  if (type === "object") {
    const members = Object.entries(property.properties ?? {});
    return fc.record(Object.fromEntries(members.map(([key, one]) => [key, valuesOf(key, one)])));
  }
  if (type === "null") return fc.constant(null);
  if (only !== undefined) return fc.constant(only);
  if (choices !== undefined) return fc.constantFrom(...choices);
  if (type === "array") {
    const symbols = listedSymbols.slice(0, property.maxItems);
    const mixed = [...symbols.slice(0, 20), ...nonsense].slice(0, property.maxItems);
    return fc.constantFrom(...(lists[name] ?? [symbols, mixed, nonsense.slice(0, 50)]));
  }
  if (type === "number" || type === "integer") return fc.constantFrom(minimum, maximum, maximum);
  return fc.constantFrom(...(texts[name] ?? INSTANTS), undefined);
}

describe("the longest answer", () => {
  it.each(tools)("of $name has fewer than 10,000 tokens", async ({ name, inputSchema }) => {
    const { properties = {}, required = [] } = inputSchema as {
      readonly properties?: Readonly<Record<string, Property>>;
      readonly required?: readonly string[];
    };
    const members = Object.entries(properties).map(
      ([member, property]) => [member, valuesOf(member, property)] as const,
    );
    const input = fc.record(Object.fromEntries(members), { requiredKeys: [...required] });
    // At most four optional members at a time, since many exclude each other.
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
    await fc.assert(property, { seed: 12, numRuns: 60, endOnFailure: true });
    expect(answered, name).toBeGreaterThan(0);
  });
});
