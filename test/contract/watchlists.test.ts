import { describe, expect, it } from "vitest";
import { registerClaimable, tokenOf } from "../support/agent.ts";
import { asking, bearer, type Headers } from "../support/alert-events.ts";
import { connectMcp, textOf } from "../support/mcp.ts";
import { startTestService } from "../support/test-service.ts";
import { tokensOf } from "../support/tokens.ts";

const testService = await startTestService();
const { base } = testService;

const ask = asking(testService);

const setList = (headers: Headers, watchlist: string, symbols: readonly string[]) =>
  ask(headers, "/api/watchlists", "POST", { watchlist, symbols });

const symbolsIn = ({ body }: { readonly body: Record<string, unknown> }) =>
  (body.items as { readonly symbol: string }[]).map(({ symbol }) => symbol);

/** Returns the names of all watchlists, read in short pages. */
async function namesOnPages(headers: Headers): Promise<readonly string[]> {
  const seen: string[] = [];
  for (let cursor = ""; ; ) {
    const { body } = await ask(headers, `/api/watchlists${cursor}`);
    seen.push(...(body.watchlists as { readonly name: string }[]).map(({ name }) => name));
    expect(tokensOf(body)).toBeLessThan(10_000);
    if (body.nextCursor === null || seen.length > 50) return seen;
    cursor = `?cursor=${body.nextCursor}`;
  }
}

/** Two applications and an API key of one person, and an application of another person. */
async function parties() {
  const [person, other] = [testService.person(), testService.person()];
  const { access_token: token } = await person.tokens();
  return {
    ...{ person, token },
    mine: bearer(token),
    theirs: bearer((await person.tokens()).access_token),
    stranger: bearer((await other.tokens()).access_token),
    own: { "x-api-key": await person.createKey(["signals:read", "alerts:write"]) },
  };
}

