import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { AUDIT_RETENTION_MS } from "../retention.ts";

const DAY_MS = 86_400_000;

/** Length of a secret key in bytes, for HMAC-SHA256 and AES-256. */
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

/** A private RSA key as JWK (RFC 7518 section 6.3). */
interface RsaPrivateJwk {
  readonly kty: "RSA";
  readonly n: string;
  readonly e: string;
  readonly d: string;
  readonly p: string;
  readonly q: string;
  readonly dp: string;
  readonly dq: string;
  readonly qi: string;
  readonly alg: "RS256";
  readonly use: "sig";
}

/** A private key of ML-DSA as JWK (kty "AKP"): the seed from which the key is derived. */
interface MlDsaPrivateJwk {
  readonly kty: "AKP";
  readonly pub: string;
  readonly priv: string;
  readonly alg: "ML-DSA-44";
  readonly use: "sig";
}

/** The key type of each use. */
export interface JwkOf {
  /** ES256, for ID tokens of clients that registered for it. */
  readonly "token-signing": PrivateJwk;
  /** RS256, for all other ID tokens (OpenID Connect Dynamic Client Registration 1.0 section 2). */
  readonly "token-signing-rsa": RsaPrivateJwk;
  readonly "cookie-signing": SecretJwk;
  /** Ed25519, for the `v1a` signatures of Standard Webhooks. */
  readonly "webhook-signing": PrivateJwk;
  /** Ed25519, for the checkpoints of the signal log and of the audit log (C2SP signed-note). */
  readonly "log-signing": PrivateJwk;
  /** ML-DSA-44, for the same checkpoints (C2SP tlog-cosignature). */
  readonly "log-signing-ml-dsa": MlDsaPrivateJwk;
  /** Key of a vault for the secrets of single records. */
  readonly "secret-encryption": SecretJwk;
  /** HMAC key for callers' network addresses in audit rows. */
  readonly "address-hash": SecretJwk;
}

/** Purpose of a key. */
export type KeyUse = keyof JwkOf;

interface Use<U extends KeyUse> {
  /** How long a superseded key is retained, in milliseconds. */
  readonly retentionMs: number;
  generate(): JwkOf[U];
}

const secret = (): SecretJwk => ({
  kty: "oct",
  k: randomBytes(SECRET_BYTES).toString("base64url"),
});

const signing = <T>(privateKey: KeyObject, alg: string): T =>
  ({ ...privateKey.export({ format: "jwk" }), alg, use: "sig" }) as T;

/** Length of an RSA modulus, in bits (RFC 7518 section 3.3). */
const RSA_BITS = 2048;

/** How long a superseded key of the log goes on signing beside the new one, so that a client that
 *  rarely verifies the log still knows one of them, in milliseconds. */
const LOG_KEYS_OVERLAP_MS = 90 * DAY_MS;

/** Every use of a key. What was made with a key must not outlive it. */
export const keyUses: { readonly [U in KeyUse]: Use<U> } = {
  "token-signing": {
    // ID tokens expire after an hour; clients may cache the key set for some hours more.
    retentionMs: DAY_MS,
    generate: () => signing(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey, "ES256"),
  },
  "token-signing-rsa": {
    retentionMs: DAY_MS,
    generate: () =>
      signing(generateKeyPairSync("rsa", { modulusLength: RSA_BITS }).privateKey, "RS256"),
  },
  "cookie-signing": {
    // As long as the longest session.
    retentionMs: 14 * DAY_MS,
    generate: secret,
  },
  "webhook-signing": {
    // Deliveries are retried for three days, and receivers may cache the key for some days more.
    retentionMs: 7 * DAY_MS,
    generate: () => signing(generateKeyPairSync("ed25519").privateKey, "Ed25519"),
  },
  "log-signing": {
    retentionMs: LOG_KEYS_OVERLAP_MS,
    generate: () => signing(generateKeyPairSync("ed25519").privateKey, "Ed25519"),
  },
  "log-signing-ml-dsa": {
    retentionMs: LOG_KEYS_OVERLAP_MS,
    generate: () => signing(generateKeyPairSync("ml-dsa-44").privateKey, "ML-DSA-44"),
  },
  "secret-encryption": {
    // Something may still be sealed with it.
    retentionMs: Number.POSITIVE_INFINITY,
    generate: secret,
  },
  "address-hash": {
    // As long as audit rows are retained, whose addresses must stay searchable.
    retentionMs: AUDIT_RETENTION_MS,
    generate: secret,
  },
};
