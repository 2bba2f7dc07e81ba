import { randomBytes } from "node:crypto";
import { type AdapterPayload, errors, type KoaContextWithOIDC, type Provider } from "oidc-provider";
import { allScopes, isScope, parseScopeNames, type Scope } from "../../access/scopes.ts";
import { parseJson } from "../../lib/json.ts";
import {
  type Agent,
  type ClientRecord,
  clients,
  unclaimedScopes,
  usesClientCredentials,
} from "../../principals/agents/agent.ts";
import type { ClaimStart } from "../../principals/agents/claim-records.ts";
import { type ClaimService, claimLinks } from "../../principals/agents/claims.ts";
import { newRegistrationToken } from "../../principals/agents/registration-access-token.ts";
import type { Records } from "../../store/port/records.ts";
import { MAX_LOGIN_AGE_SECONDS, type VerifiedAssertion } from "../assertions/id-jag.ts";
import {
  type IdentityVerificationOptions,
  type RequestedIdentity,
  rejectAssertion,
  verifyRequestedIdentity,
} from "./agent-identity.ts";
import { clientWriteOptions } from "./client-lifetime.ts";
import { checkRegistrationBody, type UnvalidatedClientMetadata } from "./metadata-members.ts";
import { registrationNote } from "./registration-note.ts";
import { type NewClient, requestStateOf } from "./request-state.ts";

/** Settings that responses about a client depend on. */
interface ResponseOptions {
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  readonly anonymousScopes: readonly Scope[];
  readonly claims: ClaimService;
}

const isoInstant = (at: number): string => new Date(at).toISOString();

/**
 * Scopes of a client's own tokens before and after a person claims the client. A client without
 * tokens of its own cannot be claimed; its registered scopes are those that it may request from
 * people.
 */
function scopesOf(record: ClientRecord, anonymousScopes: readonly Scope[]) {
  const { metadata, agent } = record;
  const registered = parseScopeNames(metadata.scope ?? "").filter(isScope);
  if (!usesClientCredentials(record)) return { pre_claim: registered, post_claim: registered };

  const pre_claim = unclaimedScopes(record, anonymousScopes);
  return { pre_claim, post_claim: agent.owner?.scopes ?? allScopes };
}

function claimOf({ agent }: ClientRecord, links: object, start: ClaimStart | undefined) {
  const { owner } = agent;
  if (owner !== undefined) return { status: "claimed", claimed_at: isoInstant(owner.claimedAt) };
  const code = start && { code: start.code, expires_at: isoInstant(start.expiresAt) };
  return { status: "unclaimed", ...code, ...links };
}

/** The client that a response describes. */
interface DescribedClient {
  readonly clientId: string;
  readonly record: ClientRecord;
  /**
   * Expiry of the registration, in milliseconds since the epoch; `undefined` if it does not expire.
   */
  readonly expiresAt: number | undefined;
}

/**
 * The members of a response about a client in addition to those of RFC 7591 section 3.2.1: the
 * client's identity, and how a person can claim it.
 *
 * @param start The claim code; only in the response to the registration.
 */
function identityMembers(
  { clientId, record, expiresAt }: DescribedClient,
  { baseUrl, anonymousScopes, claims }: ResponseOptions,
  start?: ClaimStart,
): Readonly<Record<string, unknown>> {
  const links = {
    ...claimLinks(baseUrl, clientId),
    who_can_claim: claims.claimantsNote,
  };
  return {
    ...(record.metadata.scope === undefined && { scope: "" }),
    // The secret expires with the registration. 0 means never, as in `client_secret_expires_at`.
    registration_expires_at: expiresAt === undefined ? 0 : Math.floor(expiresAt / 1000),
    identity_type: record.agent.identityType,
    scopes: scopesOf(record, anonymousScopes),
    ...(usesClientCredentials(record) && { claim: claimOf(record, links, start) }),
  };
}

/** Options of `addIdentitiesToRegistration`. */
interface RegistrationOptions extends IdentityVerificationOptions, ResponseOptions {
  readonly records: Records;
}

type Next = () => Promise<unknown>;

