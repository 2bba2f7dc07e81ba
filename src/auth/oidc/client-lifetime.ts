import { emailGroup } from "../../mail/email-address.ts";
import {
  type Agent,
  type ClientRecord,
  clients,
  ownedAgentsGroup,
} from "../../principals/agents/agent.ts";
import type { Stored, WriteOptions } from "../../store/port/records.ts";
import type { Transaction } from "../../store/transact.ts";

const DAY_MS = 24 * 3_600_000;

/** Lifetime of a client that was never issued a token, in milliseconds. */
const UNUSED_MS = DAY_MS;

/** Lifetime of an unclaimed client, in milliseconds, from its registration or the last
 *  authorization by a person. */
const UNCLAIMED_MS = 30 * DAY_MS;

/** Group of the clients that were never issued a token. */
const UNUSED_GROUP = "clients:unused";

/** Whether a token acts for the client itself or for a person. */
export type TokenSubject = "client" | "person";

/**
 * Groups and lifetime of a new client. A client with an owner does not expire. A client that gives
 * an email address is in the group of the address, so that `forgetEmail` finds it.
 */
export function clientWriteOptions({ owner, loginHint }: Agent): WriteOptions {
  if (owner !== undefined) return { groups: [ownedAgentsGroup(owner.accountId)] };
  const named = loginHint === undefined ? [] : [emailGroup(loginHint)];
  return { groups: [UNUSED_GROUP, ...named], ttlMs: UNUSED_MS };
}

/**
 * Extends the lifetime of a client that is issued a token.
 * @param subject `undefined` when no token is issued.
 */
export function extendClientLifetime(
  tx: Transaction,
  client: Stored<ClientRecord>,
  subject: TokenSubject | undefined,
  now: Date,
): void {
  const ttlMs = subject && extendedLifetime(client, subject, now);
  if (ttlMs === undefined) return;
  const groups = client.groups.filter((group) => group !== UNUSED_GROUP);
  tx.update(clients, client, { value: client.value, ttlMs, groups });
}

/** @returns The new lifetime in milliseconds from now; `undefined` to leave it unchanged. */
function extendedLifetime(
  { expiresAt, groups, value: { agent } }: Stored<ClientRecord>,
  beneficiary: TokenSubject,
  now: Date,
): number | undefined {
  // A client with an owner expires only if it depends on the access of an application.
  if (expiresAt === undefined || agent.owner !== undefined) return undefined;
  const leftMs = expiresAt - now.getTime();
  if (beneficiary === "client") {
    return groups.includes(UNUSED_GROUP) ? leftMs + UNCLAIMED_MS - UNUSED_MS : undefined;
  }
  return leftMs < UNCLAIMED_MS - DAY_MS ? UNCLAIMED_MS : undefined;
}
