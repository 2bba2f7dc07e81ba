// @module-tag full

import { beforeAll, describe, expect, it } from "vitest";
import { tokenOf } from "../support/agent.ts";
import { bearer, claimedAgent, type Headers } from "../support/alert-events.ts";
import { type RawAnswer, sendRaw } from "../support/raw.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

let testService: TestService;
let credentials: readonly Headers[];

beforeAll(async () => {
  testService = await startTestService();
  const person = testService.person();
  await person.signIn();
  const { agent, token } = await claimedAgent(testService, person);
  const mcp = await tokenOf(testService.base, agent, { resource: `${testService.base}/mcp` });
  credentials = [
    {},
    bearer(token),
    bearer(mcp),
    { cookie: person.web.cookie(), origin: testService.base },
  ];
});

const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";

/** Every route that accepts a body, with sample values for its path parameters. */
const targets = (): readonly (readonly [method: string, url: string])[] =>
  testService.service.routes
    .filter(({ method }) => ["POST", "PUT", "PATCH", "DELETE"].includes(method))
    .map(
      ({ method, path }) =>
        [method, testService.base + path.replace(/:\w+|\*\w*/g, "some_1")] as const,
    );

/** Sends a body to every route with every kind of credential. */
async function everywhere(body: string, type = JSON_TYPE): Promise<readonly Sent[]> {
  const answers: Sent[] = [];
  const headers = {
    ...{ accept: "application/json, text/event-stream", "content-type": type },
    "content-length": String(Buffer.byteLength(body)),
  };
  for (const [method, url] of targets()) {
    for (const credential of credentials) {
      const answer = await sendRaw(url, { method, headers: { ...headers, ...credential }, body });
      answers.push({ ...answer, target: `${method} ${url.slice(testService.base.length)}` });
    }
  }
  return answers;
}

interface Sent extends RawAnswer {
  readonly target: string;
}

const MCP_START = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":';

const nested = (levels: number, inside = "1"): string =>
  `${'{"a":'.repeat(levels)}${inside}${"}".repeat(levels)}`;

const hostile: readonly (readonly [name: string, body: string])[] = [
  ["objects nested 64 levels deep", nested(64)],
  ["arrays nested 64 levels deep", `${"[".repeat(64)}${"]".repeat(64)}`],
  ["a tool call with arguments nested 64 levels deep", `${MCP_START}${nested(64)}}`],
  ["objects nested 2,000 levels deep", nested(2_000)],
  ["arrays nested 4,000 levels deep", `${"[".repeat(4_000)}${"]".repeat(4_000)}`],
  ["an array of 4,001 objects", `[${"{},".repeat(4_000)}{}]`],
  ["an array of 30,001 objects", `[${"{},".repeat(30_000)}{}]`],
  ["a string of one million characters", JSON.stringify({ a: "a".repeat(1_000_000) })],
  // `client_name` is a member that every route reads or rejects; registration ignores unknown
  // members.
  ["a number of 2,001 digits", `{"client_name":1${"0".repeat(2_000)}}`],
  ["an object that is cut off", '{"a":'],
  ["null", "null"],
  ["a string with half a surrogate pair", '"\u00ff\ud800"'],
];

const poisons: readonly (readonly [name: string, body: string])[] = [
  ["a __proto__ member", '{"__proto__":{"polluted":true,"isAdmin":true}}'],
  ["a constructor.prototype member", '{"constructor":{"prototype":{"polluted":true}}}'],
  [
    "__proto__ and constructor members in tool arguments",
    `${MCP_START}{"name":"get_signal","arguments":${'{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'}}}`,
  ],
  [
    "a JSON-RPC method named __proto__",
    '{"jsonrpc":"2.0","id":1,"method":"__proto__","params":{}}',
  ],
  ["a tool named __proto__", `${MCP_START}{"name":"__proto__","arguments":{}}}`],
  ["a tool named constructor", `${MCP_START}{"name":"constructor","arguments":{}}}`],
];

const isRefusal = ({ status }: Sent): boolean => status >= 400 && status < 500;

describe("a malformed body", () => {
  it.each(hostile)("is rejected by every route: %s", async (_, body) => {
    const answers = await everywhere(body);
    expect(answers.length).toBeGreaterThan(60);
    expect(answers.filter((answer) => !isRefusal(answer)).map(summary)).toEqual([]);
    expect(testService.logged).toEqual([]);
  });

  it.each(poisons)("has no effect on other requests: %s", async (_, body) => {
    const answers = await everywhere(body);
    expect(answers.filter(({ status }) => status >= 500).map(summary)).toEqual([]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
    expect(answers.some((answer) => answer.body.includes('polluted":true'))).toBe(false);
    expect(testService.logged).toEqual([]);
  });

  it.each([
    "__proto__[polluted]=1&constructor[prototype][polluted]=1",
    "__proto__=1&constructor=1&hasOwnProperty=1&toString=1",
    `${"a=1&".repeat(500)}b`,
  ])("has no effect on other requests when it is sent as a form: %s", async (form) => {
    const answers = await everywhere(form, FORM_TYPE);
    expect(answers.filter(({ status }) => status >= 500).map(summary)).toEqual([]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(testService.logged).toEqual([]);
  });
});

const summary = ({ target, status, body }: Sent): string =>
  `${target}: ${status} ${body.slice(0, 150)}`;