describe("a watchlist", () => {
  it("is created, changed, listed and deleted in the same way over REST and MCP", async () => {
    const { mine, token } = await parties();
    const client = await connectMcp(base, token);
    const manage = async (args: Record<string, unknown>) =>
      (await client.callTool({ name: "manage_watchlist", arguments: args })).structuredContent;
    const list = (...symbols: string[]) => [{ name: "Chips & Co", symbols, readOnly: false }];
    expect((await setList(mine, "Chips & Co", ["byten.sim", "BYTEN.SIM"])).body).toEqual({
      watchlists: list("BYTEN.SIM"),
    });
    const added = { action: "add", watchlist: "chips & co", symbols: ["ALDER.SIM"] };
    expect(await manage(added)).toEqual({ watchlists: list("ALDER.SIM", "BYTEN.SIM") });
    const path = `/api/watchlists/${encodeURIComponent("CHIPS & co")}`;
    const removed = { action: "remove", symbols: ["BYTEN.SIM"] };
    expect((await ask(mine, path, "PATCH", removed)).body).toEqual({
      watchlists: list("ALDER.SIM"),
    });
    const all = { watchlists: list("ALDER.SIM"), others: 0, nextCursor: null };
    expect(await manage({})).toEqual(all);
    expect((await ask(mine, "/api/watchlists")).body).toEqual(all);
    expect((await ask(mine, path, "DELETE")).body).toEqual({ watchlists: [] });
    expect((await ask(mine, path, "DELETE")).status).toBe(404);
  });

  it("appears on exactly one page of the list, even when the pages are small", async () => {
    const { mine } = await parties();
    const all = testService.service.market.instruments().map(({ symbol }) => symbol);
    const names = Array.from({ length: 25 }, (_, place) => `${place} ${"long ".repeat(19)}x`);
    for (const name of names) await setList(mine, name, all);
    const seen = await namesOnPages(mine);
    expect(seen).toEqual(names.sort());
  });

  it("is listed once per client for a person's API key when several clients use the same name", async () => {
    const { mine, theirs, own } = await parties();
    const all = testService.service.market.instruments().map(({ symbol }) => symbol);
    const names = Array.from({ length: 12 }, (_, place) => `${place} ${"long ".repeat(19)}x`);
    const others = [mine, theirs];
    for (const name of names) for (const client of others) await setList(client, name, all);
    const twice = names.sort().flatMap((name) => [name, name]);
    expect(await namesOnPages(own)).toEqual(twice);
    // With one more list, page boundaries fall between lists with equal names.
    await setList(mine, "- one more", all);
    expect(await namesOnPages(own)).toEqual(["- one more", ...twice]);
  });

  it("is rejected with a reason for an unknown symbol, an invalid name or a missing member", async () => {
    const { mine } = await parties();
    const symbols = ["ALDER.SIM"];
    for (const [body, status, code] of [
      [{ watchlist: "a", symbols: ["NOSUCH"] }, 404, "unknown_symbol"],
      [{ watchlist: "a", symbols: [] }, 400, "invalid_request"],
      [{ watchlist: "", symbols }, 400, "invalid_request"],
      [{ watchlist: "\u3164", symbols }, 400, "invalid_request"],
      [{ watchlist: "javascript:alert(1)", symbols }, 400, "invalid_request"],
      [{ watchlist: "x".repeat(101), symbols }, 400, "invalid_request"],
      [{ watchlist: "<b>a</b>", symbols }, 400, "invalid_request"],
      [{ symbols }, 400, "invalid_request"],
      [{ watchlist: "a" }, 400, "invalid_request"],
    ] as const) {
      const refused = await ask(mine, "/api/watchlists", "POST", body);
      expect([body, refused.status, refused.body.code]).toEqual([body, status, code]);
    }
  });

  it("is expanded into its symbols in get_signal, as JSON, as CSV and over MCP", async () => {
    const { mine, theirs, token } = await parties();
    await setList(mine, "two", ["BYTEN.SIM", "ALDER.SIM"]);
    await setList(theirs, "two", ["BORUN.SIM"]);
    const path = "/api/signals?watchlist=two";
    expect(symbolsIn(await ask(mine, path))).toEqual(["ALDER.SIM", "BYTEN.SIM"]);
    expect(symbolsIn(await ask(theirs, path))).toEqual(["BORUN.SIM"]);
    const csv = await (await fetch(`${base}${path}&format=csv`, { headers: mine })).text();
    expect(csv.match(/\b[A-Z]+\.SIM\b/g)).toEqual(["ALDER.SIM", "BYTEN.SIM"]);
    const client = await connectMcp(base, token);
    const asked = { name: "get_signal", arguments: { watchlist: "TWO" } };
    expect(textOf(await client.callTool(asked))).toContain("BYTEN.SIM");
    await ask(mine, "/api/watchlists/two", "PATCH", { action: "remove", symbols: ["BYTEN.SIM"] });
    expect(symbolsIn(await ask(mine, path))).toEqual(["ALDER.SIM"]);
    for (const both of [`${path}&symbols=ALDER.SIM`, `${path}&symbol=ALDER.SIM`]) {
      expect((await ask(mine, both)).status).toBe(400);
    }
    expect((await ask(mine, "/api/signals?watchlist=none")).body.code).toBe("not_found");
  });

  it("can be watched by an alert, and cannot be deleted while it is watched", async () => {
    const { mine } = await parties();
    await setList(mine, "Mine", ["ALDER.SIM"]);
    const made = await ask(mine, "/api/alerts", "POST", { watchlist: "mine" });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ watchlist: "Mine", symbols: null, assetClass: null });
    const refused = await ask(mine, "/api/watchlists/mine", "DELETE");
    expect([refused.status, refused.body.code]).toEqual([409, "wrong_state"]);
    expect(refused.body.detail).toBe("1 of the alerts watch it.");
    const alert = `/api/alerts/${made.body.id}`;
    const changed = await ask(mine, alert, "PATCH", { symbols: ["ALDER.SIM"] });
    expect(changed.body).toMatchObject({ watchlist: null, symbols: ["ALDER.SIM"] });
    await ask(mine, alert, "PATCH", { watchlist: "mine" });
    expect((await ask(mine, alert)).body).toMatchObject({ watchlist: "Mine", symbols: null });
    await ask(mine, alert, "DELETE");
    expect((await ask(mine, "/api/watchlists/mine", "DELETE")).status).toBe(200);
    for (const body of [
      { watchlist: "mine" },
      { watchlist: "mine", symbols: ["ALDER.SIM"] },
      { watchlist: "mine", assetClass: "stock" },
    ]) {
      expect((await ask(mine, "/api/alerts", "POST", body)).status).toBeGreaterThanOrEqual(400);
    }
  });
});

