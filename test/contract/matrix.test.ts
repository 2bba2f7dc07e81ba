// @module-tag full

import { ClientRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import type { Scope } from "../../src/access/scopes.ts";
import { postJson, tokenOf } from "../support/agent.ts";
import { deviations, type Row } from "../support/matrix.ts";
import { createWorld } from "../support/matrix-credentials.ts";
import { type ScopeNames, scopePolicy, toolScopePolicy } from "../support/matrix-policies.ts";
import { postMcp, routeTable } from "../support/matrix-routes.ts";
import { authorizationRequest, registerPublic } from "../support/person.ts";
import { startTestService } from "../support/test-service.ts";

/**
 * Required scopes of every operation that the MCP endpoint advertises. An operation that is not
 * listed fails the test.
 */
const announced = {
  tools: {
    get_signal: "signals:read",
    get_factors: "factor:read",
    get_darkpool: "darkpool:read",
    verify_signal: "signals:read",
    get_track_record: "signals:read",
    find_instruments: "signals:read",
    register_alert: "alerts:write signals:read",
    list_alerts: "signals:read",
    manage_alert: "alerts:write",
    get_alert_events: "alerts:write signals:read",
    manage_watchlist: "alerts:write signals:read",
  } as Readonly<Record<string, ScopeNames>>,
  resources: {
    "market://instruments": "signals:read",
    "ui://market-signal/app.html": undefined,
    "market://signals/{symbol}": "signals:read",
  } as Readonly<Record<string, Scope | undefined>>,
  prompts: { check_a_signal: "signals:read" } as Readonly<Record<string, Scope>>,
  capabilities: ["tools", "resources", "prompts", "completions", "extensions"],
};

const accepting = { accept: "application/json, text/event-stream" };

/** MCP methods that every caller with a valid credential may use. */
const ungated = [
  "initialize",
  "server/discover",
  "ping",
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "prompts/list",
];

/** An entry of an MCP list, such as a tool or a prompt. */
interface Listed {
  readonly name: string;
  readonly uri?: string;
  readonly uriTemplate?: string;
}

/** MCP methods that require signals:read, whatever resource they request. */
const onSignals = ["resources/read", "prompts/get", "completion/complete", "subscriptions/listen"];

const testService = await startTestService();
const { base } = testService;
const world = await createWorld({
  base,
  person: testService.person,
  wait: (ms) => {
    testService.clock.now = new Date(testService.clock.now.getTime() + ms);
  },
});
const { victims } = world;
const ids = await createTargets();
const table = routeTable({ base, victims, ids });

/** Arguments of tool calls, which refer to objects of the victim where possible. */
const argumentsOf = (name: string): object => {
  const asked: Readonly<Record<string, object>> = {
    find_instruments: {},
    register_alert: { symbols: ["ALDER.SIM"] },
    list_alerts: { id: ids.alert },
    manage_alert: { id: ids.alert, action: "delete" },
    get_alert_events: { alertId: ids.alert },
    manage_watchlist: { action: "delete", watchlist: "Victims" },
  };
  return asked[name] ?? { symbol: "ALDER.SIM" };
};
const all = world.credentials.find(({ name }) => name === "user with all scopes");
if (all === undefined) throw new Error("nobody may do everything");

/** Creates objects of the victim that a request could read or change. */
async function createTargets() {
  const { person } = victims;
  const { access_token } = await person.tokens();
  const bearer = { authorization: `Bearer ${access_token}` };
  const hook = { type: "webhook", url: "https://hooks.example.com/" };
  const alert = { symbols: ["ALDER.SIM"], delivery: hook };
  const made = await postJson(`${base}/api/alerts`, alert, bearer);
  const { secret, nextSteps, ...told } = (await made.json()) as Readonly<Record<string, unknown>>;
  await person.createKey(["signals:read"]);
  const own = await person.web.get("/account");
  const idIn = (kind: string) =>
    own.forms
      .map(({ action }) => new RegExp(`/account/${kind}/([^/]+)/`).exec(action)?.[1])
      .find((id) => id !== undefined) ?? "";
  const { client_id } = await registerPublic(base);
  const request = await fetch(authorizationRequest(base, { client_id }).url, {
    redirect: "manual",
  });
  const interaction = request.headers.get("location")?.split("/").at(-1) ?? "";
  return {
    key: idIn("keys"),
    application: idIn("applications"),
    agent: victims.agent.client_id,
    interaction,
    alert: String(told.id),
    /** Returns the alert as its owner sees it. */
    lookUp: async () => (await fetch(`${base}/api/alerts/${told.id}`, { headers: bearer })).json(),
    told,
  };
}

const nameOf = ({ method, path }: { readonly method: string; readonly path: string }) =>
  `${method} ${path}`;

const rpc = (method: string, params: object = {}) =>
  postMcp(base, { method, params }, all).then((response) => response.json()) as Promise<{
    readonly result?: Readonly<Record<string, unknown>>;
    readonly error?: { readonly code: number };
  }>;

describe("a route", () => {
  it("is in the access table, with each of its methods", () => {
    const served = testService.service.routes.map(nameOf);
    expect(served.filter((name) => !Object.hasOwn(table, name))).toEqual([]);
    expect(Object.keys(table).filter((name) => !served.includes(name))).toEqual([]);
    expect(served).toEqual([...new Set(served)]);
  });

  it.each(Object.keys(table))("%s admits exactly the callers in its policy", async (name) => {
    expect(await deviations(table[name] as Row, world, base)).toEqual([]);
  });

  it("answers HEAD like GET but without a body", async () => {
    const head = world.credentials.map(async ({ name, headers }) => {
      for (const path of ["/api/signals?limit=1", "/account", "/api/health"]) {
        const ask = (method: string) => fetch(base + path, { method, headers, redirect: "manual" });
        const [get, without] = [await ask("GET"), await ask("HEAD")];
        expect(without.status, `${name} at ${path}`).toBe(get.status);
        expect(await without.text()).toBe("");
      }
    });
    await Promise.all(head);
  });

  it("rejects all other methods, for any caller", async () => {
    const paths = new Set(testService.service.routes.map(({ path }) => path));
    for (const path of paths) {
      const known = testService.service.routes.filter((route) => route.path === path);
      const others = ["GET", "POST", "PUT", "PATCH", "DELETE"].filter(
        (method) => !known.some((route) => route.method === method),
      );
      for (const method of others) {
        const response = await fetch(base + path.replace(/:\w+/g, "x"), {
          method,
          headers: all.headers,
          redirect: "manual",
        });
        expect(response.status, `${method} ${path}`).toBe(405);
        expect(response.headers.get("allow")).toContain(known[0]?.method);
      }
    }
  });
});

describe("an operation of the MCP endpoint", () => {
  it("is in the access table when it is advertised", async () => {
    const { result } = await rpc("server/discover");
    expect(Object.keys(result?.capabilities as object)).toEqual(announced.capabilities);
    const listed = async (method: string, member: string) =>
      ((await rpc(method)).result?.[member] ?? []) as Listed[];
    const tools = await listed("tools/list", "tools");
    expect(tools.map(({ name }) => name).sort()).toEqual(Object.keys(announced.tools).sort());
    const resources = [
      ...(await listed("resources/list", "resources")),
      ...(await listed("resources/templates/list", "resourceTemplates")),
    ];
    expect(resources.map(({ uri, uriTemplate }) => uri ?? uriTemplate)).toEqual(
      Object.keys(announced.resources),
    );
    const prompts = await listed("prompts/list", "prompts");
    expect(prompts.map(({ name }) => name)).toEqual(Object.keys(announced.prompts));
  });

  it.each(Object.entries(announced.tools))("tools/call %s requires %s", async (name, scope) => {
    const params = { name, arguments: argumentsOf(name) };
    const row: Row = {
      policy: toolScopePolicy(scope),
      send: (credential) => postMcp(base, { method: "tools/call", params }, credential),
    };
    expect(await deviations(row, world, base)).toEqual([]);
  });

  it.each(Object.entries(announced.tools))(
    "tools/call %s requires %s from older clients, even in a batch or with contradicting headers",
    async (name, scope) => {
      const params = { name, arguments: argumentsOf(name) };
      const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
      const ways = [
        { message: call, headers: {} },
        { message: [call], headers: {} },
        { message: call, headers: { "mcp-method": "tools/list", "mcp-name": "get_signal" } },
      ];
      for (const { message, headers } of ways) {
        const row: Row = {
          policy: toolScopePolicy(scope),
          send: (credential) =>
            postJson(`${base}/mcp`, message, { ...accepting, ...headers, ...credential.headers }),
        };
        expect(await deviations(row, world, base)).toEqual([]);
      }
    },
  );

  it.each(Object.entries(announced.resources))(
    "resources/read of %s admits exactly the callers with its required scope: %s",
    async (at, scope) => {
      const params = { uri: at.replace("{symbol}", "ALDER.SIM") };
      const row: Row = {
        policy: scopePolicy("/mcp", scope),
        send: (credential) => postMcp(base, { method: "resources/read", params }, credential),
      };
      expect(await deviations(row, world, base)).toEqual([]);
    },
  );

  it.each(Object.entries(announced.prompts))(
    "prompts/get of %s requires %s",
    async (name, scope) => {
      const params = { name, arguments: { symbol: "ALDER.SIM" } };
      const row: Row = {
        policy: scopePolicy("/mcp", scope),
        send: (credential) => postMcp(base, { method: "prompts/get", params }, credential),
      };
      expect(await deviations(row, world, base)).toEqual([]);
    },
  );

  const methods = ClientRequestSchema.options.map(({ shape }) => shape.method.value as string);

  it.each([...new Set([...methods, ...ungated, "subscriptions/listen"])])(
    "%s requires a credential",
    async (method) => {
      const row: Row = {
        policy: (credential) => {
          const scope = onSignals.includes(method) ? "signals:read" : undefined;
          const answer = scopePolicy("/mcp", scope)(credential, victims);
          return answer.status.includes(200) ? { status: [200, 400, 404] } : answer;
        },
        send: (credential) => postMcp(base, { method }, credential),
      };
      expect(await deviations(row, world, base)).toEqual([]);
    },
  );

  const known = [...ungated, ...onSignals, "tools/call"];

  it.each(methods.filter((method) => !known.includes(method)))(
    "%s does not exist for any caller",
    async (method) => {
      expect((await rpc(method)).error?.code).toBe(-32_601);
    },
  );
});

describe("after all requests of the matrix", () => {
  it("the stored data is unchanged", async () => {
    const { agent, agentToken, person } = victims;
    const token = { authorization: `Bearer ${agentToken}` };
    expect((await fetch(`${base}/api/signals?limit=1`, { headers: token })).status).toBe(200);
    const own = { authorization: `Bearer ${agent.registration_access_token}` };
    const kept = await fetch(agent.registration_client_uri, { headers: own });
    expect(await kept.json()).toMatchObject({ client_name: "Victim" });
    expect(await tokenOf(base, agent)).toBeTypeOf("string");

    const { html } = await person.web.get("/account");
    expect(html).toContain(ids.key);
    expect(html).toContain(ids.application);
    expect(html).not.toContain(agent.client_id);

    expect(await ids.lookUp()).toMatchObject(ids.told);
  });

  it("the service has logged no internal failure", () => {
    expect(testService.logged).toEqual([]);
  });
});
