import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  randomBytes,
  sign,
  timingSafeEqual,
  verify,
} from "node:crypto";
import type { Vault } from "../../keys/vault.ts";
import { type SigningSecrets, secretEncryptionContext } from "../alert.ts";

/** Prefix of signing secrets (Standard Webhooks 1.0.0). */
const SECRET_PREFIX = "whsec_";

/** Length of a secret in bytes: Standard Webhooks allows 24 to 64; this service generates 32. */
const SECRET_BYTES = { min: 24, ours: 32, max: 64 };

/** A public Ed25519 key as JWK (RFC 8037 section 2). */
export interface PublicKeyJwk {
  readonly kty: string;
  readonly crv: string;
  /** The public key in base64url. */
  readonly x: string;
}

/** A private Ed25519 key as JWK. */
export interface PrivateKeyJwk extends PublicKeyJwk {
  readonly d: string;
}

/** A message to sign. */
export interface SignedMessage {
  /** The `webhook-id` of the message, the same for every attempt; contains no dot. */
  readonly id: string;
  /** When the message is sent, in milliseconds since the epoch. */
  readonly at: number;
  readonly body: string;
  /** Secrets of the webhook (`whsec_…`), current one first. */
  readonly secrets: readonly string[];
  /** The service's own signing keys, newest first. */
  readonly keys: readonly PrivateKeyJwk[];
}

/** The headers with which a receiver verifies a message. */
export type SignatureHeaders = {
  readonly "webhook-id": string;
  /** Seconds since the epoch. */
  readonly "webhook-timestamp": string;
  /** Signatures, separated by spaces. */
  readonly "webhook-signature": string;
};

/** Signature schemes of Standard Webhooks: `v1` is HMAC-SHA256 with a secret, `v1a` is Ed25519. */
type SignatureScheme = "v1" | "v1a";

/** Generates a signing secret: `whsec_` and 32 random bytes in base64. */
export function generateSigningSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES.ours).toString("base64");
}

/** Whether a text is a signing secret with a length that Standard Webhooks allows. */
export function isSigningSecret(text: string): boolean {
  const key = keyOf(text);
  const isWhole = text === SECRET_PREFIX + key.toString("base64");
  return isWhole && key.length >= SECRET_BYTES.min && key.length <= SECRET_BYTES.max;
}

/** Signs a message with every secret and every key (Standard Webhooks 1.0.0). */
export function createSignatureHeaders({
  id,
  at,
  body,
  secrets,
  keys,
}: SignedMessage): SignatureHeaders {
  const timestamp = String(Math.floor(at / 1000));
  const content = contentOf(id, timestamp, Buffer.from(body));
  const signatures = [
    ...secrets.map((secret) => `v1,${hmac(content, secret).toString("base64")}`),
    ...keys.map((key) => `v1a,${ed25519Signature(content, key).toString("base64")}`),
  ];
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
  };
}

/**
 * The schemes under which at least one of the receiver's secrets or keys verifies a message. The
 * timestamp is not checked.
 *
 * @param body The body as received, byte for byte.
 */
export function verifySignatures(
  headers: SignatureHeaders,
  body: Uint8Array,
  trusted: { readonly secrets: readonly string[]; readonly keys: readonly PublicKeyJwk[] },
): readonly SignatureScheme[] {
  const content = contentOf(headers["webhook-id"], headers["webhook-timestamp"], body);
  const signatures = headers["webhook-signature"].split(" ").map((text) => text.split(","));
  const given = (scheme: SignatureScheme) =>
    signatures
      .filter(([name]) => name === scheme)
      .map(([, encoded = ""]) => Buffer.from(encoded, "base64"));
  const [macs, signs] = [given("v1"), given("v1a")];
  const byMac = trusted.secrets.some((secret) =>
    macs.some((each) => isEqual(each, hmac(content, secret))),
  );
  const byKey = trusted.keys.some((key) =>
    signs.some((each) => isEd25519SignatureValid(content, key, each)),
  );
  return [...(byMac ? ["v1" as const] : []), ...(byKey ? ["v1a" as const] : [])];
}

const contentOf = (id: string, timestamp: string, body: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);

const keyOf = (secret: string): Buffer => Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");

const hmac = (content: Buffer, secret: string): Buffer =>
  createHmac("sha256", keyOf(secret)).update(content).digest();

function ed25519Signature(content: Buffer, { kty, crv, x, d }: PrivateKeyJwk): Buffer {
  return sign(null, content, createPrivateKey({ key: { kty, crv, x, d }, format: "jwk" }));
}

function isEd25519SignatureValid(
  content: Buffer,
  { kty, crv, x }: PublicKeyJwk,
  signature: Buffer,
): boolean {
  const key = createPublicKey({ key: { kty, crv, x }, format: "jwk" });
  return verify(null, content, key, signature);
}

const isEqual = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b);

/** How long the previous secret continues to sign after a rotation, in milliseconds. */
export const SECRET_ROTATION_OVERLAP_MS = 86_400_000;

/** The alert that the secrets belong to, and the vault that encrypts them. */
interface SecretEncryptionOptions {
  readonly alertId: string;
  readonly vault: Vault;
}

/**
 * A new secret in plain text, which is shown to the caller once, and the encrypted secrets to
 * store.
 */
interface NewSigningSecret {
  readonly secret: string;
  readonly sealed: SigningSecrets;
}

/** Creates the first secret of a webhook. */
export function createFirstSecret({ alertId, vault }: SecretEncryptionOptions): NewSigningSecret {
  const secret = generateSigningSecret();
  return {
    secret,
    sealed: { current: vault.seal(secret, secretEncryptionContext(alertId)), previous: null },
  };
}

/**
 * Creates the next secret of a webhook. The previous secret continues to sign for a day; the one
 * before it expires immediately.
 *
 * @param now Milliseconds since the epoch.
 */
export function createNextSecret(
  before: SigningSecrets,
  context: SecretEncryptionOptions,
  now: number,
): NewSigningSecret {
  const { secret, sealed } = createFirstSecret(context);
  return {
    secret,
    sealed: {
      ...sealed,
      previous: { sealed: before.current, until: now + SECRET_ROTATION_OVERLAP_MS },
    },
  };
}

/**
 * The secrets that are valid for signing at an instant, current one first.
 *
 * @param now Milliseconds since the epoch.
 * @throws {Error} When the secrets belong to another alert or were encrypted with another key.
 */
export function decryptSigningSecrets(
  { current, previous }: SigningSecrets,
  { alertId, vault }: SecretEncryptionOptions,
  now: number,
): readonly string[] {
  const isTwo = previous !== null && now < previous.until;
  const sealed = isTwo ? [current, previous.sealed] : [current];
  return sealed.map((each) => vault.open(each, secretEncryptionContext(alertId)));
}
