import { AsyncLocalStorage } from "node:async_hooks";
import type { ServerResponse } from "node:http";
import { type AdapterPayload, Provider } from "oidc-provider";
import type { Scope } from "../../access/scopes.ts";
import type { Problem } from "../../lib/problem.ts";
import type { GrantRecord } from "../../principals/accounts/grants.ts";
import type { Agent, ClientRecord } from "../../principals/agents/agent.ts";
import type { Stored } from "../../store/port/records.ts";
import type { Transaction } from "../../store/transact.ts";
import type { VerifiedAssertion } from "../assertions/id-jag.ts";
import type { ModelRecordRef, NewModelRecord } from "./adapter-context.ts";

/** State of one request to the authorization server. */
export interface RequestState {
  /**
   * Registered clients that the request has read, by id. The request's issuance is committed only
   * if they are unchanged.
   */
  readonly clients: Map<string, Stored<ClientRecord>>;
  /**
   * Grants that the request has read, by id. The request's issuance is committed only if they are
   * unchanged.
   */
  readonly grants: Map<string, Stored<GrantRecord>>;
  /** The account that is signed in at the browser. */
  accountId?: string | undefined;
  /** Set while a client is registered or updated. */
  registration?: {
    /** Maximum scopes of the client's own tokens. */
    readonly ceiling: readonly Scope[];
    /** Whether the client has an owner from the time of its registration. */
    readonly isOwned?: boolean;
    /** Creates the client record of a registration; absent for an update. */
    readonly newClient?: (clientId: string, metadata: AdapterPayload) => NewClient;
  };
  /** Set in a token request once it consumes or issues a record. */
  issuance?: PendingIssuance;
  /** A used code that the client presented again. */
  replayed?: { readonly ref: ModelRecordRef; readonly value: AdapterPayload };
  /** The identity assertion of a token request. */
  assertion?: VerifiedAssertion;
  /** The problem that caused an error of oidc-provider. */
  problem?: Problem;
  /** Whether oidc-provider reported an error for the authorization request. */
  hasAuthorizationError?: boolean;
}

/** A client that is about to be stored. */
export interface NewClient {
  readonly agent: Agent;
  /**
   * Writes what belongs to the client, in the transaction that stores it.
   * @returns `false` if the client's assertion was used concurrently; then the client must not be
   * stored.
   */
  alsoWrite(tx: Transaction): Promise<boolean>;
}

/**
 * The records that a token request has consumed and issued so far; committed when the response is
 * ready.
 */
interface PendingIssuance {
  /** Codes and refresh tokens of the request, which can be used only once. */
  readonly consumed: ModelRecordRef[];
  /** Grants, codes and tokens to store. */
  readonly issued: NewModelRecord[];
}

const newState = (): RequestState => ({ clients: new Map(), grants: new Map() });

const outsideKoa = new AsyncLocalStorage<RequestState>();

/**
 * The state of a request, stored in Koa's `ctx.state`.
 * @param ctx Absent when oidc-provider is called directly, without an HTTP request: then the state
 * of `withRequestState` is returned, or an empty state.
 */
export function requestStateOf(
  ctx: { readonly state: { oauth?: RequestState } } | undefined,
): RequestState {
  if (ctx === undefined) return outsideKoa.getStore() ?? newState();
  ctx.state.oauth ??= newState();
  return ctx.state.oauth;
}

/**
 * Runs an action that calls oidc-provider directly, without an HTTP request. The action gets a new
 * request state, so that its commits check the records that it has read.
 */
export function withRequestState<T>(act: () => Promise<T>): Promise<T> {
  return outsideKoa.run(newState(), act);
}

/**
 * The records that the current token request has consumed and issued; `undefined` for other
 * requests.
 */
export function pendingIssuance(): PendingIssuance | undefined {
  const { ctx } = Provider;
  if (ctx?.oidc.route !== "token") return undefined;
  const state = requestStateOf(ctx);
  state.issuance ??= { consumed: [], issued: [] };
  return state.issuance;
}

/** Decides whether a token may be issued to an authenticated client. @throws {Problem}
 *  `rate_limited` */
export type AdmitToken = (recipient: {
  readonly clientId: string;
  /**
   * The person that the token acts for; for the client's own token, the owner of the client;
   * `undefined` for an unclaimed agent.
   */
  readonly accountId: string | undefined;
}) => Promise<void>;

/** The error of an authorization request (RFC 6749 section 4.1.2.1). */
interface AuthorizationError {
  readonly error: string;
  readonly error_description?: string;
}

/** Callbacks through which the HTTP layer takes part in a request that oidc-provider handles. */
interface RequestHooks {
  /** Runs before an authorization request is stored; if it throws, the request is rejected. */
  beforeAuthorizationStored?: () => Promise<void>;
  /** Runs before a valid client assertion is stored; if it throws, the assertion is rejected. */
  beforeAssertionStored?: () => Promise<void>;
  /**
   * Responds to a rejected authorization request in place of the JSON response. The argument is a
   * `Problem` when the service is unavailable or a limit is exceeded.
   */
  onAuthorizationError?: (refusal: AuthorizationError | Problem) => void;
  /**
   * Runs when client authentication fails.
   * @returns A problem that replaces the error.
   */
  onFailedClientAuthentication?: () => Promise<Problem | undefined>;
  admitToken?: AdmitToken;
}

/**
 * Hooks by HTTP response. The response is the key because it exists before Koa's context, and the
 * context refers to it.
 */
const hooks = new WeakMap<ServerResponse, RequestHooks>();

/**
 * The hooks of a request, to be set before oidc-provider handles the request.
 * @param response The response object that is passed to oidc-provider.
 */
export function requestHooksOf(response: ServerResponse): RequestHooks {
  const known = hooks.get(response) ?? {};
  hooks.set(response, known);
  return known;
}
