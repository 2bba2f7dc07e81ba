import type { Key } from "../store/keys/key-records.ts";
import type { Keyring } from "../store/keys/keyring.ts";
import { createVault, type Vault } from "../store/keys/vault.ts";

const vaultOf = ({ jwk }: Key<"secret-encryption">): Vault =>
  createVault(Buffer.from(jwk.k, "base64url"));

/** A vault that follows the keys of the service: the newest seals, and each of them opens what it
 *  has sealed. */
export function createKeyringVault({ keys }: Pick<Keyring, "keys">): Vault {
  return {
    seal: (secret, context) => vaultOf(keys("secret-encryption")[0]).seal(secret, context),
    open: (sealed, context) => openedByOne(keys("secret-encryption"), { sealed, context }),
  };
}

/** @throws {Error} That of the oldest key, when none opens it. */
function openedByOne(
  [key, ...older]: readonly [Key<"secret-encryption">, ...Key<"secret-encryption">[]],
  at: { readonly sealed: string; readonly context: string },
): string {
  try {
    return vaultOf(key).open(at.sealed, at.context);
  } catch (error) {
    const [next, ...others] = older;
    if (next === undefined) throw error;
    return openedByOne([next, ...others], at);
  }
}
