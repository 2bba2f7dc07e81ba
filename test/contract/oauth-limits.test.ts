import { describe, expect, it } from "vitest";
import { EXAMPLE_REGISTRATION, postForm, postJson, register, tokenOf } from "../support/agent.ts";
import { startAuthServer } from "../support/auth-server.ts";
import { registerPublic } from "../support/person.ts";
import { embedded } from "../support/stores.ts";

const now = () => new Date();
const { records } = await embedded.open({ now: () => Date.now() });

const start = (limits: Parameters<typeof startAuthServer>[0]["limits"] = {}) =>
  startAuthServer({ records, now, limits });

const TWO = { points: 2, windowSeconds: 600 };

/** The answer to whoever came too often, in the words of OAuth. */
async function expectRefused(response: Response, quota: string): Promise<void> {
  expect(response.status).toBe(429);
  expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(590);
  expect(await response.json()).toEqual({
    error: "temporarily_unavailable",
    error_description: expect.stringContaining(`The limit ${quota} allows 2 in 600 seconds.`),
  });
}

const basic = (id: string, secret: string) => ({
  authorization: `Basic ${btoa(`${id}:${secret}`)}`,
});

describe("registrations", () => {
  it.each(["register", "register-all"])(
    "are limited by %s, whoever the caller says it is",
    async (quota) => {
      const { local } = await start({ [quota]: TWO });
      const ask = (address: string) =>
        postJson(`${local}/oauth/register`, EXAMPLE_REGISTRATION, { "x-forwarded-for": address });
      expect((await ask("198.51.100.1")).status).toBe(201);
      expect((await ask("198.51.100.2")).status).toBe(201);
      await expectRefused(await ask("198.51.100.3"), quota);
    },
  );

  it("that are too many from one address take nothing from the others", async () => {
    const { local } = await start({
      register: { points: 1, windowSeconds: 600 },
      "register-all": TWO,
    });
    const ask = () => postJson(`${local}/oauth/register`, EXAMPLE_REGISTRATION);
    const answers = [await ask(), await ask(), await ask()];
    expect(answers.map(({ status }) => status)).toEqual([201, 429, 429]);
    const last = (await answers[2]?.json()) as { error_description: string };
    expect(last.error_description).toContain("The limit register allows");
  });
});

describe("requests for tokens", () => {
  it("are limited for each client", async () => {
    const { local } = await start({ token: TWO });
    const [one, other] = [await register(local), await register(local)];
    await tokenOf(local, one);
    await tokenOf(local, one);
    const { client_id, client_secret } = one;
    const form = { grant_type: "client_credentials" };
    await expectRefused(
      await postForm(`${local}/oauth/token`, { ...form, client_id, client_secret }),
      "token",
    );
    const body = new URLSearchParams(form);
    const headers = basic(client_id, client_secret);
    await expectRefused(
      await fetch(`${local}/oauth/token`, { method: "POST", headers, body }),
      "token",
    );
    await tokenOf(local, other);
  });
});

describe("wrong client secrets", () => {
  const wrong = { grant_type: "client_credentials", client_secret: "wrong" };

  it.each([
    ["secret-client", "token", "form"],
    ["secret-address", "token", "form"],
    ["secret-client", "token", "header"],
    ["secret-client", "revoke", "form"],
    ["secret-address", "revoke", "header"],
  ])("lock by %s at /oauth/%s by %s, for the right one too", async (quota, path, by) => {
    const { local } = await start({ [quota]: TWO });
    const client = await register(local);
    const { client_id, client_secret } = client;
    const url = `${local}/oauth/${path}`;
    const guess = (secret: string) => {
      const form = { ...wrong, token: "x" };
      if (by === "form") return postForm(url, { ...form, client_id, client_secret: secret });
      const body = new URLSearchParams({ grant_type: "client_credentials", token: "x" });
      return fetch(url, { method: "POST", headers: basic(client_id, secret), body });
    };
    expect((await guess("wrong")).status).toBe(401);
    expect((await guess(client_secret)).status).toBe(200);
    expect((await guess("wrong too")).status).toBe(401);
    await expectRefused(await guess(client_secret), quota);
  });

  it("of one client lock no other, when the address has tries left", async () => {
    const { local } = await start({ "secret-client": TWO });
    const [one, other] = [await register(local), await register(local)];
    for (let guess = 0; guess < 3; guess += 1) {
      await postForm(`${local}/oauth/token`, { ...wrong, client_id: one.client_id });
    }
    await tokenOf(local, other);
  });

  it("cannot lock a client that has none and that many people use", async () => {
    const { local } = await start({ "secret-client": TWO });
    const { client_id } = await registerPublic(local);
    for (let guess = 0; guess < 3; guess += 1) {
      await postForm(`${local}/oauth/token`, { ...wrong, client_id });
    }
    const form = { grant_type: "refresh_token", refresh_token: "x", client_id };
    expect((await postForm(`${local}/oauth/token`, form)).status).toBe(400);
  });
});
