import { z } from "zod";
import type { Key } from "../../store/keys/key-records.ts";
import { keyUses } from "../../store/keys/key-uses.ts";

/** What a public key of Standard Webhooks begins with. */
const PUBLIC_KEY_PREFIX = "whpk_";

/** One key that receivers verify `v1a` signatures with: a JWK (RFC 8037) and what else a receiver
 *  may want to know of it. */
const WebhookKey = z.object({
  kid: z.string(),
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: z.base64url(),
  alg: z.literal("Ed25519"),
  use: z.literal("sig"),
  /** The same key as Standard Webhooks writes it: `whpk_` and 32 bytes in base64. */
  public_key: z.string(),
  created_at: z.iso.datetime(),
  /** When it signs no more; `null` while no other has taken its place. */
  expires_at: z.iso.datetime().nullable(),
});

/** The published keys: a JWK Set (RFC 7517 section 5), the newest first. */
export const WebhookKeySet = z.object({ keys: z.array(WebhookKey) });

/** The published keys. */
export type WebhookKeySet = z.infer<typeof WebhookKeySet>;

/** The public halves of the keys that sign deliveries. */
export function webhookKeySet(keys: readonly Key<"webhook-signing">[]): WebhookKeySet {
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
