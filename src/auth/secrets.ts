import { timingSafeEqual } from "node:crypto";
import { fingerprint } from "../lib/fingerprint.ts";

/** Says that a client secret in a stored client is a hash. No secret of this server starts so. */
const HASHED = "sha256:";

/** Stored form of a client secret. */
export function hashClientSecret(secret: string): string {
  return HASHED + fingerprint(secret);
}

/** Whether a client secret is what `hashClientSecret` made. */
export function isHashed(secret: unknown): secret is string {
  return typeof secret === "string" && secret.startsWith(HASHED);
}

/** Compares a presented client secret with the stored one in constant time. */
export function isSecretOf(kept: string | undefined, presented: string): boolean {
  if (kept === undefined) return false;
  const [expected, actual] = [Buffer.from(kept), Buffer.from(hashClientSecret(presented))];
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}

/**
 * The body of an update (RFC 7592 section 2.2) with the client secret hashed, since oidc-provider
 * compares it with the stored hash.
 *
 * A body that cannot be parsed or has no secret stays as it is.
 */
export function withHashedSecret(body: Buffer): Buffer {
  const metadata = parsed(body);
  if (typeof metadata?.client_secret !== "string") return body;
  metadata.client_secret = hashClientSecret(metadata.client_secret);
  return Buffer.from(JSON.stringify(metadata));
}

function parsed(body: Buffer): { client_secret?: unknown } | null | undefined {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

/** Compares texts without telling by the time it takes where they differ. */
export function isSameText(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
