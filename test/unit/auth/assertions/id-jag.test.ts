import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { describe, expect, it, vi } from "vitest";
import { createAuditor } from "../../../../src/access/auditor.ts";
import {
  type AssertionVerifier,
  createAssertionVerifier,
  usedAssertions,
} from "../../../../src/auth/assertions/id-jag.ts";
import { insert } from "../../../../src/store/port/operations.ts";
import {
  type Claims,
  claimsFor,
  type IdentityProvider,
  startIdentityProvider,
} from "../../../support/identity-provider.ts";
import { embedded, model, openStore, START, type TestStore } from "../../../support/stores.ts";

const BASE = "https://signals.example";
const CLIENT = "agt_client";
const HOUR = 3600;
const now = START / 1000;

interface Setting extends TestStore {
  readonly idp: IdentityProvider;
  readonly verifier: AssertionVerifier;
}

async function setting(of = model, audience = BASE): Promise<Setting> {
  const store = await openStore(of);
  const idp = await startIdentityProvider();
  const clock = () => new Date(store.clock.now);
  const verifier = createAssertionVerifier({
    issuers: await idp.trusted(),
    audience,
    records: store.records,
    audit: createAuditor({ hashAddress: (address) => address, now: clock }),
    now: clock,
  });
  return { ...store, idp, verifier };
}

/**
 * Returns the result for a client's default assertion with some claims and header members changed.
 */
async function outcome(changes: Claims, header = {}): Promise<unknown> {
  const { idp, verifier } = await setting();
  const token = await idp.sign({ ...claimsFor(BASE, CLIENT, START), ...changes }, header);
  return verifier.forClient(token, CLIENT);
}

it("the verifier accepts an identity assertion from a trusted issuer for the client", async () => {
  const { idp, verifier } = await setting();
  const claims = { ...claimsFor(BASE, CLIENT, START), scope: "signals:read admin alerts:write" };
  expect(await verifier.forClient(await idp.sign(claims), CLIENT)).toMatchObject({
    subject: { issuer: idp.issuer, subject: "person-1", label: "person@corp.example (Corp)" },
    scopes: ["signals:read", "alerts:write"],
    resources: undefined,
  });
});

it.each<[string, Claims, object]>([
  ["an array of one audience", { aud: [BASE] }, {}],
  ["the full media type", {}, { typ: "application/oauth-id-jag+jwt" }],
  ["an expiry less than a minute ago", { iat: now - 300, exp: now - 59 }, {}],
  ["an issue time less than a minute ahead", { iat: now + 59, exp: now + 300 }, {}],
  ["a lifetime of ten minutes", { iat: now, exp: now + 600 }, {}],
  ["a single resource", { resource: `${BASE}/mcp` }, {}],
])("the verifier accepts an identity assertion with %s", async (_what, changes, header) => {
  expect(await outcome(changes, header)).toMatchObject({ use: { key: expect.any(String) } });
});

it("an identity assertion grants only its own scopes and resources", async () => {
  expect(await outcome({ scope: "admin", resource: [BASE] })).toMatchObject({
    scopes: [],
    resources: [BASE],
  });
});

it("an identity assertion identifies a person by subject when the email address is unusable", async () => {
  expect(await outcome({ email: "<b>@x\u202e" })).toMatchObject({
    subject: { label: "person-1 (Corp)" },
  });
});

