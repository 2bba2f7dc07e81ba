import type { AccessToken, ClientCredentials, Provider } from "oidc-provider";
import type { Records, Stored } from "../store/port/records.ts";
import type { Accounts } from "./accounts/accounts.ts";
import { grants, scopesForResource } from "./accounts/grants.ts";
import { type ClientRecord, clients } from "./agents/agent.ts";
import type { Authenticate, Caller } from "./caller.ts";
import type { ApiKeys } from "./keys/api-keys.ts";
import type { LastUse } from "./last-use.ts";
import { hasMetadataDocument } from "./oidc/metadata-documents.ts";
import { clientScopeCeiling } from "./oidc/resource-indicators.ts";
import { isScope, type Scope, scopeNames } from "./scopes.ts";

/** Where credentials are looked up. */
export interface AuthenticatorOptions {
  readonly records: Pick<Records, "get">;
  /** Gives the authorization server of the moment. */
  readonly provider: () => Provider;
  readonly keys: ApiKeys;
  readonly accounts: Accounts;
  /** Notes the use of agents with an owner; keys note their own. */
  readonly lastUse: LastUse;
  /** The resource of the whole service: what keys are good for. */
  readonly baseUrl: string;
  /** The scopes of agents without an owner. */
  readonly anonymousScopes: readonly Scope[];
}

/** Finds the current rights of callers: of the scopes that a token was issued with, those that
 *  its client is still registered for, and that its owner, or the person it acts for, still
 *  allows. Nothing is cached here, and no metadata document is fetched. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticate {
  return async (credential) =>
    (await byKey(credential, options)) ?? (await byToken(credential, options));
}

async function byKey(
  credential: string,
  { keys, baseUrl }: AuthenticatorOptions,
): Promise<Caller | undefined> {
  const key = await keys.find(credential);
  if (key === undefined) return undefined;
  return {
    kind: "service",
    id: key.id,
    clientId: undefined,
    accountId: key.accountId,
    scopes: new Set(key.scopes),
    resource: baseUrl,
    signedInAt: undefined,
    endsAt: key.expiresAt,
  };
}

async function byToken(
  credential: string,
  options: AuthenticatorOptions,
): Promise<Caller | undefined> {
  const { AccessToken, ClientCredentials } = options.provider();
  const [own, personal] = await Promise.all([
    ClientCredentials.find(credential),
    AccessToken.find(credential),
  ]);
  if (own !== undefined) return agentOf(own, options);
  return personal && personOf(personal, options);
}

type Token = AccessToken | ClientCredentials;

/** What a token itself says; `undefined` when it is not usable here. */
function issuedAs({ clientId, aud, scopes }: Token) {
  if (clientId === undefined || typeof aud !== "string") return undefined;
  return { clientId, resource: aud, scopes: new Set([...scopes].filter(isScope)) };
}

/** The scopes of a token that its client or person still has. */
function stillAllowed(issued: ReadonlySet<Scope>, ...allowed: readonly (readonly string[])[]) {
  return new Set([...issued].filter((scope) => allowed.every((names) => names.includes(scope))));
}

/** When a token ends, in milliseconds since the epoch: at the latest with its client. */
function endOf({ exp = Infinity }: Token, client: Stored<ClientRecord> | undefined): number {
  return Math.min(1000 * exp, client?.expiresAt ?? Infinity);
}

async function agentOf(
  token: ClientCredentials,
  { records, lastUse, anonymousScopes }: AuthenticatorOptions,
): Promise<Caller | undefined> {
  const issued = issuedAs(token);
  const client = issued && (await records.get(clients, issued.clientId));
  if (issued === undefined || client === undefined) return undefined;
  const accountId = client.value.agent.owner?.accountId;
  if (accountId !== undefined) lastUse.note(issued.clientId);
  const endsAt = endOf(token, client);
  return {
    kind: "agent",
    id: issued.clientId,
    ...issued,
    scopes: stillAllowed(issued.scopes, clientScopeCeiling(client.value, anonymousScopes)),
    accountId,
    signedInAt: undefined,
    endsAt,
  };
}

async function personOf(
  token: AccessToken,
  options: AuthenticatorOptions,
): Promise<Caller | undefined> {
  const issued = issuedAs(token);
  const basis = issued && (await basisOf(token, options));
  if (issued === undefined || basis === undefined) return undefined;
  const { accountId, client, grant } = basis;
  const { auth_time: seconds } = token.extra ?? {};
  const signedInAt = typeof seconds === "number" ? seconds * 1000 : undefined;
  const allowed = scopesForResource(grant.value, issued.resource);
  const registered = client && scopeNames(client.value.metadata.scope ?? "");
  return {
    kind: "user",
    id: accountId,
    ...issued,
    scopes: stillAllowed(issued.scopes, allowed, registered ?? allowed),
    grantId: grant.key,
    accountId,
    signedInAt,
    endsAt: endOf(token, client),
  };
}

/** What a token for a person depends on; `undefined` when any of it has ended. A client with a
 *  metadata document is not registered. */
async function basisOf(
  { clientId = "", accountId = "", grantId = "" }: AccessToken,
  { records, accounts }: AuthenticatorOptions,
) {
  const isByItsDocument = hasMetadataDocument(clientId);
  const [client, account, grant] = await Promise.all([
    isByItsDocument ? undefined : records.get(clients, clientId),
    accounts.find(accountId),
    records.get(grants, grantId),
  ]);
  if (account === undefined || grant === undefined) return undefined;
  if (client === undefined && !isByItsDocument) return undefined;
  return { accountId, client, grant };
}
