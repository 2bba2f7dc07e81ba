import { emailGroup } from "../../mail/email-address.ts";
import { replace, unchanged } from "../../store/port/operations.ts";
import type { Operation, ReplaceOptions, Stored, WriteOptions } from "../../store/port/records.ts";
import { type Agent, type ClientRecord, clients, ownedAgentsGroup } from "../agents/agent.ts";

const DAY_MS = 24 * 3_600_000;

/** Life of a client that was never given a token, in milliseconds. */
const UNUSED_MS = DAY_MS;

/** Life of a client that no person has claimed, in milliseconds: from its registration, or from
 *  the last time that a person authorized it. */
const UNCLAIMED_MS = 30 * DAY_MS;

/** Group of the clients that were never given a token. */
const UNUSED = "clients:unused";

/** For whom a token is issued: the client itself, or a person. */
export type TokenSubject = "client" | "person";

/** Groups and life of a new client. It has no end when it has an owner. One that names an
 *  address is found by it, should that person want to be forgotten. */
export function clientWriteOptions({ owner, loginHint }: Agent): WriteOptions {
  if (owner !== undefined) return { groups: [ownedAgentsGroup(owner.accountId)] };
  const named = loginHint === undefined ? [] : [emailGroup(loginHint)];
  return { groups: [UNUSED, ...named], ttlMs: UNUSED_MS };
}

/** The step that holds only while a client is as it was read, and that extends its life when it
 *  is issued a token. @param beneficiary `undefined`: no token. */
export function ifClientUnchanged(
  client: Stored<ClientRecord>,
  beneficiary: TokenSubject | undefined,
  now: Date,
): Operation {
  const ttlMs = beneficiary && lifeOf(client, beneficiary, now);
  if (ttlMs === undefined) return unchanged(clients, client);
  const placing: ReplaceOptions = {
    ttlMs,
    groups: client.groups.filter((group) => group !== UNUSED),
  };
  return replace(clients, client, { value: client.value, ...placing });
}

/** @returns A new life in milliseconds from now; `undefined` leaves the life as it is. */
function lifeOf(
  { expiresAt, groups, value: { agent } }: Stored<ClientRecord>,
  beneficiary: TokenSubject,
  now: Date,
): number | undefined {
  // A client with both an owner and an end depends on the access of an application.
  if (expiresAt === undefined || agent.owner !== undefined) return undefined;
  const leftMs = expiresAt - now.getTime();
  if (beneficiary === "client") {
    return groups.includes(UNUSED) ? leftMs + UNCLAIMED_MS - UNUSED_MS : undefined;
  }
  return leftMs < UNCLAIMED_MS - DAY_MS ? UNCLAIMED_MS : undefined;
}