/** Length of the random part of a client id, in bytes. */
const ID_BYTES = 16;

/** Generates a client id. */
export function newClientId(): string {
  return `agt_${randomBytes(ID_BYTES).toString("base64url")}`;
}

/**
 * The maximum scopes that a client may register: those that its owner granted or, before a person
 * claims it, the anonymous scopes. An unclaimed `service_auth` agent may register all scopes: it
 * has no scopes before the claim, and afterwards only the scopes that the person grants.
 */
function ceilingOf(
  agent: Pick<Agent, "identityType" | "owner"> | undefined,
  anonymousScopes: readonly Scope[],
): readonly Scope[] {
  if (agent?.owner !== undefined) return agent.owner.scopes;
  return agent?.identityType === "service_auth" ? allScopes : anonymousScopes;
}

/**
 * Adds `grant_types` to a body that has none. A body with a `type`, or with neither a redirect URI
 * nor the response type `code`, registers an agent and gets `client_credentials`. Any other body is
 * unchanged and registers an authorization code client, the default of RFC 7591 section 2.
 */
function withDefaultGrantType(body: UnvalidatedClientMetadata): UnvalidatedClientMetadata {
  const { grant_types, type, redirect_uris, response_types } = body;
  if (grant_types !== undefined) return body;
  const sendsPeople =
    (Array.isArray(redirect_uris) && redirect_uris.length > 0) ||
    (Array.isArray(response_types) && response_types.includes("code"));
  if (type === undefined && sendsPeople) return body;
  return { ...body, grant_types: ["client_credentials"] };
}

/**
 * Parses the body, which the HTTP layer has read completely, adds the default grant types, and puts
 * the result back into the request. oidc-provider gets only JSON in UTF-8 (RFC 8259 section 8.1),
 * so that it cannot parse the body differently.
 *
 * @throws `invalid_request`, and the errors of `checkRegistrationBody`.
 */
function prepareBody({ req }: KoaContextWithOIDC): UnvalidatedClientMetadata {
  const json = parseJson(String(req.read() ?? ""));
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw new errors.InvalidRequest("the body must be a JSON object in UTF-8");
  }
  checkRegistrationBody({ ...json });
  const body = withDefaultGrantType({ ...json });
  const bytes = Buffer.from(JSON.stringify(body));
  req.headers["content-length"] = String(bytes.length);
  req.unshift(bytes);
  return body;
}

function respondError(ctx: KoaContextWithOIDC, cause: errors.OIDCProviderError): void {
  const { error, error_description, statusCode } = cause;
  ctx.status = statusCode;
  ctx.set("cache-control", "no-store");
  ctx.body = { error, error_description };
  if (error !== "login_required") return;
  ctx.set("www-authenticate", `AgentAuth error="${error}", max_age="${MAX_LOGIN_AGE_SECONDS}"`);
  ctx.body = { error, error_description, max_age: MAX_LOGIN_AGE_SECONDS };
}

/** Prepares the new client of a registration, and records the data that the response needs. */
function prepareNewClient(
  { agent, record: recordIdentity }: RequestedIdentity,
  { claims, now }: RegistrationOptions,
) {
  const seen: { client?: DescribedClient; start?: ClaimStart } = {};
  const newClient = (clientId: string, metadata: AdapterPayload): NewClient => {
    const registeredAt = now().getTime();
    const record = { metadata, agent: { ...agent, registeredAt } };
    const { ttlMs } = clientWriteOptions(record.agent);
    const expiresAt = ttlMs === undefined ? undefined : registeredAt + ttlMs;
    const waits = agent.owner === undefined && usesClientCredentials(record);
    seen.client = { clientId, record, expiresAt };
    return {
      agent: record.agent,
      async alsoWrite(tx) {
        if (waits) seen.start = claims.begin(tx, clientId);
        return recordIdentity(tx, clientId);
      },
    };
  };
  return { seen, newClient };
}

