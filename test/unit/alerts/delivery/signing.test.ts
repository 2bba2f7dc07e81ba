import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import fc from "fast-check";
import { type CryptoKey, importJWK } from "jose";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import {
  createSignatureHeaders,
  generateSigningSecret,
  isSigningSecret,
  type PrivateKeyJwk,
  type SignatureHeaders,
  type SignedMessage,
  verifySignatures,
} from "../../../../src/alerts/delivery/signing.ts";

const newKey = () =>
  generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" }) as unknown as PrivateKeyJwk;

/**
 * A signed message with the current time, because the verification library reads the real clock.
 */
const attempted = (parts: Partial<SignedMessage> = {}): SignedMessage => ({
  id: "msg_1",
  at: Date.now(),
  body: '{"type":"signal.shift","data":{"symbol":"ALDER.SIM","name":"Ümlaut \\u0000 🐂"}}',
  secrets: [generateSigningSecret()],
  keys: [],
  ...parts,
});

const [secret, old, other] = [
  generateSigningSecret(),
  generateSigningSecret(),
  generateSigningSecret(),
];
const [key, oldKey] = [newKey(), newKey()];

/** Verifies a signature as the specification describes, without using code of the service. */
function isSignedBy({ x }: PrivateKeyJwk, headers: SignatureHeaders, body: string): boolean {
  // DER prefix of the SubjectPublicKeyInfo of an Ed25519 key (RFC 8410 section 10.1).
  const head = Buffer.from("302a300506032b6570032100", "hex");
  const der = Buffer.concat([head, Buffer.from(x, "base64url")]);
  const publicKey = createPublicKey({ key: der, format: "der", type: "spki" });
  const content = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  return headers["webhook-signature"]
    .split(" ")
    .filter((each) => each.startsWith("v1a,"))
    .some((each) =>
      verify(null, Buffer.from(content), publicKey, Buffer.from(each.slice(4), "base64")),
    );
}

describe("a signing secret", () => {
  it("consists of whsec_ and 32 random bytes in base64", () => {
    const secrets = Array.from({ length: 100 }, generateSigningSecret);
    expect(new Set(secrets).size).toBe(100);
    for (const each of secrets) {
      expect(each).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      expect(isSigningSecret(each)).toBe(true);
    }
  });

  it.each([
    ["", false],
    ["whsec_", false],
    [`whsec_${Buffer.alloc(23).toString("base64")}`, false],
    [`whsec_${Buffer.alloc(24).toString("base64")}`, true],
    [`whsec_${Buffer.alloc(64).toString("base64")}`, true],
    [`whsec_${Buffer.alloc(65).toString("base64")}`, false],
    [`whpk_${Buffer.alloc(32).toString("base64")}`, false],
    [`whsec_${Buffer.alloc(32).toString("base64").slice(0, -1)}`, false],
    [`whsec_${Buffer.alloc(32, 255).toString("base64url")}`, false],
  ])("is valid only as whsec_ and 24 to 64 bytes in base64: %s", (text, expected) => {
    expect(isSigningSecret(text)).toBe(expected);
  });
});

