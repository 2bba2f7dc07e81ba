import { decodeJwt, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import type { CustomFetch } from "openid-client";
import { describe, expect, it } from "vitest";
import type { SignUpMode } from "../../src/access/sign-up-mode.ts";
import { Problem } from "../../src/lib/problem.ts";
import { createUpstreamSignIn } from "../../src/principals/accounts/upstream-sign-in.ts";
import type { Records } from "../../src/store/port/records.ts";
import { peopleOf } from "../support/account-parts.ts";
import { startOpenIdProvider } from "../support/openid-provider.ts";
import { dumpStore, embedded, openStore, slowRecords } from "../support/stores.ts";

const REDIRECT_URI = "http://127.0.0.1:1/sign-in/callback";
const BROWSER = "the secret of a browser";
const ADA = "ada@people.example";

interface Choice {
  readonly signUp?: SignUpMode;
  readonly accepted?: readonly string[];
  readonly authentication?: "client_secret_basic" | "client_secret_post";
  readonly through?: (records: Records) => Records;
  readonly fetch?: CustomFetch;
}

async function begin(choice: Choice = {}) {
  const { signUp = "open", accepted = [], through = (records: Records) => records } = choice;
  const { authentication = "client_secret_basic" } = choice;
  const store = await openStore(embedded);
  const records = through(store.records);
  const provider = await startOpenIdProvider({ redirectUri: REDIRECT_URI, authentication });
  const { accounts } = peopleOf(store, records);
  const failures: unknown[] = [];
  const upstream = createUpstreamSignIn({
    choice: { issuer: provider.issuer, ...provider.client },
    ...{ redirectUri: REDIRECT_URI, records, accounts, signUp },
    ...(choice.fetch && { fetch: choice.fetch }),
    isAccepted: async (email) => accepted.includes(email),
    onError: (error) => failures.push(error),
  });
  /**
   * Signs in at the provider.
   * @returns The callback URL to which the provider redirects the browser.
   */
  const answer = async (change: (url: URL) => void = () => {}): Promise<URL> => {
    const url = await upstream.start(BROWSER, "/account");
    change(url);
    return provider.visit(url);
  };
  return { store, provider, accounts, upstream, failures, answer };
}

const otherKey = await generateKeyPair("RS256");

/** A `fetch` that replaces claims in the provider's ID tokens and signs them with another key. */
async function saying(claims: JWTPayload): Promise<CustomFetch> {
  const { privateKey, publicKey } = otherKey;
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg: "RS256", use: "sig" }] };
  return async (url, options) => {
    const answer = await fetch(url, options as RequestInit);
    if (url.endsWith("/jwks")) return Response.json(jwks);
    if (!url.endsWith("/token")) return answer;
    const tokens = (await answer.json()) as { readonly id_token: string };
    const token = new SignJWT({ ...decodeJwt(tokens.id_token), ...claims });
    const id_token = await token.setProtectedHeader({ alg: "RS256" }).sign(privateKey);
    return Response.json({ ...tokens, id_token });
  };
}

const changed = (url: URL, name: string, value: string | undefined): URL => {
  const other = new URL(url);
  if (value === undefined) other.searchParams.delete(name);
  else other.searchParams.set(name, value);
  return other;
};

async function problemOf(call: Promise<unknown>): Promise<Problem> {
  const error = await call.then(() => undefined).catch((thrown: unknown) => thrown);
  if (!(error instanceof Problem)) expect.fail(`${error} is no problem`);
  return error;
}

