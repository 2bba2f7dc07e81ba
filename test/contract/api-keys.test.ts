import { describe, expect, it } from "vitest";
import { LastUseTracker } from "../../src/access/last-use.ts";
import type { Scope } from "../../src/access/scopes.ts";
import { ApiKeyService } from "../../src/principals/keys/api-keys.ts";
import { generateApiKey } from "../../src/principals/keys/key-format.ts";
import { writeAuditEntry } from "../../src/store/audit-entry.ts";
import { postForm, postJson } from "../support/agent.ts";
import { LOOSE_LIMITS, startTestService } from "../support/test-service.ts";
import { verifies } from "../support/verifies.ts";

const running = await startTestService({ RATE_LIMITS: `${LOOSE_LIMITS} calls=20/100000/1000000` });
const { base, service, clock, logged } = running;
const { records, identity } = service.state.store;

/** API key service as in another process, such as an operator command. */
const keys = new ApiKeyService({
  ...{ records, mode: identity.mode, now: () => clock.now },
  audit: (tx, entry) => writeAuditEntry(tx, entry, clock.now.getTime()),
  lastUse: new LastUseTracker({ records, now: () => clock.now, onError: () => {} }),
});
const keyWith = (...scopes: Scope[]) => keys.create({ name: "Desk", scopes, actor: "operator" });

const signals = `${base}/api/signals?symbol=ALDER.SIM`;
const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });
const apiKey = (credential: string) => ({ "x-api-key": credential });
const ask = (headers: Record<string, string>, url = signals) => fetch(url, { headers });
const statusOf = async (headers: Record<string, string>, url?: string) =>
  (await ask(headers, url)).status;

/** Requests the tool list from the MCP endpoint. @returns The HTTP status. */
const mcpStatus = async (headers: Record<string, string>) => {
  const accept = "application/json, text/event-stream";
  const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  return (await postJson(`${base}/mcp`, message, { accept, ...headers })).status;
};

describe("an API key", () => {
  verifies(
    ["4.4/api-key", "5.1/api-key", "5.4/2-api-key"],
    "is accepted as x-api-key and as a bearer token, by REST and by MCP",
    async () => {
      const { key } = await keyWith("signals:read");
      for (const headers of [apiKey(key), bearer(key)]) {
        const response = await ask(headers);
        expect(response.status).toBe(200);
        expect(await response.json()).toMatchObject({ symbol: "ALDER.SIM" });
        expect(await mcpStatus(headers)).toBe(200);
      }
    },
  );

  it("grants exactly its scopes", async () => {
    const { key } = await keyWith("factor:read");
    expect(await statusOf(apiKey(key), `${base}/api/factors?symbol=ALDER.SIM`)).toBe(200);
    const refused = await ask(apiKey(key));
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ code: "insufficient_scope" });
  });

  it("is rejected as soon as it is revoked or has expired", async () => {
    const { key, id } = await keyWith("signals:read");
    const short = await keys.create({
      ...{ name: "Short", scopes: ["signals:read"], actor: "operator", ttlMs: 60_000 },
    });
    expect([await statusOf(apiKey(key)), await statusOf(bearer(short.key))]).toEqual([200, 200]);
    await keys.revoke(id, "operator");
    clock.now = new Date(clock.now.getTime() + 60_000);
    for (const credential of [key, short.key]) {
      for (const headers of [apiKey(credential), bearer(credential)]) {
        const response = await ask(headers);
        expect(response.status).toBe(401);
        expect(response.headers.get("www-authenticate")).toMatch(/error="invalid_token"/);
        expect(await response.text()).not.toContain(credential);
        expect(await mcpStatus(headers)).toBe(401);
      }
    }
  });

  it("is rejected when it was never issued, belongs to the live market, or is misspelled", async () => {
    const { key } = await keyWith("signals:read");
    const wrong = key.slice(0, -1) + (key.endsWith("0") ? "1" : "0");
    for (const text of [
      generateApiKey("sandbox"),
      generateApiKey("live"),
      wrong,
      key.toLowerCase(),
    ]) {
      expect(await statusOf(apiKey(text)), text).toBe(401);
    }
  });

  it("has its own rate limit, separate from the limits of other keys used from the same address", async () => {
    const [one, other] = [await keyWith("signals:read"), await keyWith("signals:read")];
    const statuses = [];
    for (let at = 0; at < 21; at += 1) statuses.push(await statusOf(apiKey(one.key)));
    expect(statuses).toEqual([...Array<number>(20).fill(200), 429]);
    const refused = await ask(bearer(one.key));
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(await statusOf(apiKey(other.key))).toBe(200);
  });

  it("records the hour in which it was last used", async () => {
    const { key, id } = await keyWith("signals:read");
    const lastUsedAt = async () => (await keys.list()).find((each) => each.id === id)?.lastUsedAt;
    expect(await lastUsedAt()).toBeUndefined();
    await ask(apiKey(key));
    const hour = Math.floor(clock.now.getTime() / 3_600_000) * 3_600_000;
    await expect.poll(lastUsedAt).toBe(hour);
  });

  it("can be revoked by anyone who sends it to the revocation endpoint", async () => {
    const { key } = await keyWith("signals:read");
    expect(
      (await postForm(`${base}/oauth/revoke`, { token: key, token_type_hint: "x" })).status,
    ).toBe(200);
    expect(await statusOf(apiKey(key))).toBe(401);
  });

  it("never appears in the log", async () => {
    await ask(apiKey((await keyWith("signals:read")).key));
    expect(logged.join()).not.toContain("msv_");
  });
});

describe("the queue token of an early-access application in the sandbox", () => {
  it("is an API key with the read scopes that is valid for seven days", async () => {
    const application = { name: "Ada", email: "ada@host.example", focus: "quant" };
    const answer = await postJson(`${base}/api/apply`, application);
    const { data } = (await answer.json()) as { data: { queueToken: string } };
    const headers = apiKey(data.queueToken);
    for (const path of ["signals", "factors", "darkpool"]) {
      expect(await statusOf(headers, `${base}/api/${path}?symbol=ALDER.SIM`), path).toBe(200);
    }
    const [made] = (await keys.list()).slice(-1);
    expect(made?.scopes).toEqual(["signals:read", "factor:read", "darkpool:read"]);
    clock.now = new Date(clock.now.getTime() + 7 * 86_400_000);
    expect(await statusOf(headers)).toBe(401);
  });
});
