import type { Scope } from "./scopes.ts";

/** An authenticated caller. */
export interface Caller {
  /** `agent`: an agent with client credentials; `user`: a person, through a client they authorized;
   *  `service`: an API key. */
  readonly kind: "agent" | "user" | "service";
  /** The client id of an agent, the account id of a person, or the id of a key. */
  readonly id: string;
  /** The client that the token was issued to; `undefined` for API keys. */
  readonly clientId: string | undefined;
  /** Client id of the application behind the caller: the client of a person's token, or the
   *  application that claimed the agent and whose access the agent depends on. `undefined` for
   *  agents that a person claimed, and for API keys. */
  readonly application?: string | undefined;
  /** The grant that the person's token was issued under; absent for other callers. */
  readonly grantId?: string | undefined;
  /**
   * The account of the caller, or of the owner of the agent or key; `undefined` if there is no
   * account.
   */
  readonly accountId: string | undefined;
  readonly scopes: ReadonlySet<Scope>;
  /** The resource that the credential is valid for (RFC 8707). */
  readonly resource: string;
  /**
   * When the person signed in, in milliseconds since the epoch; `undefined` unless the caller is a
   * person.
   */
  readonly signedInAt: number | undefined;
  /** Expiry of the credential, in milliseconds since the epoch; absent if it does not expire. */
  readonly expiresAt?: number | undefined;
}

/** The members that identify a caller, whatever the kind of its credential. */
export interface CallerIdentity extends Pick<Caller, "kind" | "id"> {
  readonly clientId?: string | undefined;
}

/**
 * Key of a caller: an agent, an API key, or one application of a person. A rate limit with this key
 * applies to each application of a person separately, so that one application cannot use up another
 * application's limit.
 */
export const callerKey = ({ kind, id, clientId }: CallerIdentity): string =>
  kind === "user" ? `${kind}:${id}:${clientId}` : `${kind}:${id}`;

/**
 * Finds the caller of an access token or API key.
 * @returns `undefined` when the credential is unknown, expired or revoked, or when its client or
 * person was deleted.
 */
export type Authenticate = (credential: string) => Promise<Caller | undefined>;
