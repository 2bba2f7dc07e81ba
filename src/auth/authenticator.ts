import type { AccessToken, ClientCredentials, Provider } from "oidc-provider";
import type { Records } from "../store/records.ts";
import type { Accounts } from "./accounts/accounts.ts";
import { clients } from "./agents/agent.ts";
import type { Authenticate, Caller } from "./caller.ts";
import type { ApiKeys } from "./keys/api-keys.ts";
import type { LastUse } from "./last-use.ts";
import { isByDocument } from "./oidc/document-clients.ts";
import { covers } from "./oidc/resources.ts";
import { isScope } from "./scopes.ts";

/** Where credentials are looked up. */
interface AuthenticatorOptions {
  readonly records: Pick<Records, "get">;
  /** Gives the authorization server of the moment. */
  readonly provider: () => Provider;
  readonly keys: Pick<ApiKeys, "find">;
  readonly accounts: Pick<Accounts, "find">;
  /** Notes when the agents that somebody answers for were used last; keys note it themselves. */
  readonly lastUse: Pick<LastUse, "note">;
  /** The resource of the whole service: what keys are good for. */
  readonly baseUrl: string;
}

/** Whether the caller's credential is good for `resource`, or for one that includes it. */
export function mayUse(caller: Caller, resource: string): boolean {
  return covers(caller.resource, resource);
}

/**
 * Nothing is remembered, so that a revocation or a deleted client counts for the next request on
 * every process. No metadata document of a client is fetched.
 */
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

/** What every caller has from its token; `undefined` when it is good for nothing here. */
function issuedAs({ clientId, aud, scopes }: AccessToken | ClientCredentials) {
  if (clientId === undefined || typeof aud !== "string") return undefined;
  return { clientId, resource: aud, scopes: new Set([...scopes].filter(isScope)) };
}

async function agentOf(
  token: ClientCredentials,
  { records, lastUse }: AuthenticatorOptions,
): Promise<Caller | undefined> {
  const issued = issuedAs(token);
  const client = issued && (await records.get(clients, issued.clientId));
  if (issued === undefined || client === undefined) return undefined;
  const accountId = client.value.agent.owner?.accountId;
  if (accountId !== undefined) lastUse.note(issued.clientId);
  return { kind: "agent", id: issued.clientId, ...issued, accountId, signedInAt: undefined };
}

async function personOf(
  token: AccessToken,
  { records, accounts }: AuthenticatorOptions,
): Promise<Caller | undefined> {
  const issued = issuedAs(token);
  if (issued === undefined || token.accountId === undefined) return undefined;
  const [isThere, account] = await Promise.all([
    isByDocument(issued.clientId) || records.get(clients, issued.clientId),
    accounts.find(token.accountId),
  ]);
  if (!isThere || account === undefined) return undefined;
  const { auth_time: seconds } = token.extra ?? {};
  const signedInAt = typeof seconds === "number" ? seconds * 1000 : undefined;
  return { kind: "user", id: account.id, ...issued, accountId: account.id, signedInAt };
}