describe("the sign-in with an external OpenID provider", () => {
  it("uses PKCE, state and nonce, and requests only the identity", async () => {
    const { upstream, provider } = await begin();
    expect(upstream.name).toBe(new URL(provider.issuer).host);
    const url = await upstream.start(BROWSER, "/account");
    expect(url.origin).toBe(provider.issuer);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      ...{ client_id: "market-signal", response_type: "code", scope: "openid email" },
      ...{ redirect_uri: REDIRECT_URI, code_challenge_method: "S256" },
      ...{ prompt: "login", max_age: "300" },
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    });
    const { searchParams } = await upstream.start(BROWSER, "/account");
    for (const name of ["state", "nonce", "code_challenge"]) {
      expect(searchParams.get(name)).not.toBe(url.searchParams.get(name));
    }
  });

  it.each(["client_secret_basic", "client_secret_post"] as const)(
    "identifies the account by issuer and subject (%s)",
    async (authentication) => {
      const { upstream, provider, accounts, answer } = await begin({ authentication });
      const done = await upstream.finish(BROWSER, await answer());
      const subject = { issuer: provider.issuer, subject: "248289", label: "" };
      const account = await accounts.findOrCreateBySubject(subject);
      expect(done).toMatchObject({ accountId: account.id, returnTo: "/account" });
      expect(account).toMatchObject({ email: undefined, label: ADA });
      const again = await upstream.finish(BROWSER, await answer());
      expect(again?.accountId).toBe(account.id);
      expect(provider.asked.filter((path) => path.includes("openid-configuration"))).toHaveLength(
        1,
      );
    },
  );

  it("never selects an account because of an equal email address", async () => {
    const { upstream, accounts, answer } = await begin();
    const own = await accounts.findOrCreateByEmail(ADA);
    const done = await upstream.finish(BROWSER, await answer());
    expect(done?.accountId).not.toBe(own.id);
    expect((await accounts.findOrCreateByEmail(ADA)).id).toBe(own.id);
  });

  it("does not use an unverified email address as the name", async () => {
    const { upstream, provider, accounts, answer } = await begin();
    provider.person = { sub: "7", email: ADA, email_verified: false };
    const done = await upstream.finish(BROWSER, await answer());
    expect(await accounts.find(done?.accountId ?? "")).toMatchObject({ label: "7" });
  });

  it("reads only the query of the callback URL", async () => {
    const { upstream, answer } = await begin();
    const { search } = await answer();
    const poisoned = new URL(`https://evil.example/else${search}`);
    expect(await upstream.finish(BROWSER, poisoned)).toBeDefined();
  });

  it("stores nothing that lets a reader of the store sign in", async () => {
    const { store, answer } = await begin();
    const back = await answer();
    const kept = JSON.stringify(await dumpStore(store.store));
    expect(kept).toContain("upstream-attempts");
    expect(kept).not.toContain(BROWSER);
    expect(kept).not.toContain(back.searchParams.get("state"));
  });
});

describe("the time of a sign-in with the provider", () => {
  const nowSeconds = () => Math.floor(Date.now() / 1000);

  it("is the provider's auth_time, not the time of the callback", async () => {
    const authTime = nowSeconds() - 200;
    const { upstream, answer } = await begin({ fetch: await saying({ auth_time: authTime }) });
    const done = await upstream.finish(BROWSER, await answer());
    expect(done?.signedInAt).toBe(authTime * 1000);
  });

  it("is treated as long past when auth_time is missing", async () => {
    const { upstream, answer } = await begin({ fetch: await saying({ auth_time: undefined }) });
    const done = await upstream.finish(BROWSER, await answer());
    expect(done?.signedInAt).toBe(0);
  });
});

describe("a callback is rejected", () => {
  it("in a browser other than the one that started the sign-in", async () => {
    const { upstream, answer } = await begin();
    const back = await answer();
    expect(await upstream.finish("another browser", back)).toBeUndefined();
    await upstream.start("another browser", "/account");
    expect(await upstream.finish("another browser", back)).toBeUndefined();
    expect(await upstream.finish(BROWSER, back)).toBeDefined();
  });

  it.each([undefined, "", "wrong"])(
    "with the state %j, and leaves the pending sign-in intact",
    async (state) => {
      const { upstream, answer } = await begin();
      const back = await answer();
      expect(await upstream.finish(BROWSER, changed(back, "state", state))).toBeUndefined();
      expect(await upstream.finish(BROWSER, back)).toBeDefined();
    },
  );

  it("when it was used before, or by another of a hundred concurrent requests", async () => {
    const { upstream, answer } = await begin({ through: slowRecords });
    const back = await answer();
    const all = Array.from({ length: 100 }, () => upstream.finish(BROWSER, back));
    expect((await Promise.all(all)).filter((done) => done !== undefined)).toHaveLength(1);
    expect(await upstream.finish(BROWSER, back)).toBeUndefined();
  });

  it("ten minutes after the start of the sign-in, or after the same browser has started another sign-in", async () => {
    const { store, upstream, answer } = await begin();
    const late = await answer();
    store.clock.now += 600_000;
    expect(await upstream.finish(BROWSER, late)).toBeUndefined();
    const first = await answer();
    const second = await answer();
    expect(await upstream.finish(BROWSER, first)).toBeUndefined();
    expect(await upstream.finish(BROWSER, second)).toBeDefined();
  });

  it.each<[string, (url: URL) => void]>([
    ["with another nonce", (url) => url.searchParams.set("nonce", "other")],
    ["without a nonce", (url) => url.searchParams.delete("nonce")],
    [
      "with another code challenge",
      (url) => url.searchParams.set("code_challenge", "x".repeat(43)),
    ],
  ])("%s", async (_, change) => {
    const { upstream, failures, answer } = await begin();
    expect(await upstream.finish(BROWSER, await answer(change))).toBeUndefined();
    expect(failures).toHaveLength(1);
  });

  it.each(["https://other.example", undefined])("with the issuer %j (RFC 9207)", async (issuer) => {
    const { upstream, provider, answer } = await begin();
    const back = changed(await answer(), "iss", issuer);
    expect(await upstream.finish(BROWSER, back)).toBeUndefined();
    expect(provider.asked).not.toContain("/token");
  });

  it("with an invalid code, or with two codes", async () => {
    const { upstream, failures, answer } = await begin();
    expect(await upstream.finish(BROWSER, changed(await answer(), "code", "x"))).toBeUndefined();
    const twice = await answer();
    twice.searchParams.append("code", "x");
    expect(await upstream.finish(BROWSER, twice)).toBeUndefined();
    expect(failures.join()).toMatch(/sign-in at 127\.0\.0\.1:\d+ failed: .*invalid_grant/);
    expect(failures.join()).not.toContain("secret");
  });

  it("when the person declines, which is not logged as a failure", async () => {
    const { upstream, provider, failures, answer } = await begin();
    provider.person = undefined;
    const back = await answer();
    expect(back.searchParams.get("error")).toBe("access_denied");
    expect(await upstream.finish(BROWSER, back)).toBeUndefined();
    expect(failures).toEqual([]);
  });
});

