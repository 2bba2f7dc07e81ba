import type { Provider } from "oidc-provider";
import { covers } from "./oidc/resources.ts";
import { isScope, type Scope } from "./scopes.ts";

/** Who is calling, as far as the access token says. */
export interface Caller {
  readonly clientId: string;
  readonly scopes: ReadonlySet<Scope>;
  /** The resource the token was issued for (RFC 8707). */
  readonly resource: string;
}

/** Finds the caller behind an access token; `undefined` when the token is unknown, expired,
 *  revoked, or belongs to a client that no longer exists. */
export type Authenticate = (token: string) => Promise<Caller | undefined>;

/** Whether the caller's token was issued for `resource`, or for a resource that includes it. */
export function mayUse(caller: Caller, resource: string): boolean {
  return covers(caller.resource, resource);
}

/**
 * Nothing is cached, so that a revocation or a deleted client counts for the next request.
 *
 * @param provider Gives the authorization server of the moment.
 */
export function createAuthenticator(provider: () => Provider): Authenticate {
  return async (token) => {
    const { Client, ClientCredentials } = provider();
    const found = await ClientCredentials.find(token);
    if (found?.clientId === undefined || typeof found.aud !== "string") return undefined;
    if ((await Client.find(found.clientId)) === undefined) return undefined;

    return {
      clientId: found.clientId,
      scopes: new Set([...found.scopes].filter(isScope)),
      resource: found.aud,
    };
  };
}
