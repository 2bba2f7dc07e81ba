import type { AdapterPayload } from "oidc-provider";
import { fingerprint } from "../../lib/fingerprint.ts";
import type { AuditEntry } from "../../store/audit/entry.ts";
import { collection } from "../../store/port/records.ts";
import { isScope, type Scope, scopeNames } from "../scopes.ts";

/** How an agent identified itself when it registered. */
export type IdentityType = "anonymous" | "identity_assertion" | "service_auth" | "agent";

/** The owner of an agent. */
export interface Ownership {
  readonly accountId: string;
  /** Ceiling of the agent's scopes. */
  readonly scopes: readonly Scope[];
  /** Milliseconds since the epoch. */
  readonly claimedAt: number;
  /** The resource that its tokens are good for at most; absent: the whole service. */
  readonly resource?: string;
  /** The application that claimed it with the person's token, with whose access it ends; absent:
   *  a person claimed it. */
  readonly through?: ActingApplication;
}

/** An application that acts for a person. */
export interface ActingApplication {
  readonly clientId: string;
  /** What the person allowed it. */
  readonly grantId: string;
}

/** What the service stores of a registered client beside its metadata. */
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
  /** The email address of the only person who may claim it, when the agent named one. */
  readonly loginHint?: string;
  /** Absent: nobody has claimed it. */
  readonly owner?: Ownership;
}

/** A registered client. */
export interface ClientRecord {
  /** As oidc-provider stores it, with the secret hashed. The client writes most of it, so it
   *  must hold nothing that decides on rights. */
  readonly metadata: AdapterPayload;
  readonly agent: Agent;
}

/** Registered clients by client id. */
export const clients = collection<ClientRecord>("oidc:Client");

/** Group of everything that was issued to a client, in all collections. */
export const clientGroup = (clientId: string): string => `client:${clientId}`;

/** Group of the authorization requests of a client that wait for a person. */
export const authorizationRequestGroup = (clientId: string): string =>
  `asked-by:${fingerprint(clientId)}`;

/** Group of everything a person has through a client, in all collections. */
export const accountClientGroup = (accountId: string, clientId: string): string =>
  `through:${fingerprint(JSON.stringify([accountId, clientId]))}`;

/** Group of the clients that an account owns. */
export const ownedAgentsGroup = (accountId: string): string => `agents-of:${accountId}`;

/** Group of everything that ends with an account, in all collections. */
export const accountRecordsGroup = (accountId: string): string => `account:${accountId}`;

/** Agents of these types hold no scope until they have an owner. */
const waiting: ReadonlySet<IdentityType> = new Set(["service_auth", "identity_assertion"]);

/** Whether the actions of an agent, and its removal, are audited: when it has an owner, or
 *  proved who it is. Anybody can register and remove others at will, and audit rows stay for 400
 *  days. For an agent that is claimed later, the entry of the claim says when it registered
 *  (`registrationFacts`). */
export function isAudited({ identityType, owner }: Agent): boolean {
  return owner !== undefined || identityType === "identity_assertion";
}

/** When and how an agent registered, for the audit entry of its claim: milliseconds since the
 *  epoch, and the site as a hash. */
export function registrationFacts({
  registeredAt,
  identityType,
  site,
}: Agent): NonNullable<AuditEntry["detail"]> {
  return { registeredAt, identityType, ...(site !== undefined && { site }) };
}

/** The scopes of an agent without an owner. @param anonymousScopes Scopes open to such agents. */
export function unclaimedScopes(
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
