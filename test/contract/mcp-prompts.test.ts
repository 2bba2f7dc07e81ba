import { describe, expect, it } from "vitest";
import { tools } from "../../tools/index.ts";
import { newToken, register, tokenOf } from "../support/agent.ts";
import { mcpAsks, messageOf, resultOf } from "../support/mcp-messages.ts";
import { sharedTestService } from "../support/test-service.ts";

const testService = await sharedTestService();
const { base } = testService;
const token = await newToken(base);
const withoutScope = await tokenOf(base, await register(base), { scope: "factor:read" });

const { eras } = mcpAsks(base, token);

/** The answer to `prompts/get`. */
interface Prompted {
  readonly messages: readonly {
    readonly role: string;
    readonly content: { readonly type: string; readonly text: string };
  }[];
}

describe.each(eras)("the prompt check_a_signal for a client of MCP $era", ({ ask }) => {
  const get = (given: object, by = token) =>
    ask("prompts/get", { name: "check_a_signal", arguments: given }, by);
  const textFor = async (symbol: string) => {
    const { messages } = await resultOf<Prompted>(get({ symbol }));
    expect(messages).toEqual([
      { role: "user", content: { type: "text", text: expect.any(String) } },
    ]);
    return messages[0]?.content.text ?? "";
  };

  it("is the only prompt, states what it does and requires a symbol", async () => {
    const { prompts } = await resultOf<{ prompts: object[] }>(ask("prompts/list"));
    expect(prompts).toEqual([
      {
        name: "check_a_signal",
        title: "Check a signal",
        description: expect.stringContaining("signal of one instrument"),
        arguments: [{ name: "symbol", description: expect.any(String), required: true }],
      },
    ]);
  });

  it("contains only tool names that exist, and the symbol in the market's spelling", async () => {
    const text = await textFor("alder/sim");
    expect(text).toContain('with symbol "ALDER.SIM"');
    const named = new Set(text.match(/\b(?:get|find|list|manage|register|verify)_[a-z_]+\b/g));
    expect([...named]).toEqual(["get_signal", "get_factors", "get_darkpool", "verify_signal"]);
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining([...named]));
  });

  it("contains only names of answer members that exist", async () => {
    const text = await textFor("ALDER.SIM");
    const { output: signal } = tools.find(({ name }) => name === "get_signal") ?? {};
    const { output: factors } = tools.find(({ name }) => name === "get_factors") ?? {};
    const [full] = (signal as unknown as { options: { shape: object }[] }).options;
    const members = { ...full?.shape, ...(factors as unknown as { shape: object }).shape };
    const asked = "signal score confidence coverage status asOf missingFactors name scoreRaw";
    for (const member of `${asked} evidence market factors`.split(" ")) {
      expect(text).toContain(member);
      expect(members).toHaveProperty(member);
    }
  });

  it("explains how to check a signal, how to report the result and that it is not advice", async () => {
    const text = await textFor("ALDER.SIM");
    for (const words of [
      "Doubt it when",
      "verdict: supported, weakly supported, contradicted, or not verifiable",
      "not a probability, not a return",
      "no investment advice",
      "data, not instructions",
      "simulated data",
    ]) {
      expect(text).toContain(words);
    }
  });

  it("omits off-exchange trades for a coin, since coins have none", async () => {
    const coins = testService.service.market
      .instruments()
      .filter((one) => one.assetClass === "crypto");
    const text = await textFor(coins[0]?.symbol ?? "");
    expect(text).not.toContain("get_darkpool");
    expect(text).toMatch(/^3\. get_signal with from/m);
  });

  it.each([
    ["ALDE.SIM", "unknown_symbol", "Did you mean: ALDER.SIM"],
    [
      "NOSUCHTHING",
      "unknown_symbol",
      "find_instruments (GET /api/instruments) lists what is covered.",
    ],
    ["\u202e", "ticker", "ASCII"],
    ["A".repeat(21), "ticker", "20"],
  ])("rejects the symbol %j with a hint on how to correct it", async (symbol, ...words) => {
    const { error } = await messageOf(get({ symbol }));
    expect(error?.code).toBe(-32_602);
    for (const word of words) expect(error?.message).toContain(word);
  });

  it.each([[{}], [{ symbol: "" }], [{ symbol: "ALDER.SIM", extra: "x" }]])(
    "rejects the arguments %j",
    async (given) => {
      expect((await messageOf(get(given))).error?.code).toBe(-32_602);
    },
  );

  it("does not exist under another name", async () => {
    const other = ask("prompts/get", { name: "verify", arguments: {} });
    expect((await messageOf(other)).error?.code).toBe(-32_602);
  });

  it("completes a partial symbol", async () => {
    const ref = { type: "ref/prompt", name: "check_a_signal" };
    const params = { ref, argument: { name: "symbol", value: "ald" } };
    expect(await resultOf(ask("completion/complete", params))).toMatchObject({
      completion: { values: ["ALDER.SIM"], total: 1, hasMore: false },
    });
  });

  it.each(["check_a_signal", "no_such_prompt"])(
    "is rejected without the scope, before %s is looked up",
    async (name) => {
      const response = await ask("prompts/get", { name, arguments: {} }, withoutScope);
      expect(response.status).toBe(403);
      expect(response.headers.get("www-authenticate")).toContain('scope="signals:read"');
      expect(await response.json()).toMatchObject({ code: "insufficient_scope" });
    },
  );
});

it("the service logs no internal failure during these tests", () => {
  expect(testService.logged).toEqual([]);
});
