import { describe, expect, it } from "vitest";
import { findInstruments } from "../../tools/find-instruments.ts";
import { getWith, newToken, postJson, register, tokenOf } from "../support/agent.ts";
import { startAlertApp } from "../support/alert-app.ts";
import { bearer } from "../support/alert-events.ts";
import { postMcp } from "../support/matrix-routes.ts";
import { mcpAsks, messageOf, resultOf } from "../support/mcp-messages.ts";
import { startTestService } from "../support/test-service.ts";

const testService = await startTestService();
const { base } = testService;
const { market } = testService.service;
const token = await newToken(base);
const withoutScope = await tokenOf(base, await register(base), { scope: "factor:read" });

const { askNew, askOld, eras } = mcpAsks(base, token);

/** The answer to `resources/read`. */
interface Read {
  readonly contents: readonly [
    { readonly uri: string; readonly mimeType: string; readonly text: string },
  ];
}

const SIGNAL = "market://signals/ALDER.SIM";
const INSTRUMENTS = "market://instruments";

const signalOf = async (symbol: string) =>
  (await fetch(`${base}/api/signals?symbol=${symbol}`, { headers: bearer(token) })).json();

describe.each(eras)("resources for a client of MCP $era", ({ ask }) => {
  it("consist of the list of instruments, one app and one URI template for signals", async () => {
    const { result } = await messageOf(ask("resources/templates/list"));
    expect(result?.resourceTemplates).toEqual([
      {
        name: "signal",
        title: "Signal",
        uriTemplate: "market://signals/{symbol}",
        description: expect.stringContaining("get_signal"),
        mimeType: "application/json",
      },
    ]);
    expect((await messageOf(ask("resources/list"))).result?.resources).toEqual([
      {
        uri: INSTRUMENTS,
        name: "instruments",
        title: "Instruments",
        description: expect.stringContaining("find_instruments"),
        mimeType: "application/json",
      },
      {
        uri: "ui://market-signal/app.html",
        name: "app",
        title: "Market Signal app",
        description: expect.any(String),
        mimeType: "text/html;profile=mcp-app",
        _meta: { ui: { prefersBorder: true } },
      },
    ]);
  });

  it("list every instrument by its resource URI, as find_instruments does", async () => {
    const { contents } = await resultOf<Read>(ask("resources/read", { uri: INSTRUMENTS }));
    expect(contents).toEqual([
      { uri: INSTRUMENTS, mimeType: "application/json", text: expect.any(String) },
    ]);
    const listed = JSON.parse(contents[0].text);
    const answer = await getWith(token, `${base}/api/instruments?limit=500`);
    const found = findInstruments.output.parse(await answer.json());
    const identities = found.items?.map(({ symbol, name, assetClass, exchange }) => ({
      ...{ symbol, name, assetClass, exchange },
    }));
    expect(listed).toEqual({ ...found, items: identities });
    expect(identities).toHaveLength(market.instruments().length);
    expect(listed.nextCursor).toBeNull();
  });

  it("return the same content as get_signal", async () => {
    const { contents } = await resultOf<Read>(ask("resources/read", { uri: SIGNAL }));
    expect(contents).toEqual([
      { uri: SIGNAL, mimeType: "application/json", text: expect.any(String) },
    ]);
    expect(JSON.parse(contents[0].text)).toEqual(await signalOf("ALDER.SIM"));
  });

  it.each(["market://signals/alder.sim", "market://signals/%41LDER%2ESIM"])(
    "are also found at the URI %s",
    async (uri) => {
      const { contents } = await resultOf<Read>(ask("resources/read", { uri }));
      expect(JSON.parse(contents[0].text)).toMatchObject({ symbol: "ALDER.SIM" });
    },
  );

  it.each([
    "market://signals/NOBODY.SIM",
    "market://signals/%E0%A4%A",
    "market://signals/ALDER.SIM/more",
    "market://signals/",
    "market://nothing/ALDER.SIM",
    `market://signals/${"A".repeat(3_000)}`,
    "file:///etc/passwd",
    "an empty URI",
  ])("are rejected at the URI %j", async (uri) => {
    const { error } = await messageOf(ask("resources/read", { uri }));
    expect(error?.code).toBe(-32_602);
    expect(error?.message).not.toMatch(/\.ts|at .+:\d/);
  });

  it("suggest similar symbols for an unknown symbol", async () => {
    const { error } = await messageOf(ask("resources/read", { uri: "market://signals/ALDE.SIM" }));
    expect(error).toMatchObject({
      ...{ code: -32_602, data: { uri: "market://signals/ALDE.SIM" } },
      message: expect.stringContaining("ALDER.SIM"),
    });
  });

  it("complete a partial symbol with at most 100 candidates", async () => {
    const complete = async (value: string) => {
      const ref = { type: "ref/resource", uri: "market://signals/{symbol}" };
      const params = { ref, argument: { name: "symbol", value } };
      const { completion } = await resultOf<{
        readonly completion: { readonly values: readonly string[] };
      }>(ask("completion/complete", params));
      return completion.values;
    };
    expect(await complete("ald")).toEqual(["ALDER.SIM"]);
    expect(await complete("nothing begins like this")).toEqual([]);
    const all = market.instruments().map(({ symbol }) => symbol);
    expect(await complete("")).toEqual(all.slice(0, 100));
    expect(all.length).toBeLessThan(100);
  });

  it.each<[method: string, params: object]>([
    ["resources/read", { uri: SIGNAL }],
    ["resources/read", { uri: INSTRUMENTS }],
    ["resources/read", { uri: "market://signals/NOBODY.SIM" }],
    [
      "completion/complete",
      {
        ref: { type: "ref/resource", uri: "market://signals/{symbol}" },
        argument: { name: "symbol", value: "a" },
      },
    ],
  ])(
    "are rejected for %s %j without the scope, before the message is validated",
    async (method, params) => {
      const response = await ask(method, params, withoutScope);
      expect(response.status).toBe(403);
      expect(response.headers.get("www-authenticate")).toContain('scope="signals:read"');
      expect(await response.json()).toMatchObject({ code: "insufficient_scope" });
    },
  );
});

