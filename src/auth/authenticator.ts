import type { AccessToken, ClientCredentials, Provider } from "oidc-provider";
import type { Authenticate, Caller } from "../access/caller.ts";
import type { LastUseTracker } from "../access/last-use.ts";
import { isScope, parseScopeNames, type Scope } from "../access/scopes.ts";
import type { AccountService } from "../principals/accounts/accounts.ts";
import { grants, scopesForResource } from "../principals/accounts/grants.ts";
import { type ClientRecord, clients } from "../principals/agents/agent.ts";
import type { ApiKeyService } from "../principals/keys/api-keys.ts";
import type { Records, Stored } from "../store/port/records.ts";
import { hasMetadataDocument } from "./oidc/metadata-documents.ts";
import { clientScopeCeiling } from "./oidc/resource-indicators.ts";

/** Dependencies of `createAuthenticator`. */
interface AuthenticatorOptions {
  readonly records: Records;
  /** Returns the current authorization server, which is replaced when the keys change. */
  readonly provider: () => Provider;
  readonly keys: ApiKeyService;
  readonly accounts: AccountService;
  /**
   * Records the use of agents with an owner. The use of API keys is recorded by `ApiKeyService`.
   */
  readonly lastUse: LastUseTracker;
  /** The resource of the whole service, which API keys are valid for. */
  readonly baseUrl: string;
  /** The scopes of an agent without an owner. */
  readonly anonymousScopes: readonly Scope[];
}

/**
 * Creates the function that finds the caller of a credential with its current rights. A caller has
 * those scopes of its token that the client is still registered for, and that the client's owner,
 * or the person the client acts for, still allows. Nothing is cached, and no metadata documents are
 * fetched.
 */
export function createAuthenticator(options: AuthenticatorOptions): Authenticate {
  return async (credential) =>
    (await authenticateKey(credential, options)) ?? (await authenticateToken(credential, options));
}

async function authenticateKey(
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
    expiresAt: key.expiresAt,
  };
}

async function authenticateToken(
  credential: string,
  options: AuthenticatorOptions,
): Promise<Caller | undefined> {
  const { AccessToken, ClientCredentials } = options.provider();
  const [own, personal] = await Promise.all([
    ClientCredentials.find(credential),
    AccessToken.find(credential),
  ]);
  if (own !== undefined) return agentCaller(own, options);
  return personal && userCaller(personal, options);
}

type Token = AccessToken | ClientCredentials;

/**
 * The claims of a token; `undefined` when the token has no client, or does not have exactly one
 * audience.
 */
function tokenClaims({ clientId, aud, scopes }: Token) {
  if (clientId === undefined || typeof aud !== "string") return undefined;
  return { clientId, resource: aud, scopes: new Set([...scopes].filter(isScope)) };
}

/** Those scopes of a token that are still allowed for its client and for its person. */
function intersectScopes(issued: ReadonlySet<Scope>, ...allowed: readonly (readonly string[])[]) {
  return new Set([...issued].filter((scope) => allowed.every((names) => names.includes(scope))));
}

/**
 * Expiry of a token, in milliseconds since the epoch; never later than the expiry of its client.
 */
function expiryOf({ exp = Infinity }: Token, client: Stored<ClientRecord> | undefined): number {
  return Math.min(1000 * exp, client?.expiresAt ?? Infinity);
}

async function agentCaller(
  token: ClientCredentials,
  { records, lastUse, anonymousScopes }: AuthenticatorOptions,
): Promise<Caller | undefined> {
  const issued = tokenClaims(token);
  const client = issued && (await records.get(clients, issued.clientId));
  if (issued === undefined || client === undefined) return undefined;
  const { owner } = client.value.agent;
  const accountId = owner?.accountId;
  if (accountId !== undefined) lastUse.record(issued.clientId);
  const expiresAt = expiryOf(token, client);
  return {
    kind: "agent",
    id: issued.clientId,
    ...issued,
    scopes: intersectScopes(issued.scopes, clientScopeCeiling(client.value, anonymousScopes)),
    accountId,
    application: owner?.through?.clientId,
    signedInAt: undefined,
    expiresAt,
  };
}

async function userCaller(
  token: AccessToken,
  options: AuthenticatorOptions,
): Promise<Caller | undefined> {
  const issued = tokenClaims(token);
  const basis = issued && (await userTokenRecords(token, options));
  if (issued === undefined || basis === undefined) return undefined;
  const { accountId, client, grant } = basis;
  const { auth_time: seconds } = token.extra ?? {};
  const signedInAt = typeof seconds === "number" ? seconds * 1000 : undefined;
  const allowed = scopesForResource(grant.value, issued.resource);
  const registered = client && parseScopeNames(client.value.metadata.scope ?? "");
  return {
    kind: "user",
    id: accountId,
    ...issued,
    scopes: intersectScopes(issued.scopes, allowed, registered ?? allowed),
    grantId: grant.key,
    accountId,
    application: issued.clientId,
    signedInAt,
    expiresAt: expiryOf(token, client),
  };
}

/**
 * The records that a person's token depends on; `undefined` when one of them no longer exists. A
 * client with a metadata document has no record.
 */
async function userTokenRecords(
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