describe("the signature of a delivery", () => {
  it("matches the test vector of the Standard Webhooks specification", () => {
    // The example of the Standard Webhooks reference libraries.
    const headers = createSignatureHeaders({
      id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
      at: 1_614_265_330_000,
      body: '{"test": 2432232314}',
      secrets: ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
      keys: [],
    });
    expect(headers).toEqual({
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    });
  });

  it("is verified by the Standard Webhooks library with each current secret, and with no other secret", () => {
    const sent = attempted({ secrets: [secret, old], keys: [key, oldKey] });
    const headers = createSignatureHeaders(sent);
    for (const known of [secret, old]) {
      expect(new Webhook(known).verify(sent.body, headers)).toEqual(JSON.parse(sent.body));
    }
    expect(() => new Webhook(other).verify(sent.body, headers)).toThrow("No matching signature");
    const changed = sent.body.replace("ALDER", "BIRCH");
    expect(() => new Webhook(secret).verify(changed, headers)).toThrow("No matching signature");
    const renamed = { ...headers, "webhook-id": "msg_2" };
    expect(() => new Webhook(secret).verify(sent.body, renamed)).toThrow("No matching signature");
  });

  it("is verified with each published public key", async () => {
    const sent = attempted({ secrets: [secret], keys: [key, oldKey] });
    const headers = createSignatureHeaders(sent);
    expect(isSignedBy(key, headers, sent.body)).toBe(true);
    expect(isSignedBy(oldKey, headers, sent.body)).toBe(true);
    expect(isSignedBy(newKey(), headers, sent.body)).toBe(false);
    expect(isSignedBy(key, headers, `${sent.body} `)).toBe(false);
  });

  it("is verified with a public key by Web Crypto", async () => {
    const sent = attempted({ secrets: [], keys: [key] });
    const headers = createSignatureHeaders(sent);
    const { kty, crv, x } = key;
    const imported = (await importJWK({ kty, crv, x }, "Ed25519")) as CryptoKey;
    const [, encoded = ""] = headers["webhook-signature"].split(",");
    const content = `msg_1.${headers["webhook-timestamp"]}.${sent.body}`;
    const bytes = new TextEncoder().encode(content);
    const given = Buffer.from(encoded, "base64");
    expect(await crypto.subtle.verify("Ed25519", imported, given, bytes)).toBe(true);
  });

  it("lists secret-based signatures before key-based signatures, and has its timestamp in seconds", () => {
    const headers = createSignatureHeaders(
      attempted({ at: 1_700_000_000_999, secrets: [secret, old], keys: [key, oldKey] }),
    );
    expect(headers["webhook-timestamp"]).toBe("1700000000");
    const schemes = headers["webhook-signature"].split(" ").map((each) => each.split(",")[0]);
    expect(schemes).toEqual(["v1", "v1", "v1a", "v1a"]);
  });
});

describe("the example receiver", () => {
  const sent = attempted({ secrets: [secret, old], keys: [key] });
  const headers = createSignatureHeaders(sent);
  const body = Buffer.from(sent.body);

  it("returns the signature schemes that verify a delivery", () => {
    const by = (trusted: Partial<Parameters<typeof verifySignatures>[2]>) =>
      verifySignatures(headers, body, { secrets: [], keys: [], ...trusted });
    expect(by({ secrets: [secret] })).toEqual(["v1"]);
    expect(by({ secrets: [other, old] })).toEqual(["v1"]);
    expect(by({ keys: [newKey(), key] })).toEqual(["v1a"]);
    expect(by({ secrets: [secret], keys: [key] })).toEqual(["v1", "v1a"]);
    expect(by({ secrets: [other], keys: [oldKey] })).toEqual([]);
    expect(by({})).toEqual([]);
  });

  it("verifies a signature made by the Standard Webhooks library", () => {
    const at = new Date();
    const signature = new Webhook(secret).sign("msg_9", at, sent.body);
    const signed = {
      "webhook-id": "msg_9",
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": `v2,x v1 v1, ${signature}`,
    };
    expect(verifySignatures(signed, body, { secrets: [secret], keys: [key] })).toEqual(["v1"]);
  });

  it("rejects altered input and never throws", () => {
    const trusted = { secrets: [secret], keys: [key] };
    const texts = fc.record({
      "webhook-id": fc.oneof(fc.constant("msg_1"), fc.string()),
      "webhook-timestamp": fc.oneof(fc.constant(headers["webhook-timestamp"]), fc.string()),
      "webhook-signature": fc.oneof(
        fc.string(),
        fc.string().map((text) => `v1,${text} v1a,${text}`),
        fc.base64String().map((text) => `v1a,${text} v1,${text}`),
      ),
    });
    fc.assert(
      fc.property(texts, (changed) => verifySignatures(changed, body, trusted).length === 0),
      { seed: 6, numRuns: 500 },
    );
    fc.assert(
      fc.property(fc.nat(body.length - 1), fc.integer({ min: 1, max: 255 }), (at, bits) => {
        const changed = Buffer.from(body);
        changed[at] = (changed[at] ?? 0) ^ bits;
        return verifySignatures(headers, changed, trusted).length === 0;
      }),
      { seed: 6, numRuns: 300 },
    );
  });
});