/** The response body about a client: the library's members, ours, and what was not registered. */
function describedClient(
  ctx: KoaContextWithOIDC,
  members: Readonly<Record<string, unknown>>,
  requested: UnvalidatedClientMetadata,
): UnvalidatedClientMetadata {
  const registered = { ...(ctx.body as object), ...members };
  const note = registrationNote(requested, registered);
  return { ...registered, ...(note !== undefined && { note }) };
}

async function register(ctx: KoaContextWithOIDC, next: Next, options: RegistrationOptions) {
  const body = prepareBody(ctx);
  const requested = await verifyRequestedIdentity(body, options);
  const { seen, newClient } = prepareNewClient(requested, options);
  const ceiling = ceilingOf(requested.agent, options.anonymousScopes);
  requestStateOf(ctx).registration = {
    ceiling,
    isOwned: requested.agent.owner !== undefined,
    newClient,
  };
  await next();

  if (ctx.status === 201 && seen.client !== undefined) {
    ctx.body = describedClient(ctx, identityMembers(seen.client, options, seen.start), body);
  } else if (seen.client !== undefined && requested.assertion !== undefined) {
    await rejectReplay(ctx, requested.assertion, options);
  }
}

/**
 * Answers a registration that failed when its client was about to be stored: the assertion was used
 * before, or a replay of the assertion deleted the client before its registration access token was
 * stored.
 */
async function rejectReplay(
  ctx: KoaContextWithOIDC,
  assertion: VerifiedAssertion,
  { verifier }: RegistrationOptions,
): Promise<void> {
  if (ctx.status === 400) await verifier.recordReplay(assertion, "anonymous");
  if (ctx.status !== 401) return;
  ctx.remove("www-authenticate");
  rejectAssertion("replay_detected");
}

/**
 * Handles a read or update (RFC 7592 section 2.2). An update replaces the metadata, which does not
 * include the identity and the owner of the agent.
 */
async function manage(ctx: KoaContextWithOIDC, next: Next, options: RegistrationOptions) {
  const { records, anonymousScopes } = options;
  const body = ctx.method === "PUT" ? prepareBody(ctx) : {};
  if (ctx.method === "PUT") {
    const id = ctx.path.replace(/\/$/, "").split("/").at(-1) ?? "";
    const agent = (await records.get(clients, id))?.value.agent;
    requestStateOf(ctx).registration = { ceiling: ceilingOf(agent, anonymousScopes) };
  }
  await next();

  const clientId = ctx.oidc?.client?.clientId;
  if (ctx.status !== 200 || clientId === undefined) return;
  const client = await records.get(clients, clientId);
  if (client === undefined) return;
  const { value: record, expiresAt } = client;
  ctx.body = describedClient(ctx, identityMembers({ clientId, record, expiresAt }, options), body);
}

/** Makes oidc-provider generate registration access tokens with `newRegistrationToken`. */
function formatRegistrationTokens({ RegistrationAccessToken }: Provider): void {
  const { prototype } = RegistrationAccessToken as unknown as { prototype: TokenPrototype };
  prototype.generateTokenId = newRegistrationToken;
}

/** A method that every oidc-provider model has, but the library's types omit. */
interface TokenPrototype {
  generateTokenId(): string;
}

/**
 * Adds identities (`type`) to client registration. The requested identity is verified before
 * oidc-provider handles the request. The response has the client's identity, its possible scopes
 * and how a person can claim it. Two equal registrations create two unrelated clients; an assertion
 * can create only one client.
 *
 * The members that request an identity are not client metadata and are not stored.
 */
export function addIdentitiesToRegistration(
  provider: Provider,
  options: RegistrationOptions,
): void {
  formatRegistrationTokens(provider);
  const path = provider.pathFor("registration");
  provider.use(async (context, next) => {
    const ctx = context as KoaContextWithOIDC;
    // oidc-provider's routes are case-insensitive and also match with a trailing slash.
    const requestPath = ctx.path.toLowerCase().replace(/\/$/, "");
    if (requestPath !== path && !requestPath.startsWith(`${path}/`)) return next();
    try {
      await (requestPath === path ? register : manage)(ctx, next, options);
    } catch (error) {
      if (!(error instanceof errors.OIDCProviderError)) throw error;
      respondError(ctx, error);
    }
  });
}