it.each<[string, Claims, object]>([
  ["invalid_request", {}, { typ: "JWT" }],
  ["invalid_request", {}, { typ: undefined }],
  ["invalid_request", {}, { typ: "at+jwt" }],
  ["invalid_request", {}, { typ: "agent-assertion+jwt" }],
  ["invalid_audience", { aud: "https://other.example" }, {}],
  ["invalid_audience", { aud: `${BASE}/` }, {}],
  ["invalid_audience", { aud: `${BASE}/oauth/token` }, {}],
  ["invalid_audience", { aud: [BASE, "https://other.example"] }, {}],
  ["invalid_audience", { aud: [BASE, BASE] }, {}],
  ["invalid_audience", { aud: [] }, {}],
  ["invalid_audience", { aud: undefined }, {}],
  ["invalid_client_id", { client_id: "agt_other" }, {}],
  ["invalid_client_id", { client_id: `${CLIENT} ` }, {}],
  ["invalid_request", { client_id: undefined }, {}],
  ["invalid_request", { client_id: [CLIENT] }, {}],
  ["issuer_not_enabled", { iss: "https://stranger.example" }, {}],
  ["issuer_not_enabled", { iss: BASE }, {}],
  ["invalid_request", { iss: undefined }, {}],
  ["expired", { iat: now - 300, exp: now - 61 }, {}],
  ["expired", { iat: now - 661, exp: now + 10 }, {}],
  ["invalid_request", { iat: now + 61, exp: now + 300 }, {}],
  ["invalid_request", { nbf: now + 61 }, {}],
  ["invalid_request", { exp: now + 601 }, {}],
  ["invalid_request", { exp: undefined }, {}],
  ["invalid_request", { iat: undefined }, {}],
  ["invalid_request", { jti: undefined }, {}],
  ["invalid_request", { jti: "" }, {}],
  ["invalid_request", { jti: "j".repeat(256) }, {}],
  ["invalid_request", { sub: undefined }, {}],
  ["invalid_request", { sub: "" }, {}],
  ["invalid_request", { sub: "per\nson" }, {}],
  ["invalid_request", { scope: ["signals:read"] }, {}],
  ["invalid_signature", {}, { kid: "unknown" }],
])(
  "the verifier reports %s for the changed claims %j and the changed header %j",
  async (reason, changes, header) => {
    expect(await outcome(changes, header)).toBe(reason);
  },
);

it("the verifier rejects text that is not a JWT", async () => {
  const { verifier } = await setting();
  for (const text of ["", "a", "a.b.c", "a.b.c.d", "e30.e30.", "{}", "e30.W10.AA"]) {
    expect(await verifier.forClient(text, CLIENT)).toBe("invalid_request");
  }
});

it("the verifier rejects a wrong key, a changed body, a missing signature, and an HMAC made with the public key", async () => {
  const { idp, verifier } = await setting();
  const claims = { iss: idp.issuer, ...claimsFor(BASE, CLIENT, START) };
  const header = { typ: "oauth-id-jag+jwt", kid: String(idp.keys[0]?.kid) };
  const { privateKey } = await generateKeyPair("ES256");
  const forged = await new SignJWT(claims)
    .setProtectedHeader({ ...header, alg: "ES256" })
    .sign(privateKey);
  const hmac = await new SignJWT(claims)
    .setProtectedHeader({ ...header, alg: "HS256" })
    .sign(new TextEncoder().encode(JSON.stringify(idp.keys[0])));
  const [head, , signature] = (await idp.sign(claims)).split(".");
  const body = Buffer.from(JSON.stringify({ ...claims, sub: "other" })).toString("base64url");
  const changed = `${head}.${body}.${signature}`;
  const [, unsigned] = new UnsecuredJWT(claims).encode().split(".");
  const withoutSignature = ["none", "nOnE", "ES256"].map((alg) => {
    const typed = Buffer.from(JSON.stringify({ ...header, alg })).toString("base64url");
    return `${typed}.${unsigned}.`;
  });

  for (const token of [forged, hmac, changed, ...withoutSignature]) {
    expect(await verifier.forClient(token, CLIENT)).toBe("invalid_signature");
  }
});

it("the verifier rejects an algorithm that is not allowed, with any key", async () => {
  const { idp, verifier } = await setting();
  const { privateKey, publicKey } = await generateKeyPair("PS384");
  idp.publish({ ...(await exportJWK(publicKey)), kid: "rsa" });
  const token = await new SignJWT({ iss: idp.issuer, ...claimsFor(BASE, CLIENT, START) })
    .setProtectedHeader({ alg: "PS384", kid: "rsa", typ: "oauth-id-jag+jwt" })
    .sign(privateKey);
  expect(await verifier.forClient(token, CLIENT)).toBe("invalid_signature");
});

