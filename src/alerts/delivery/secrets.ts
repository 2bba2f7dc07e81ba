import type { Vault } from "../../store/keys/vault.ts";
import { type Secrets, secretContext } from "../alert.ts";
import { newSecret } from "./signing.ts";

/** How long the secret before goes on signing after a rotation, in milliseconds. */
export const SECRET_OVERLAP_MS = 86_400_000;

/** Whose secrets, and what opens them. */
export interface SecretContext {
  readonly alertId: string;
  readonly vault: Vault;
}

/** A new secret: to be told once, and as it is kept. */
export interface NewSecret {
  readonly secret: string;
  readonly sealed: Secrets;
}

/** Makes the first secret of a webhook. */
export function firstSecret({ alertId, vault }: SecretContext): NewSecret {
  const secret = newSecret();
  return {
    secret,
    sealed: { current: vault.seal(secret, secretContext(alertId)), previous: null },
  };
}

/**
 * Makes the next secret of a webhook. The one before signs besides it for a day; one before that
 * ends at once.
 *
 * @param now Milliseconds since the epoch.
 */
export function nextSecret(before: Secrets, place: SecretContext, now: number): NewSecret {
  const { secret, sealed } = firstSecret(place);
  return {
    secret,
    sealed: { ...sealed, previous: { sealed: before.current, until: now + SECRET_OVERLAP_MS } },
  };
}

/**
 * The secrets that sign now, the current one first.
 *
 * @param now Milliseconds since the epoch.
 * @throws {Error} When they are another alert's or were sealed under another key.
 */
export function signingSecrets(
  { current, previous }: Secrets,
  { alertId, vault }: SecretContext,
  now: number,
): readonly string[] {
  const isTwo = previous !== null && now < previous.until;
  const sealed = isTwo ? [current, previous.sealed] : [current];
  return sealed.map((each) => vault.open(each, secretContext(alertId)));
}
