import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import { createLocalJWKSet } from "jose";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { toWebhookKeySet, WebhookKeySet } from "../../../../src/alerts/delivery/webhook-keys.ts";
import { webhookKeysRouter } from "../../../../src/http/discovery/discovery-routes.ts";
import type { Key } from "../../../../src/keys/key-records.ts";
import { keyUses } from "../../../../src/keys/key-uses.ts";
import { problemHandler } from "../../../support/route-listener.ts";

const NOW = Date.UTC(2026, 10, 21);

function newKey(kid: string, retiredAt: number | null): Key<"webhook-signing"> {
  const jwk = { ...keyUses["webhook-signing"].generate(), kid };
  return { kid, createdAt: NOW - 86_400_000, retiredAt, jwk };
}

const keys = [newKey("new", null), newKey("old", NOW)];

describe("the published webhook keys", () => {
  it("are a JWK Set that contains each key as a JWK and in whpk_ format, with the time until which the key signs", async () => {
    const set = toWebhookKeySet(keys);
    expect(WebhookKeySet.parse(set)).toEqual(set);
    expect(
      set.keys.map(({ kid, created_at, expires_at }) => [kid, created_at, expires_at]),
    ).toEqual([
      ["new", "2026-11-20T00:00:00.000Z", null],
      ["old", "2026-11-20T00:00:00.000Z", "2026-11-28T00:00:00.000Z"],
    ]);
    for (const { public_key, x, ...rest } of set.keys) {
      expect(rest).toMatchObject({ kty: "OKP", crv: "Ed25519", alg: "Ed25519", use: "sig" });
      expect(public_key).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/);
      const bytes = Buffer.from(public_key.slice(5), "base64");
      expect(bytes.toString("base64url")).toBe(x);
    }
    const found = await createLocalJWKSet(set)({ alg: "Ed25519", kid: "old" });
    expect(found.algorithm.name).toBe("Ed25519");
  });

  it("never contain a private key", () => {
    const text = JSON.stringify(toWebhookKeySet(keys));
    for (const { jwk } of keys) expect(text).not.toContain(jwk.d);
  });
});

describe("the endpoint /.well-known/webhook-keys.json", () => {
  let current = keys;
  let url = "";
  beforeAll(async () => {
    const app = express().use(webhookKeysRouter(() => toWebhookKeySet(current)));
    app.use(problemHandler(() => undefined));
    const server = app.listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/.well-known/webhook-keys.json`;
    return () => void server.close();
  });

  it("is cacheable for five minutes", async () => {
    const answer = await fetch(url);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(answer.headers.get("cache-control")).toBe("public, max-age=300");
    expect(await answer.json()).toEqual(toWebhookKeySet(keys));
  });

  it("returns the current keys", async () => {
    current = [newKey("newest", null), ...keys];
    onTestFinished(() => {
      current = keys;
    });
    const { keys: published } = WebhookKeySet.parse(await (await fetch(url)).json());
    expect(published.map(({ kid }) => kid)).toEqual(["newest", "new", "old"]);
  });

  it("responds to HEAD without a body, and to methods other than GET and HEAD with 405", async () => {
    const head = await fetch(url, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    for (const method of ["POST", "PUT", "DELETE", "PATCH"]) {
      const answer = await fetch(url, { method });
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
      expect(await answer.json()).toMatchObject({ code: "method_not_allowed" });
    }
  });
});
