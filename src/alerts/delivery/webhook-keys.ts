import { z } from "zod";
import type { Key } from "../../keys/key-records.ts";
import { keyUses } from "../../keys/key-uses.ts";

/** Prefix of public keys (Standard Webhooks 1.0.0). */
const PUBLIC_KEY_PREFIX = "whpk_";

/** A key that verifies `v1a` signatures: a JWK (RFC 8037) with its creation and expiry times. */
const WebhookKey = z.object({
  kid: z.string(),
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: z.base64url(),
  alg: z.literal("Ed25519"),
  use: z.literal("sig"),
  /** The public key in the format of Standard Webhooks: `whpk_` and 32 bytes in base64. */
  public_key: z.string(),
  created_at: z.iso.datetime(),
  /** When the key stops signing; `null` while it is the current key. */
  expires_at: z.iso.datetime().nullable(),
});

/** Schema of the published keys: a JWK Set (RFC 7517 section 5), newest key first. */
export const WebhookKeySet = z.object({ keys: z.array(WebhookKey) });

/** The published keys, newest first. */
export type WebhookKeySet = z.infer<typeof WebhookKeySet>;

/** The public parts of the keys that sign deliveries. */
export function toWebhookKeySet(keys: readonly Key<"webhook-signing">[]): WebhookKeySet {
  const { retentionMs } = keyUses["webhook-signing"];
  return {
    keys: keys.map(({ kid, jwk: { x }, createdAt, retiredAt }) => ({
      kid,
      kty: "OKP",
      crv: "Ed25519",
      x,
      alg: "Ed25519",
      use: "sig",
      public_key: PUBLIC_KEY_PREFIX + Buffer.from(x, "base64url").toString("base64"),
      created_at: new Date(createdAt).toISOString(),
      expires_at: retiredAt === null ? null : new Date(retiredAt + retentionMs).toISOString(),
    })),
  };
}
