import type { Scope } from "./scopes.ts";

/** The caller that a credential identifies. */
export interface Caller {
  /** An agent by client credentials, a person by a client they authorized, or a service by an
   *  API key. */
  readonly kind: "agent" | "user" | "service";
  /** Id of the client for an agent, of the account for a person, of the key for a service. */
  readonly id: string;
  /** The client that the token was issued to; API keys have none. */
  readonly clientId: string | undefined;
  /** The grant that a user's token was issued under. */
  readonly grantId?: string | undefined;
  /** The account that owns the caller, if there is one. */
  readonly accountId: string | undefined;
  readonly scopes: ReadonlySet<Scope>;
  /** The resource the credential is good for (RFC 8707). */
  readonly resource: string;
  /** When the person behind a user's token signed in, in milliseconds since the epoch. */
  readonly signedInAt: number | undefined;
  /** When the credential ends by itself, in milliseconds since the epoch; absent: never. */
  readonly endsAt?: number | undefined;
}

/** Finds the caller behind an access token or an API key; `undefined` when it is unknown,
 *  expired or revoked, or when its client or person is gone. */
export type Authenticate = (credential: string) => Promise<Caller | undefined>;
