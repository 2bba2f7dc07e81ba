import { randomBytes } from "node:crypto";
import { fingerprint } from "../../lib/fingerprint.ts";
import type { Records } from "../../store/port/records.ts";
import { clients } from "./agent.ts";

/** Length of a token in random bytes; a token must not be guessable. */
const TOKEN_BYTES = 32;

/** Prefix of the group names of registration access tokens. */
const GROUP_PREFIX = "registration:";

/** Group of the client that a registration access token (RFC 7592) belongs to. */
export const registrationTokenGroup = (token: string): string =>
  `${GROUP_PREFIX}${fingerprint(token)}`;

/** Generates a registration access token. Secret scanners recognize its prefix. */
export function newRegistrationToken(): string {
  return `rat_${randomBytes(TOKEN_BYTES).toString("base64url")}`;
}

/**
 * The groups of a client after its registration access token was replaced; a client has at most one
 * token.
 * @param token If `undefined`, the token is removed.
 */
export function groupsWithRegistrationToken(
  token: string | undefined,
  groups: readonly string[],
): readonly string[] {
  const others = groups.filter((group) => !group.startsWith(GROUP_PREFIX));
  return token === undefined ? others : [...others, registrationTokenGroup(token)];
}

/** Finds the client of a registration access token (RFC 7592 section 3). @returns The client id;
 *  `undefined` when the token is unknown or was replaced. */
export type FindRegisteredClient = (registrationToken: string) => Promise<string | undefined>;

/** Creates the function that finds the client of a registration access token. */
export function createRegistrationTokenLookup(records: Records): FindRegisteredClient {
  return async (token) => {
    const [client] = await records.list(clients, {
      group: registrationTokenGroup(token),
      limit: 1,
    });
    return client?.key;
  };
}
