import type { Key } from "./key-records.ts";
import type { Keyring } from "./keyring.ts";
import { createVault, type Vault } from "./vault.ts";

const vaultOf = ({ jwk }: Key<"secret-encryption">): Vault =>
  createVault(Buffer.from(jwk.k, "base64url"));

/**
 * Creates a vault that uses the service's current keys. The newest key encrypts; a secret is
 * decrypted with the key that encrypted it.
 */
export function createKeyringVault({ keys }: Keyring): Vault {
  return {
    seal: (secret, context) => vaultOf(keys("secret-encryption")[0]).seal(secret, context),
    open: (sealed, context) => openWithAny(keys("secret-encryption"), sealed, context),
  };
}

/**
 * Tries to decrypt a secret with each key.
 *
 * @throws {Error} The error of the oldest key, if no key decrypts the secret.
 */
function openWithAny(
  [key, ...older]: readonly [Key<"secret-encryption">, ...Key<"secret-encryption">[]],
  sealed: string,
  context: string,
): string {
  try {
    return vaultOf(key).open(sealed, context);
  } catch (error) {
    const [next, ...others] = older;
    if (next === undefined) throw error;
    return openWithAny([next, ...others], sealed, context);
  }
}
