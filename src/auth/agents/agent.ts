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
  /** Maximum scopes of the agent. */
  readonly scopes: readonly Scope[];
  /** Milliseconds since the epoch. */
  readonly claimedAt: number;
  /** The only resource that its tokens are valid for; absent for the whole service. */
  readonly resource?: string;
  /** The application that claimed it with the person's token, and whose access the agent depends
   *  on; absent when a person claimed it. */
  readonly through?: ActingApplication;
}

/** An application that acts for a person. */
export interface ActingApplication {
  readonly clientId: string;
  /** The grant by which the person authorized it. */
  readonly grantId: string;
}

/** What the service stores of a registered client beside its metadata. */
export interface Agent {
  readonly identityType: IdentityType;
  /** Milliseconds since the epoch. */
  readonly registeredAt: number;
  /** Hash of the site (/24 of IPv4, /48 of IPv6) from which it was registered. Absent in records of
   *  earlier versions. */
  readonly site?: string;
  /** Hash of the provider network (/32 of IPv6) from which it was registered. Absent for IPv4, and
   *  in records of earlier versions. */
  readonly provider?: string;
  /** Email address of the only person who may claim it, if the agent named one. */
  readonly loginHint?: string;
  /** Absent while the agent is unclaimed. */
  readonly owner?: Ownership;
}

/** A registered client. */
export interface ClientRecord {
  /** Metadata as oidc-provider stores it, with the secret hashed. The client chooses most of it, so
   *  no authorization decision may depend on it. */
  readonly metadata: AdapterPayload;
  readonly agent: Agent;
}

/** Registered clients by client id. */
export const clients = collection<ClientRecord>("oidc:Client");

/** Group of everything that was issued to a client, in all collections. */
export const clientGroup = (clientId: string): string => `client:${clientId}`;

/** Group of a client's authorization requests that wait for a person. */
export const authorizationRequestGroup = (clientId: string): string =>
  `asked-by:${fingerprint(clientId)}`;

/** Group of everything a person has through a client, in all collections. */
export const accountClientGroup = (accountId: string, clientId: string): string =>
  `through:${fingerprint(JSON.stringify([accountId, clientId]))}`;

/** Group of the clients that an account owns. */
export const ownedAgentsGroup = (accountId: string): string => `agents-of:${accountId}`;

/** Group of everything that is deleted with an account, in all collections. */
export const accountRecordsGroup = (accountId: string): string => `account:${accountId}`;

/** Identity types that have no scope until a person claims the agent. */
const needsClaim: ReadonlySet<IdentityType> = new Set(["service_auth", "identity_assertion"]);

/** Whether an agent's actions and its deletion are audited: only if it has an owner or a verified
 *  identity. Anyone can register and delete anonymous agents at will, and audit rows are stored for
 *  400 days. When such an agent is claimed later, the audit row of the claim says when it
 *  registered (`registrationFacts`). */
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

/** The scopes of an agent without an owner. @param anonymousScopes Scopes allowed for such
 *  agents. */
export function unclaimedScopes(
  { metadata, agent }: ClientRecord,
  anonymousScopes: readonly Scope[],
): readonly Scope[] {
  if (needsClaim.has(agent.identityType)) return [];
  const registered = scopeNames(metadata.scope ?? "").filter(isScope);
  return registered.filter((scope) => anonymousScopes.includes(scope));
}

/** Whether a claim can widen the scopes of the client's own tokens. */
export function isClaimable({ metadata }: ClientRecord): boolean {
  return Array.isArray(metadata.grant_types) && metadata.grant_types.includes("client_credentials");
}
