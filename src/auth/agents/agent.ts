import type { AdapterPayload } from "oidc-provider";
import { fingerprint } from "../../lib/fingerprint.ts";
import type { AuditEntry } from "../../store/audit/entry.ts";
import { collection } from "../../store/port/records.ts";
import { isScope, type Scope, scopeNames } from "../scopes.ts";

/** How an agent said who it is when it registered (interface section 3). */
export type IdentityType = "anonymous" | "identity_assertion" | "service_auth" | "agent";

/** Who answers for an agent. */
export interface Ownership {
  readonly accountId: string;
  /** What the agent may hold at most. */
  readonly scopes: readonly Scope[];
  /** Milliseconds since the epoch. */
  readonly claimedAt: number;
  /** The resource that its tokens are good for at most; absent: the whole service. */
  readonly resource?: string;
  /** What it hangs on when an application claimed it with the person's token; absent: nothing. */
  readonly through?: ActingApplication;
}

/** An application that acts for a person. */
export interface ActingApplication {
  readonly clientId: string;
  /** What the person allowed it. */
  readonly grantId: string;
}

/** What the service knows of a registered client beside its metadata. */
export interface Agent {
  readonly identityType: IdentityType;
  /** Milliseconds since the epoch. */
  readonly registeredAt: number;
  /** The site (/24 of IPv4, /48 of IPv6) that it was registered from, as a hash; absent for those of
   *  earlier versions. */
  readonly site?: string;
  /** The provider (/32 of IPv6) that it was registered from, as a hash; absent for IPv4, and for those
   *  of earlier versions. */
  readonly provider?: string;
  /** The e-mail address of the only person who may claim it, when the agent named one. */
  readonly loginHint?: string;
  /** Absent: nobody has claimed it. */
  readonly owner?: Ownership;
}

/** A registered client. */
export interface ClientRecord {
  /** As oidc-provider keeps it; the client writes most of it, so that nothing that decides over
   *  rights may be in it. The secret is hashed. */
  readonly metadata: AdapterPayload;
  readonly agent: Agent;
}

/** Registered clients by client id. */
export const clients = collection<ClientRecord>("oidc:Client");

/** Group of everything that was issued to a client, in all collections. */
export const issuedTo = (clientId: string): string => `client:${clientId}`;

/** Group of the authorization requests of a client for which a person is being asked. */
export const askedBy = (clientId: string): string => `asked-by:${fingerprint(clientId)}`;

/** Group of what a person has through a client, in all collections. */
export const through = (accountId: string, clientId: string): string =>
  `through:${fingerprint(JSON.stringify([accountId, clientId]))}`;

/** Group of the clients that an account answers for. */
export const claimedBy = (accountId: string): string => `agents-of:${accountId}`;

/** Group of everything that ends with an account, in all collections. */
export const belongingTo = (accountId: string): string => `account:${accountId}`;

/** Agents of these kinds hold nothing until somebody answers for them (architecture section 7). */
const waiting: ReadonlySet<IdentityType> = new Set(["service_auth", "identity_assertion"]);

/**
 * Whether what an agent does and what becomes of it is in the audit: where somebody answers for it, or
 * said who it is. Anybody can register and remove the others as often as they like, and audit rows
 * stay for 400 days; of those that are claimed, the entry of the claim says when they came
 * (`arrivalOf`).
 */
export function isAudited({ identityType, owner }: Agent): boolean {
  return owner !== undefined || identityType === "identity_assertion";
}

/** When and how an agent came, for the entry of its claim: milliseconds since the epoch, and the site
 *  as a hash. */
export function arrivalOf({
  registeredAt,
  identityType,
  site,
}: Agent): NonNullable<AuditEntry["detail"]> {
  return { registeredAt, identityType, ...(site !== undefined && { site }) };
}

/** What an agent may hold while nobody answers for it.
 *  @param anonymousScopes What is open to agents that nobody answers for. */
export function heldUnclaimed(
  { metadata, agent }: ClientRecord,
  anonymousScopes: readonly Scope[],
): readonly Scope[] {
  if (waiting.has(agent.identityType)) return [];
  const registered = scopeNames(metadata.scope ?? "").filter(isScope);
  return registered.filter((scope) => anonymousScopes.includes(scope));
}

/** Whether the scopes of a client's own tokens can be widened by a claim. */
export function isClaimable({ metadata }: ClientRecord): boolean {
  return Array.isArray(metadata.grant_types) && metadata.grant_types.includes("client_credentials");
}
