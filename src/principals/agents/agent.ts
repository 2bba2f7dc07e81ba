import type { AdapterPayload } from "oidc-provider";
import { isScope, parseScopeNames, type Scope } from "../../access/scopes.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import type { AuditEntry } from "../../store/audit-entry.ts";
import { collection } from "../../store/port/records.ts";

/** How an agent identified itself when it registered. */
export type IdentityType = "anonymous" | "identity_assertion" | "service_auth" | "agent";

/** The owner of an agent. */
export interface Ownership {
  readonly accountId: string;
  /** Maximum scopes of the agent's tokens. */
  readonly scopes: readonly Scope[];
  /** Milliseconds since the epoch. */
  readonly claimedAt: number;
  /**
   * The only resource that the agent's tokens are valid for; absent if they are valid for the whole
   * service.
   */
  readonly resource?: string;
  /**
   * The application that claimed the agent with the person's token, and on whose access the agent
   * depends; absent when a person claimed it.
   */
  readonly through?: ActingApplication;
}

/** An application that acts for a person. */
export interface ActingApplication {
  readonly clientId: string;
  /** The grant by which the person authorized the application. */
  readonly grantId: string;
}

/** Data about a registered client that the service stores in addition to its metadata. */
export interface Agent {
  readonly identityType: IdentityType;
  /** Milliseconds since the epoch. */
  readonly registeredAt: number;
  /**
   * Hash of the network (/24 of IPv4, /48 of IPv6) from which the agent was registered. Absent in
   * records of earlier versions.
   */
  readonly site?: string;
  /**
   * Hash of the provider network (/32 of IPv6) from which the agent was registered. Absent for
   * IPv4, and in records of earlier versions.
   */
  readonly provider?: string;
  /** Email address of the only person who may claim the agent; absent if the agent gave none. */
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

/** Group of a client's authorization requests that are waiting for a person. */
export const authorizationRequestGroup = (clientId: string): string =>
  `asked-by:${fingerprint(clientId)}`;

/** Group of everything a person has through a client, in all collections. */
export const accountClientGroup = (accountId: string, clientId: string): string =>
  `through:${fingerprint(JSON.stringify([accountId, clientId]))}`;

/** Group of the clients that an account owns. */
export const ownedAgentsGroup = (accountId: string): string => `agents-of:${accountId}`;

/** Group of everything that is deleted with an account, in all collections. */
export const accountRecordsGroup = (accountId: string): string => `account:${accountId}`;

/** Identity types that have no scopes until a person claims the agent. */
const needsClaim: ReadonlySet<IdentityType> = new Set(["service_auth", "identity_assertion"]);

/**
 * Whether an agent's actions and its deletion are audited: only if it has an owner or a verified
 * identity. Anyone can register and delete anonymous agents at will, and audit rows are stored for
 * 400 days. When an anonymous agent is claimed later, the audit row of the claim records when it
 * registered (`registrationAuditDetail`).
 */
export function isAudited({ identityType, owner }: Agent): boolean {
  return owner !== undefined || identityType === "identity_assertion";
}

/**
 * When and from where an agent registered, for the audit row of its claim: milliseconds since the
 * epoch, and the hash of the network.
 */
export function registrationAuditDetail({
  registeredAt,
  identityType,
  site,
}: Agent): NonNullable<AuditEntry["detail"]> {
  return { registeredAt, identityType, ...(site !== undefined && { site }) };
}

/**
 * The scopes of an agent without an owner.
 * @param anonymousScopes Scopes that the operator allows agents without an owner.
 */
export function unclaimedScopes(
  { metadata, agent }: ClientRecord,
  anonymousScopes: readonly Scope[],
): readonly Scope[] {
  if (needsClaim.has(agent.identityType)) return [];
  const registered = parseScopeNames(metadata.scope ?? "").filter(isScope);
  return registered.filter((scope) => anonymousScopes.includes(scope));
}

/**
 * Whether a client gets tokens of its own, which do not act for a person. Only such a client can be
 * claimed; the result is also true for a client that has been claimed.
 */
export function usesClientCredentials({ metadata }: ClientRecord): boolean {
  return Array.isArray(metadata.grant_types) && metadata.grant_types.includes("client_credentials");
}