describe("a person with an external account", () => {
  it.each<[SignUpMode, boolean, boolean]>([
    ["open", false, true],
    ["applications", false, false],
    ["applications", true, true],
    ["closed", true, false],
  ])(
    "with SIGN_UP=%s and an accepted application (%j) may sign in: %j",
    async (signUp, isAccepted, isLetIn) => {
      const { upstream, answer } = await begin({ signUp, accepted: isAccepted ? [ADA] : [] });
      const done = await upstream.finish(BROWSER, await answer());
      expect(done !== undefined).toBe(isLetIn);
    },
  );

  it.each<SignUpMode>(["applications", "closed"])(
    "may sign in again after an earlier sign-in, with SIGN_UP=%s",
    async (signUp) => {
      const { upstream, provider, accounts, answer } = await begin({ signUp });
      const { issuer } = provider;
      const { id } = await accounts.findOrCreateBySubject({
        issuer,
        subject: "248289",
        label: "Ada",
      });
      expect((await upstream.finish(BROWSER, await answer()))?.accountId).toBe(id);
    },
  );

  it("is not matched to an accepted early-access application by an unverified email address", async () => {
    for (const person of [
      { sub: "7", email: ADA, email_verified: false },
      { sub: "7", email: ADA },
      { sub: "7", email: `${ADA}\r\n`, email_verified: true },
      { sub: "7" },
    ]) {
      const { upstream, provider, answer } = await begin({
        signUp: "applications",
        accepted: [ADA],
      });
      provider.person = person;
      expect(await upstream.finish(BROWSER, await answer())).toBeUndefined();
    }
  });
});

describe("an unavailable provider", () => {
  it("causes a problem document until it answers again", async () => {
    const { upstream, provider, failures } = await begin();
    await provider.stop();
    const problem = await problemOf(upstream.start(BROWSER, "/account"));
    expect(problem.status).toBe(503);
    expect(problem.detail).toContain(new URL(provider.issuer).host);
    expect(failures).toHaveLength(1);
    await startOpenIdProvider({ redirectUri: REDIRECT_URI, port: provider.port });
    expect((await upstream.start(BROWSER, "/account")).origin).toBe(provider.issuer);
  });

  it.each(["/token", "/jwks", "/me"])(
    "causes a problem document rather than a rejection when %s fails",
    async (path) => {
      const { upstream, provider, answer } = await begin();
      const back = await answer();
      provider.fault = { path, status: 502 };
      expect((await problemOf(upstream.finish(BROWSER, back))).status).toBe(503);
    },
  );

  it("times out after five seconds", { tags: ["full"] }, async () => {
    const { upstream, provider } = await begin();
    provider.fault = { path: "/", status: "silent" };
    const startedAt = performance.now();
    expect((await problemOf(upstream.start(BROWSER, "/account"))).status).toBe(503);
    expect(performance.now() - startedAt).toBeLessThan(8_000);
  });

  it("causes a problem document when it fails during the callback", async () => {
    const { upstream, provider, answer } = await begin();
    const back = await answer();
    await provider.stop();
    expect((await problemOf(upstream.finish(BROWSER, back))).status).toBe(503);
  });

  it("causes a problem document when its metadata contains another issuer", async () => {
    const { store, provider, accounts } = await begin();
    const upstream = createUpstreamSignIn({
      choice: { issuer: provider.issuer.replace("127.0.0.1", "localhost"), ...provider.client },
      ...{ redirectUri: REDIRECT_URI, records: store.records, accounts, signUp: "open" },
      ...{ isAccepted: async () => false, onError: () => {} },
    });
    expect((await problemOf(upstream.start(BROWSER, "/account"))).status).toBe(503);
  });
});
