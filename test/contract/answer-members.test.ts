import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { tools } from "../../tools/index.ts";
import { connectMcp, textOf } from "../support/mcp.ts";
import { sharedTestService } from "../support/test-service.ts";

const testService = await sharedTestService();
const { access_token: token } = await testService.person().tokens();
const client = await connectMcp(testService.base, token);

type Answer = Readonly<Record<string, unknown>>;

async function answerOf(name: string, args: Readonly<Record<string, unknown>>): Promise<Answer> {
  const answer = await client.callTool({ name, arguments: { ...args } });
  expect(answer.isError, textOf(answer)).not.toBe(true);
  return answer.structuredContent as Answer;
}

const HOOK = { type: "webhook", url: "https://hooks.example.com/in" };
const ALDER = { symbol: "ALDER.SIM" };
const LIST = { watchlist: "Chips" };

/** Answers of every tool, in every shape that the tool can return. */
const answers: Readonly<Record<string, () => Promise<readonly Answer[]>>> = {
  get_signal: () =>
    all("get_signal", [
      { ...ALDER, detail: "full" },
      { symbols: ["ALDER.SIM", "AAPL"], detail: "full" },
      { limit: 2, detail: "full" },
      { ...ALDER, last: 3, detail: "full" },
    ]),
  get_factors: () => all("get_factors", [ALDER, { ...ALDER, detail: "full" }]),
  get_darkpool: () =>
    all(
      "get_darkpool",
      [{}, { view: "days" }, { view: "prints" }, { view: "blocks" }].map((view) => ({
        ...ALDER,
        ...view,
      })),
    ),
  verify_signal: () => all("verify_signal", [ALDER, { index: 1 }]),
  get_track_record: () => all("get_track_record", [{}, { assetClass: "stock" }]),
  find_instruments: () => all("find_instruments", [{ limit: 3 }]),
  async register_alert() {
    return [
      await registered({ delivery: HOOK, label: "mine" }),
      await registered({ kinds: ["range", "report"] }),
    ];
  },
  async list_alerts() {
    const { id } = await registered({ delivery: HOOK });
    return all("list_alerts", [{}, { id }]);
  },
  async manage_alert() {
    const { id } = await registered({ delivery: HOOK });
    const actions = ["pause", "resume", "rotate_secret", "delete"].map((action) => ({ action }));
    return all(
      "manage_alert",
      [{ label: "x" }, ...actions].map((change) => ({ id, ...change })),
    );
  },
  async get_alert_events() {
    const { id } = await registered({ delivery: HOOK });
    return all("get_alert_events", [{}, { view: "deliveries", alertId: id }]);
  },
  manage_watchlist: () =>
    all("manage_watchlist", [
      { ...LIST, action: "set", symbols: ["ALDER.SIM"] },
      {},
      { ...LIST, action: "delete" },
    ]),
};

const registered = (more: object): Promise<Answer> =>
  answerOf("register_alert", { symbols: ["ALDER.SIM"], ...more });

/** Calls a tool several times, one call after another. @returns All answers. */
async function all(name: string, calls: readonly Answer[]): Promise<readonly Answer[]> {
  const found: Answer[] = [];
  for (const call of calls) found.push(await answerOf(name, call));
  return found;
}

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);

// The service does not strip unknown members, so a stored record that is spread into an answer
// would leak them.
describe.each(tools)("the tool $name", ({ name, output }) => {
  it("returns only members that its output schema defines", async () => {
    // Unlike the published schema, this schema allows no additional members.
    const validate = ajv.compile(z.toJSONSchema(output));
    const given = (await answers[name]?.()) ?? [];
    expect(given.length).toBeGreaterThan(0);
    for (const answer of given) {
      expect(validate(answer), JSON.stringify(validate.errors)).toBe(true);
      expect(validate({ ...answer, target: "secret" })).toBe(false);
    }
  });
});
