import { hash } from "node:crypto";

/**
 * The SHA-256 of a text in base64url, which the store contains in place of a bearer secret. Secrets
 * are random and long, so a slow or salted hash would make them no safer.
 */
export function fingerprint(text: string): string {
  return hash("sha256", text, "base64url");
}
