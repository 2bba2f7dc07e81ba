import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { AUDIT_KEPT_MS } from "./retention.ts";

const DAY_MS = 86_400_000;

/** Bytes of a key that is no key pair: as many as HMAC-SHA256 and AES-256 take. */
const SECRET_BYTES = 32;

/** A secret key as JWK (RFC 7518 section 6.4). */
interface SecretJwk {
  readonly kty: "oct";
  /** The bytes in URL-safe base64. */
  readonly k: string;
}

/** A private key of an elliptic curve as JWK (RFC 7518 section 6.2, RFC 8037 section 2). */
interface PrivateJwk {
  readonly kty: "EC" | "OKP";
  readonly crv: string;
  readonly x: string;
  readonly y?: string;
  readonly d: string;
  readonly alg: string;
  readonly use: "sig";
}

/** What the keys of a use are. */
export interface JwkOf {
  /** ES256, for ID tokens. */
  readonly "token-signing": PrivateJwk;
  readonly "cookie-signing": SecretJwk;
  /** Ed25519, for the `v1a` signatures of Standard Webhooks. */
  readonly "webhook-signing": PrivateJwk;
  /** Key of a vault for the secrets of single records. */
  readonly "secret-encryption": SecretJwk;
  /** HMAC key for callers' network addresses in audit rows. */
  readonly "address-hash": SecretJwk;
}

/** What a key is for. */
export type KeyUse = keyof JwkOf;

interface Use<U extends KeyUse> {
  /** How long a key is kept after another took its place, in milliseconds. */
  readonly keptMs: number;
  generate(): JwkOf[U];
}

const secret = (): SecretJwk => ({
  kty: "oct",
  k: randomBytes(SECRET_BYTES).toString("base64url"),
});

const signing = (privateKey: KeyObject, alg: string): PrivateJwk =>
  ({ ...privateKey.export({ format: "jwk" }), alg, use: "sig" }) as PrivateJwk;

/** Every use of a key. What was made with a key must not outlive it. */
export const keyUses: { readonly [U in KeyUse]: Use<U> } = {
  "token-signing": {
    // ID tokens end after an hour; clients may keep the key set for some hours more.
    keptMs: DAY_MS,
    generate: () => signing(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey, "ES256"),
  },
  "cookie-signing": {
    // The longest session.
    keptMs: 14 * DAY_MS,
    generate: secret,
  },
  "webhook-signing": {
    // Deliveries are tried for three days, and receivers may keep the key for some days more.
    keptMs: 7 * DAY_MS,
    generate: () => signing(generateKeyPairSync("ed25519").privateKey, "Ed25519"),
  },
  "secret-encryption": {
    // Something may still be sealed with it.
    keptMs: Number.POSITIVE_INFINITY,
    generate: secret,
  },
  "address-hash": {
    // The rows in which an address may have to be found again.
    keptMs: AUDIT_KEPT_MS,
    generate: secret,
  },
};
