import { describe, expect, it } from "vitest";
import { fingerprint } from "../../src/lib/fingerprint.ts";
import { clients } from "../../src/principals/agents/agent.ts";
import { replace } from "../../src/store/port/operations.ts";
import { collection } from "../../src/store/port/records.ts";
import { type RegisteredAgent, register } from "../support/agent.ts";
import { startAuthServer } from "../support/auth-server.ts";
import { embedded } from "../support/stores.ts";

const { records } = await embedded.open({ now: Date.now });
const now = () => new Date();
const server = await startAuthServer({ records, now });
const base = server.local;

/** A header that disables the fast path and that the OAuth library ignores. */
const LONG_WAY = { dpop: "none" };

const tokens = collection<Readonly<Record<string, unknown>>>("oidc:ClientCredentials");

/** Requests a token. @returns The parts of the answer that do not differ between requests. */
async function ask(form: URLSearchParams, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`${base}/oauth/token`, { method: "POST", body: form, headers });
  const { access_token: token = "", ...body } = (await response.json()) as {
    access_token?: string;
  };
  const kept = await records.get(tokens, fingerprint(token));
  const { iat = 0, exp = 0, ...value } = kept?.value ?? {};
  return {
    status: response.status,
    body,
    tokenLength: token.length,
    headers: ["content-type", "cache-control", "www-authenticate"].map((name) =>
      response.headers.get(name),
    ),
    kept: kept && { value, groups: kept.groups, seconds: Number(exp) - Number(iat) },
  };
}

async function claimedAgent(): Promise<RegisteredAgent> {
  const agent = await register(base);
  const stored = await records.get(clients, agent.client_id);
  if (stored === undefined) throw new Error("not kept");
  const { metadata, agent: before } = stored.value;
  const owner = { accountId: "acc_1", scopes: ["alerts:write"], claimedAt: 1 } as const;
  const value = {
    metadata: { ...metadata, scope: "signals:read alerts:write" },
    agent: { ...before, owner },
  };
  await records.commit([replace(clients, stored, { value })]);
  return agent;
}

const unclaimed = await register(base);
const claimed = await claimedAgent();
const byBasic = await register(base, { token_endpoint_auth_method: "client_secret_basic" });
const forPeople = await register(base, {
  grant_types: ["authorization_code"],
  token_endpoint_auth_method: "client_secret_post",
});

type Form = readonly (readonly [string, string])[];
const formOf = ({ client_id, client_secret }: RegisteredAgent, more: Form = []): Form => [
  ["grant_type", "client_credentials"],
  ["client_id", client_id],
  ["client_secret", client_secret],
  ...more,
];

function encoded(form: Form): URLSearchParams {
  const encoding = new URLSearchParams();
  for (const [name, value] of form) encoding.append(name, value);
  return encoding;
}

const plain: readonly (readonly [string, Form])[] = [
  ["an unclaimed agent", formOf(unclaimed)],
  ["a claimed agent", formOf(claimed)],
  ["a client registered for HTTP Basic authentication", formOf(byBasic)],
  ["one scope", formOf(unclaimed, [["scope", "factor:read"]])],
  ["two scopes", formOf(unclaimed, [["scope", "factor:read signals:read"]])],
  ["an empty scope", formOf(unclaimed, [["scope", ""]])],
  ["the resource /mcp", formOf(unclaimed, [["resource", `${base}/mcp`]])],
  ["a resource with a trailing slash", formOf(unclaimed, [["resource", `${base}/`]])],
];

const others: readonly (readonly [string, Form])[] = [
  ["a wrong secret", formOf({ ...unclaimed, client_secret: "wrong" })],
  ["the hash of the secret", formOf({ ...unclaimed, client_secret: fingerprint("x") })],
  ["no secret", formOf(unclaimed).slice(0, 2)],
  ["an unknown client", formOf({ ...unclaimed, client_id: "agt_unknown" })],
  ["a client without the client_credentials grant", formOf(forPeople)],
  ["a scope that unclaimed agents cannot get", formOf(unclaimed, [["scope", "alerts:write"]])],
  ["a scope that the owner did not allow", formOf(claimed, [["scope", "signals:read"]])],
  ["an unknown scope", formOf(unclaimed, [["scope", "all"]])],
  ["scopes with extra spaces", formOf(unclaimed, [["scope", " factor:read  signals:read"]])],
  ["a scope with a tab", formOf(unclaimed, [["scope", "factor:read\tsignals:read"]])],
  [
    "the resource of another server",
    formOf(unclaimed, [["resource", "https://elsewhere.example"]]),
  ],
  [
    "two resources",
    formOf(unclaimed, [
      ["resource", base],
      ["resource", `${base}/mcp`],
    ]),
  ],
  ["a repeated parameter", formOf(unclaimed, [["client_id", unclaimed.client_id]])],
  ["an additional parameter", formOf(unclaimed, [["audience", base]])],
  ["another grant type", [["grant_type", "password"], ...formOf(unclaimed).slice(1)]],
];

describe("the fast path of client_credentials requests", () => {
  it.each(plain)(
    "gives the same answer and stores the same data as the OAuth library for %s",
    async (_name, form) => {
      const short = await ask(encoded(form));
      const long = await ask(encoded(form), LONG_WAY);
      expect(short.status).toBe(200);
      expect(short.kept?.seconds).toBe(3600);
      expect(short).toEqual(long);
    },
  );

  it.each(others)("gives the same answer as the OAuth library for %s", async (_name, form) => {
    const short = await ask(encoded(form));
    const long = await ask(encoded(form), LONG_WAY);
    expect(short).toEqual(long);
  });

  it("is not used for an agent that must be claimed first", async () => {
    const agent = await register(base, { type: "service_auth", login_hint: "ann@example.com" });
    const { status, body } = await ask(encoded(formOf(agent)));
    expect([status, body]).toEqual([
      400,
      {
        error: "unauthorized_client",
        error_description: expect.stringContaining("/oauth/claim/start"),
      },
    ]);
  });

  it("never issues the same token twice", async () => {
    const form = () =>
      fetch(`${base}/oauth/token`, {
        method: "POST",
        body: encoded(formOf(unclaimed)),
      });
    const answers = await Promise.all(Array.from({ length: 50 }, form));
    const bodies = await Promise.all(answers.map((answer) => answer.json()));
    const given = bodies.map((body) => (body as { access_token: string }).access_token);
    expect(new Set(given).size).toBe(50);
  });
});
