import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/** AES-256-GCM, with IV and tag lengths according to NIST SP 800-38D sections 8.2.1 and 5.2.1.2. */
const ALGORITHM = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Prefix of encrypted values that identifies the encryption scheme, in case it changes. */
const VERSION = "v1.";

/** Encrypts small secrets at rest. */
export interface Vault {
  /**
   * Encrypts a secret.
   *
   * @param context Identifies where the value is stored. The value can be decrypted only with the
   * same context.
   * @returns Text of base64url characters and a dot.
   */
  seal(secret: string, context: string): string;

  /**
   * Decrypts a secret.
   *
   * @throws {Error} If the key or the context is different, or the value was changed.
   */
  open(sealed: string, context: string): string;
}

/**
 * Creates a vault.
 *
 * @param key 32 bytes. One key is safe for 2^32 values, because each value gets a random 96-bit IV.
 */
export function createVault(key: Uint8Array): Vault {
  return {
    seal(secret, context) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(context));
      const text = Buffer.concat([iv, cipher.update(secret, "utf8"), cipher.final()]);
      return VERSION + Buffer.concat([text, cipher.getAuthTag()]).toString("base64url");
    },
    open(sealed, context) {
      if (!sealed.startsWith(VERSION)) throw new Error("a sealed value is of an unknown version");
      const bytes = Buffer.from(sealed.slice(VERSION.length), "base64url");
      const iv = bytes.subarray(0, IV_BYTES);
      const decipher = createDecipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-TAG_BYTES));
      const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
      return Buffer.concat([text, decipher.final()]).toString("utf8");
    },
  };
}