describe("subscriptions for a client of MCP 2026-07-28", () => {
  const listen = (resourceSubscriptions: unknown, by = token) =>
    askNew("subscriptions/listen", { notifications: { resourceSubscriptions } }, by);

  it("are advertised", async () => {
    const { result } = await messageOf(askNew("server/discover"));
    expect(result?.capabilities).toMatchObject({
      resources: { listChanged: false, subscribe: true },
    });
  });

  it("are rejected without the scope, even for an empty list or an unknown resource", async () => {
    for (const uris of [[SIGNAL], [], ["market://signals/NOBODY.SIM"], "nonsense"]) {
      const response = await listen(uris, withoutScope);
      expect(response.status).toBe(403);
      expect(response.headers.get("www-authenticate")).toContain('scope="signals:read"');
    }
  });

  it.each([
    ["market://signals/NOBODY.SIM", "NOBODY.SIM"],
    ["market://signals/ALDER", "Did you mean: ALDER.SIM"],
    ["market://other/ALDER.SIM", "market://signals/{symbol}"],
    [INSTRUMENTS, "market://signals/{symbol}"],
    ["file:///etc/passwd", "market://signals/{symbol}"],
    ["", "market://signals/{symbol}"],
  ])("to %j are rejected, since the resource never sends notifications", async (uri, said) => {
    const response = await listen([SIGNAL, uri]);
    expect(response.status).toBe(400);
    const body = await response.text();
    expect(JSON.parse(body)).toMatchObject({ code: "invalid_request" });
    expect(body).toContain(said);
  });

  it("are limited to 100 resources", async () => {
    const uris = Array.from({ length: 101 }, (_, index) => `market://signals/S${index}`);
    const response = await listen(uris);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ detail: expect.stringContaining("100") });
  });

  it.each([
    [undefined],
    [{}],
    [{ notifications: 7 }],
    [{ notifications: { resourceSubscriptions: 7 } }],
  ])("with the parameters %j are rejected with the error that MCP specifies", async (params) => {
    const { error } = await messageOf(askNew("subscriptions/listen", params));
    expect(error?.code).toBe(-32_602);
  });

  it("that contain only unknown resources end immediately, and do not count against the limit", async () => {
    for (let count = 0; count < 7; count++) {
      const response = await askNew("subscriptions/listen", {
        notifications: { toolsListChanged: true },
      });
      const text = await response.text();
      expect(text).toContain('"notifications/subscriptions/acknowledged"');
      expect(text).toContain('"resultType":"complete"');
    }
  });

  it("release their listeners when they end", async () => {
    let listening = 0;
    const app = await startAlertApp({
      onSignal: () => {
        listening += 1;
        return () => {
          listening -= 1;
        };
      },
    });
    const params = { notifications: { resourceSubscriptions: [SIGNAL] } };
    const message = { method: "subscriptions/listen", params };
    const response = await postMcp(app.base, message, { headers: bearer("agent") });
    expect([response.status, listening]).toEqual([200, 1]);
    await response.body?.cancel();
    await expect.poll(() => listening).toBe(0);
  });

  it("are rejected when the headers contradict the message", async () => {
    const response = await postJson(
      `${base}/mcp`,
      { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params: { notifications: {} } },
      {
        ...{ accept: "application/json, text/event-stream", ...bearer(withoutScope) },
        ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" },
      },
    );
    expect(response.status).toBe(403);
  });
});

describe("subscriptions for a client of MCP 2025-11-25", () => {
  it("are not advertised, since the service keeps no sessions", async () => {
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "old", version: "1" },
    };
    const { result } = await messageOf(askOld("initialize", params));
    expect(result?.capabilities).toMatchObject({
      resources: { listChanged: false, subscribe: false },
    });
  });

  it.each(["resources/subscribe", "resources/unsubscribe", "subscriptions/listen"])(
    "have no method %s, either alone or in a batch",
    async (method) => {
      const params = { uri: SIGNAL, notifications: { resourceSubscriptions: [SIGNAL] } };
      expect((await messageOf(askOld(method, params))).error?.code).toBe(-32_601);
      const message = { jsonrpc: "2.0", id: 1, method, params };
      const batch = postJson(`${base}/mcp`, [message], {
        ...{ accept: "application/json, text/event-stream", ...bearer(token) },
      });
      const [answer] = [await messageOf(batch)].flat();
      expect(answer?.error?.code).toBe(-32_601);
    },
  );

  it.each(["GET", "DELETE"])(
    "have no session endpoint: %s is answered with 405",
    async (method) => {
      const response = await fetch(`${base}/mcp`, { method, headers: bearer(token) });
      expect(response.status).toBe(405);
    },
  );
});

describe("the service", () => {
  it("logs no internal failure during these tests", () => {
    expect(testService.logged).toEqual([]);
  });
});
