import type { Session } from "./sessions.ts";

/**
 * How old a sign-in may be for a claim, in milliseconds (architecture section 7). An agent often
 * drives the browser of its person: a sign-in from this morning says nothing about who is there now,
 * a code from the mailbox does.
 */
const FRESH_SIGN_IN_MS = 5 * 60_000;

/** Whether a person proved who they are just now. @param now Milliseconds since the epoch. */
export function isFresh({ signedInAt }: Pick<Session, "signedInAt">, now: number): boolean {
  return now - signedInAt <= FRESH_SIGN_IN_MS;
}
