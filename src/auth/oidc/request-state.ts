import { AsyncLocalStorage } from "node:async_hooks";
import type { ServerResponse } from "node:http";
import { type AdapterPayload, Provider } from "oidc-provider";
import type { Problem } from "../../problem.ts";
import type { Operation, Stored } from "../../store/port/records.ts";
import type { GrantRecord } from "../accounts/grants.ts";
import type { Agent, ClientRecord } from "../agents/agent.ts";
import type { Assertion } from "../assertions/id-jag.ts";
import type { Scope } from "../scopes.ts";
import type { NewRecord, RecordRef } from "./adapter-context.ts";

/** State of one request to the authorization server. */
export interface RequestState {
  /** Registered clients that the request has read, by id. What it issues is committed only while they
   *  are unchanged. */
  readonly clients: Map<string, Stored<ClientRecord>>;
  /** Grants that the request has read, by id; as for clients. */
  readonly grants: Map<string, Stored<GrantRecord>>;
  /** The account that is signed in at the browser. */
  accountId?: string | undefined;
  /** Set while a client is registered or updated. */
  registration?: RegistrationContext;
  /** Set in a token request as soon as it uses up or issues something. */
  issuance?: PendingIssuance;
  /** The used code that the client presented again. */
  replayed?: { readonly ref: RecordRef; readonly value: AdapterPayload };
  /** The identity assertion that the token rests on. */
  assertion?: Assertion;
  /** The problem that made oidc-provider fail. */
  problem?: Problem;
  /** Whether oidc-provider reported an error for the authorization request. */
  hasAuthorizationError?: boolean;
}

/** What is known of the client that a request registers or updates, other than its metadata. */
interface RegistrationContext {
  /** The scopes that the client may register for itself. */
  readonly ceiling: readonly Scope[];
  /** Whether somebody owns the client from the start. */
  readonly isOwned?: boolean;
  /** Absent for an update. */
  readonly newClient?: (clientId: string, metadata: AdapterPayload) => NewClient;
}

/** A client that is about to be stored. */
export interface NewClient {
  readonly agent: Agent;
  /** Committed together with the client. They fail when its assertion was used meanwhile; then the
   *  client must not be stored, and retrying is no use. */
  readonly steps: readonly Operation[];
}

/** What a token request has used up and issued so far; committed when its response is ready. */
export interface PendingIssuance {
  /** Codes and refresh tokens, each good for one use. */
  readonly consumed: RecordRef[];
  /** Grants, codes and tokens. */
  readonly issued: NewRecord[];
}

const newState = (): RequestState => ({ clients: new Map(), grants: new Map() });

const withoutKoa = new AsyncLocalStorage<RequestState>();

/** The state of a request, kept in Koa's `ctx.state`. @param ctx Absent where oidc-provider is used
 *  outside of a request to it: then the state of `withRequestState`, or an empty one. */
export function stateOf(
  ctx: { readonly state: { oauth?: RequestState } } | undefined,
): RequestState {
  if (ctx === undefined) return withoutKoa.getStore() ?? newState();
  ctx.state.oauth ??= newState();
  return ctx.state.oauth;
}

/** Uses oidc-provider outside of a request to it with a state of its own, so that what is written is
 *  checked against what was read. */
export function withRequestState<T>(act: () => Promise<T>): Promise<T> {
  return withoutKoa.run(newState(), act);
}

/** What the current token request has used up and issued; `undefined` in any other request. */
export function pendingIssuance(): PendingIssuance | undefined {
  const { ctx } = Provider;
  if (ctx?.oidc.route !== "token") return undefined;
  const state = stateOf(ctx);
  state.issuance ??= { consumed: [], issued: [] };
  return state.issuance;
}

/** Who a token is about to be issued to. */
interface Recipient {
  readonly clientId: string;
  /** The person that the token is for or, where it is the client's own, the owner of the client;
   *  `undefined` for an agent that nobody has claimed. */
  readonly accountId: string | undefined;
}

/** Decides whether a token is issued to an authenticated client.
 *  @throws {Problem} `rate_limited` */
export type AdmitToken = (recipient: Recipient) => Promise<void>;

/** Why an authorization request is refused (RFC 6749 section 4.1.2.1). */
interface AuthorizationError {
  readonly error: string;
  readonly error_description?: string;
}

/** What the HTTP layer does at certain points of a request that oidc-provider handles. */
export interface RequestHooks {
  /** Runs before an authorization request is stored, which is refused when this throws. */
  beforeAuthorizationStored?: () => Promise<void>;
  /** Runs before a valid client assertion is stored, which is refused when this throws. */
  beforeAssertionStored?: () => Promise<void>;
  /** Answers a refused authorization request in place of JSON. It gets a problem when the service could
   *  not answer the request. */
  onAuthorizationRefused?: (refusal: AuthorizationError | Problem) => void;
  /** Runs when client authentication fails. @returns A problem that takes the place of the error. */
  onFailedClientAuthentication?: () => Promise<Problem | undefined>;
  admitToken?: AdmitToken;
}

/** By the response to the request: it exists before Koa's context does, and Koa passes it through. */
const hooks = new WeakMap<ServerResponse, RequestHooks>();

/** The hooks of a request, to be set before oidc-provider handles it. @param response As
 *  oidc-provider is given it. */
export function hooksOf(response: ServerResponse): RequestHooks {
  const known = hooks.get(response) ?? {};
  hooks.set(response, known);
  return known;
}
