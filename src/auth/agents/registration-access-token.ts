import { randomBytes } from "node:crypto";
import { fingerprint } from "../../lib/fingerprint.ts";
import type { Records } from "../../store/port/records.ts";
import { clients } from "./agent.ts";

/** Random bytes of a token: nobody guesses it. */
const TOKEN_BYTES = 32;

/** What the group starts with that finds a client by its registration access token. */
const REGISTRATION = "registration:";

/** Group of the client that holds a registration access token (RFC 7592). */
export const registrationTokenGroup = (token: string): string =>
  `${REGISTRATION}${fingerprint(token)}`;

/** A new registration access token. Secret scanners know it by what it starts with. */
export function newRegistrationToken(): string {
  return `rat_${randomBytes(TOKEN_BYTES).toString("base64url")}`;
}

/** The groups of a client whose registration access token is replaced: it has at most one.
 *  @param token `undefined`: it has none any more. */
export function withRegistrationToken(
  token: string | undefined,
  groups: readonly string[],
): readonly string[] {
  const others = groups.filter((group) => !group.startsWith(REGISTRATION));
  return token === undefined ? others : [...others, registrationTokenGroup(token)];
}

/** Finds the client behind a registration access token (RFC 7592 section 3).
 *  @returns The client's id; `undefined` when the token is unknown or was replaced. */
export type FindRegisteredClient = (registrationToken: string) => Promise<string | undefined>;

/** Creates the look-up of registration access tokens. */
export function createRegistrationTokenLookup(
  records: Pick<Records, "list">,
): FindRegisteredClient {
  return async (token) => {
    const [client] = await records.list(clients, {
      group: registrationTokenGroup(token),
      limit: 1,
    });
    return client?.key;
  };
}
