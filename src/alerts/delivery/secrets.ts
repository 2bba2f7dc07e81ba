import type { Vault } from "../../store/keys/vault.ts";
import { type Secrets, secretOf } from "../alert.ts";
import { newSecret } from "./signing.ts";

/** How long the secret before goes on signing after a rotation, in milliseconds. */
export const OVERLAP_MS = 86_400_000;

/** Whose secrets, and what opens them. */
export interface SecretPlace {
  readonly alertId: string;
  readonly vault: Vault;
}

/** A new secret: to be told once, and as it is kept. */
export interface MadeSecret {
  readonly secret: string;
  readonly kept: Secrets;
}

/** Makes the first secret of a webhook. */
export function firstSecret({ alertId, vault }: SecretPlace): MadeSecret {
  const secret = newSecret();
  return { secret, kept: { current: vault.seal(secret, secretOf(alertId)), previous: null } };
}

/**
 * Makes the next secret of a webhook. The one before signs besides it for a day; one before that
 * ends at once.
 *
 * @param now Milliseconds since the epoch.
 */
export function nextSecret(before: Secrets, place: SecretPlace, now: number): MadeSecret {
  const { secret, kept } = firstSecret(place);
  return {
    secret,
    kept: { ...kept, previous: { sealed: before.current, until: now + OVERLAP_MS } },
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
  { alertId, vault }: SecretPlace,
  now: number,
): readonly string[] {
  const isTwo = previous !== null && now < previous.until;
  const sealed = isTwo ? [current, previous.sealed] : [current];
  return sealed.map((each) => vault.open(each, secretOf(alertId)));
}
