import { expect, it } from "vitest";
import { getWith, newToken } from "../support/agent.ts";
import { bearer, claimedAgent, makeAlert } from "../support/alert-events.ts";
import { sendCall, ways } from "../support/mcp-usual.ts";
import { sharedTestService } from "../support/test-service.ts";

const testService = await sharedTestService();
const { base } = testService;

/** Tools for a single instrument, with their REST routes and required scopes. */
const tools = {
  get_signal: { route: "signals", scope: "signals:read" },
  get_factors: { route: "factors", scope: "factor:read" },
  get_darkpool: { route: "darkpool", scope: "darkpool:read" },
} as const;

type Name = keyof typeof tools;
const names = Object.keys(tools) as readonly Name[];
const symbols = testService.service.market
  .instruments()
  .filter(({ assetClass }) => assetClass === "stock")
  .map(({ symbol }) => symbol)
  .slice(0, 12);

/** Agents with one, two or all read scopes. */
const readers = await Promise.all(
  [
    ["signals:read"],
    ["factor:read", "darkpool:read"],
    ["signals:read", "darkpool:read"],
    ["signals:read", "factor:read", "darkpool:read"],
  ].map(async (scopes) => ({ scopes, token: await newToken(base, { scope: scopes.join(" ") }) })),
);
const all = readers.at(-1)?.token ?? "";

/** Claimed agents, each with one alert. */
const owners = await Promise.all(
  [1, 2, 3].map(async () => {
    const { token } = await claimedAgent(testService, testService.person());
    return { token, alertId: await makeAlert(testService, bearer(token)) };
  }),
);

/** The REST answers about every instrument. */
const known = new Map(
  await Promise.all(
    symbols.flatMap((symbol) =>
      names.map(async (name) => {
        const answer = await getWith(all, `${base}/api/${tools[name].route}?symbol=${symbol}`);
        return [`${name} ${symbol}`, await answer.json()] as const;
      }),
    ),
  ),
);

const at = <T>(values: readonly T[], index: number): T => values[index % values.length] as T;

/**
 * One of many calls, with its caller, its arguments, a request id that other calls share, and the
 * expected answer.
 */
function question(index: number) {
  const [way, id] = [at(ways, index), at([1, 2, "1", "x"], Math.floor(index / 4))];
  const draw = Math.floor(index / 16);
  if (draw % 5 === 0) {
    const { token, alertId } = at(owners, index);
    return {
      token,
      status: 200,
      expected: alertId,
      call: { way, id, params: { name: "list_alerts" } },
    };
  }
  const { scopes, token } = at(readers, draw);
  const [name, symbol] = [at(names, index), at(symbols, index * 7 + draw)];
  const params = { name, arguments: { symbol } };
  const status = scopes.includes(tools[name].scope) ? 200 : 403;
  const whole = known.get(`${name} ${symbol}`) as object & { readonly why?: object };
  const { why: _, ...plain } = whole;
  const expected = scopes.includes("factor:read") ? whole : plain;
  return { token, status, expected, call: { way, id, params } };
}

it("the MCP endpoint gives each of 6,000 concurrent calls its own answer, even when callers use the same request ids", {
  tags: ["full"],
}, async () => {
  const asked = Array.from({ length: 6_000 }, (_, index) => question(index));
  const answers = await Promise.all(
    asked.map(async ({ token, call, status, expected }) => ({
      ...{ call, expected, wanted: status },
      ...(await sendCall(base, token, call)),
    })),
  );
  const wrong = answers.filter(({ call, expected, wanted, status, message }) => {
    if (status !== wanted) return true;
    if (status === 403) return "result" in message;
    const content = message.result?.structuredContent as { items?: readonly { id: string }[] };
    const heard = call.params.name === "list_alerts" ? content.items?.map(({ id }) => id) : content;
    const due = call.params.name === "list_alerts" ? [expected] : expected;
    return message.id !== call.id || JSON.stringify(heard) !== JSON.stringify(due);
  });
  expect(wrong.slice(0, 3)).toEqual([]);
  const fast = answers.filter(({ status, headers }) => status === 200 && headers["content-length"]);
  expect(fast.length).toBeGreaterThan(1_500);
  expect(answers.filter(({ status }) => status === 403).length).toBeGreaterThan(1_000);
  expect(testService.logged).toEqual([]);
});