describe("another application of the same person", () => {
  it("learns only how many watchlists exist", async () => {
    const { mine, theirs, stranger } = await parties();
    await setList(mine, "secret plan", ["ALDER.SIM"]);
    const path = "/api/watchlists/secret%20plan";
    const changes = { symbols: ["ALDER.SIM"] };
    for (const [headers, others] of [
      [theirs, 1],
      [stranger, 0],
    ] as const) {
      expect((await ask(headers, "/api/watchlists")).body).toEqual({
        watchlists: [],
        others,
        nextCursor: null,
      });
      const attempts = [
        await ask(headers, path, "DELETE"),
        await ask(headers, path, "PATCH", { action: "remove", ...changes }),
        await ask(headers, "/api/signals?watchlist=secret%20plan"),
        await ask(headers, "/api/alerts", "POST", { watchlist: "secret plan" }),
      ];
      for (const { status, body } of attempts) {
        expect(status).toBe(404);
        expect(JSON.stringify(body)).not.toContain("ALDER");
      }
    }
    expect(symbolsIn(await ask(mine, "/api/signals?watchlist=secret%20plan"))).toEqual([
      "ALDER.SIM",
    ]);
  });

  it("can read and watch a list of the person's own API key, but cannot change it", async () => {
    const { person, mine, theirs, stranger, own } = await parties();
    await setList(own, "House", ["ALDER.SIM"]);
    expect((await ask(mine, "/api/watchlists")).body).toEqual({
      watchlists: [{ name: "House", symbols: ["ALDER.SIM"], readOnly: true }],
      others: 0,
      nextCursor: null,
    });
    const path = "/api/watchlists/house";
    expect((await ask(mine, path, "DELETE")).status).toBe(404);
    const removed = { action: "remove", symbols: ["ALDER.SIM"] };
    expect((await ask(mine, path, "PATCH", removed)).status).toBe(404);
    expect((await ask(mine, "/api/alerts", "POST", { watchlist: "house" })).status).toBe(201);
    expect((await ask(stranger, "/api/signals?watchlist=house")).status).toBe(404);
    expect((await ask(own, "/api/watchlists/house", "DELETE")).body.code).toBe("wrong_state");
    await setList(own, "House", ["BYTEN.SIM"]);
    const seenBy = async (headers: Headers) =>
      symbolsIn(await ask(headers, "/api/signals?watchlist=House"));
    expect(await seenBy(mine)).toEqual(["BYTEN.SIM"]);
    // The application's own list of that name comes first, for that application alone.
    await ask(mine, path, "PATCH", { action: "add", symbols: ["BORUN.SIM"] });
    expect([await seenBy(mine), await seenBy(theirs)]).toEqual([["BORUN.SIM"], ["BYTEN.SIM"]]);
    const second = { "x-api-key": await person.createKey(["signals:read", "alerts:write"]) };
    await ask(second, path, "PATCH", { action: "add", symbols: ["ALDER.SIM"] });
    expect(await seenBy(own)).toEqual(["ALDER.SIM", "BYTEN.SIM"]);
  });
});

describe("writing a watchlist", () => {
  it("requires alerts:write and signals:read", async () => {
    const person = testService.person();
    const wanted = { watchlist: "mine", symbols: ["ALDER.SIM"] };
    for (const scope of ["signals:read", "alerts:write"]) {
      const { access_token } = await person.tokens({ scope });
      const refused = await ask(bearer(access_token), "/api/watchlists", "POST", wanted);
      expect([refused.status, refused.body.code]).toEqual([403, "insufficient_scope"]);
    }
  });

  it("leads an unclaimed agent through its claim over MCP", async () => {
    const agent = await registerClaimable(base, { scope: "" });
    const wanted = { action: "set", watchlist: "mine", symbols: ["ALDER.SIM"] };
    const call = async () => {
      const client = await connectMcp(base, await tokenOf(base, agent));
      return client.callTool({ name: "manage_watchlist", arguments: wanted });
    };
    expect((await call()).structuredContent).toMatchObject({ code: "claim_required" });
    await testService.person().claim(agent.client_id, agent.claim.code);
    expect((await call()).structuredContent).toMatchObject({ watchlists: [{ name: "mine" }] });
  });
});
