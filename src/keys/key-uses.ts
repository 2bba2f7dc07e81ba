import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { DAY_MS } from "../lib/day.ts";
import { AUDIT_RETENTION_MS } from "../store/audit-entry.ts";

/** Length of a secret key in bytes, for HMAC-SHA256 and AES-256. */
const SECRET_BYTES = 32;

/** A secret key as JWK (RFC 7518 section 6.4). */
interface SecretJwk {
  readonly kty: "oct";
  /** The key bytes in base64url. */
  readonly k: string;
}

/** A private elliptic-curve key as JWK (RFC 7518 section 6.2, RFC 8037 section 2). */
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

/** A private ML-DSA key as JWK (kty "AKP"): the seed from which the key is derived. */
interface MlDsaPrivateJwk {
  readonly kty: "AKP";
  readonly pub: string;
  readonly priv: string;
  readonly alg: "ML-DSA-44";
  readonly use: "sig";
}

/** The JWK type for each key use. */
export interface JwkByUse {
  /** ES256, for the ID tokens of clients that registered for this algorithm. */
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
  /** AES-256 key of the vault that encrypts secrets in records. */
  readonly "secret-encryption": SecretJwk;
  /** HMAC key for hashing callers' network addresses in audit rows. */
  readonly "address-hash": SecretJwk;
}

/** Purpose of a key. */
export type KeyUse = keyof JwkByUse;

const secret = (): SecretJwk => ({
  kty: "oct",
  k: randomBytes(SECRET_BYTES).toString("base64url"),
});

const signing = <T>(privateKey: KeyObject, alg: string): T =>
  ({ ...privateKey.export({ format: "jwk" }), alg, use: "sig" }) as T;

/** Length of an RSA modulus, in bits (RFC 7518 section 3.3). */
const RSA_BITS = 2048;

/**
 * How long a superseded log-signing key continues to sign checkpoints alongside the new one, in
 * milliseconds. A client that rarely verifies the log thus still knows one of the keys.
 */
const LOG_KEYS_OVERLAP_MS = 90 * DAY_MS;

/**
 * Properties of every key use. Each key is retained for longer than the lifetime of anything
 * produced with it.
 */
export const keyUses: {
  readonly [U in KeyUse]: {
    /** How long a superseded key is retained, in milliseconds. */
    readonly retentionMs: number;
    generate(): JwkByUse[U];
  };
} = {
  "token-signing": {
    // ID tokens expire after an hour, and clients may cache the key set for a few more hours.
    retentionMs: DAY_MS,
    generate: () => signing(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey, "ES256"),
  },
  "token-signing-rsa": {
    retentionMs: DAY_MS,
    generate: () =>
      signing(generateKeyPairSync("rsa", { modulusLength: RSA_BITS }).privateKey, "RS256"),
  },
  "cookie-signing": {
    // As long as the longest browser session lasts.
    retentionMs: 14 * DAY_MS,
    generate: secret,
  },
  "webhook-signing": {
    // Deliveries are retried for three days, and receivers may cache the key for a few more days.
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
    // Never removed, because records may still be encrypted with the key.
    retentionMs: Number.POSITIVE_INFINITY,
    generate: secret,
  },
  "address-hash": {
    // As long as audit rows are retained, because their addresses must stay searchable.
    retentionMs: AUDIT_RETENTION_MS,
    generate: secret,
  },
};