it("the verifier never trusts this server itself, even when the operator lists it", async () => {
  const idp = await startIdentityProvider();
  const store = await openStore(model);
  const verifier = createAssertionVerifier({
    issuers: await idp.trusted(),
    audience: idp.issuer,
    records: store.records,
    audit: () => [],
    now: () => new Date(START),
  });
  const token = await idp.sign(claimsFor(idp.issuer, CLIENT, START));
  expect(await verifier.forClient(token, CLIENT)).toBe("issuer_not_enabled");
});

it("the verifier fetches the issuer's keys once, and once more for an unknown key id", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  try {
    const { idp, verifier } = await setting();
    const present = async (header = {}) =>
      verifier.forClient(await idp.sign(claimsFor(BASE, CLIENT, START), header), CLIENT);

    await Promise.all([present(), present(), present()]);
    expect(idp.fetches()).toBe(1);
    await present({ kid: "unknown" });
    expect(idp.fetches()).toBe(1);

    vi.setSystemTime(START + 31_000);
    await idp.rotate();
    expect(await present()).toMatchObject({ use: { key: expect.any(String) } });
    expect(idp.fetches()).toBe(2);
    expect(await present({ kid: "unknown" })).toBe("invalid_signature");
    expect(idp.fetches()).toBe(2);
  } finally {
    vi.useRealTimers();
  }
});

it("the verifier reports when the issuer's keys are unavailable", async () => {
  const { idp, verifier } = await setting();
  const token = await idp.sign(claimsFor(BASE, CLIENT, START));
  await idp.stop();
  expect(await verifier.forClient(token, CLIENT)).toBe("issuer_unreachable");
});

it.each<[string, Claims]>([
  ["invalid_client_id", { client_id: "https://agent.example/client.json" }],
  ["accepted", { auth_time: now - HOUR }],
  ["invalid_client_id", { client_id: CLIENT }],
  ["invalid_client_id", { client_id: "http://agent.example/client.json" }],
  ["invalid_client_id", { client_id: "javascript:alert(1)" }],
  ["login_required", { auth_time: undefined }],
  ["login_required", { auth_time: now - HOUR - 1 }],
  ["login_required", { auth_time: now + 61 }],
])(
  "the verification of an assertion at registration results in %s for the changed claims %j",
  async (expected, changes) => {
    const { idp, verifier } = await setting();
    const claims = { ...claimsFor(BASE, idp.issuer, START), ...changes };
    const result = await verifier.forRegistration(await idp.sign(claims));
    expect(typeof result === "string" ? result : "accepted").toBe(expected);
  },
);

describe("the single use of an assertion", () => {
  it("succeeds once in 100 concurrent uses, and is rejected until the assertion expires", async () => {
    const { idp, verifier, records, clock } = await setting(embedded);
    const token = await idp.sign(claimsFor(BASE, CLIENT, START));
    const results = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const verified = await verifier.forClient(token, CLIENT);
        return (
          typeof verified !== "string" &&
          (await records.commit([insert(usedAssertions, { ...verified.use, value: {} })]))
        );
      }),
    );
    expect(results.filter((made) => made)).toHaveLength(1);
    expect(await verifier.forClient(token, CLIENT)).toBe("replay_detected");
    clock.now += 359_000;
    expect(await verifier.forClient(token, CLIENT)).toBe("replay_detected");
    clock.now += 2000;
    expect(await verifier.forClient(token, CLIENT)).toBe("expired");
  });

  it("does not affect the same jti from another issuer", async () => {
    const first = await setting(embedded);
    const second = await startIdentityProvider();
    const both = createAssertionVerifier({
      issuers: [...(await first.idp.trusted()), ...(await second.trusted())],
      audience: BASE,
      records: first.records,
      audit: () => [],
      now: () => new Date(START),
    });
    const claims = claimsFor(BASE, CLIENT, START);
    const one = await both.forClient(await first.idp.sign(claims), CLIENT);
    if (typeof one === "string") throw new Error(one);
    await first.records.commit([insert(usedAssertions, { ...one.use, value: {} })]);
    expect(await both.forClient(await second.sign(claims), CLIENT)).toMatchObject({
      subject: { issuer: second.issuer },
    });
  });
});
