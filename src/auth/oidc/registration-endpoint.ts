import { randomBytes } from "node:crypto";
import { type AdapterPayload, errors, type KoaContextWithOIDC, type Provider } from "oidc-provider";
import type { Records } from "../../store/port/records.ts";
import {
  type Agent,
  type ClientRecord,
  clients,
  isClaimable,
  unclaimedScopes,
} from "../agents/agent.ts";
import type { ClaimStart } from "../agents/claim-records.ts";
import { type Claims, claimLinks } from "../agents/claims.ts";
import { newRegistrationToken } from "../agents/registration-access-token.ts";
import { type Assertion, MAX_LOGIN_AGE_SECONDS } from "../assertions/id-jag.ts";
import { allScopes, isScope, type Scope, scopeNames } from "../scopes.ts";
import {
  type IdentityOptions,
  type RequestedIdentity,
  refuseAssertion,
  requestedIdentity,
} from "./agent-identity.ts";
import { clientWriteOptions } from "./client-lifetime.ts";
import { checkBody, type Metadata } from "./metadata-members.ts";
import { type NewClient, stateOf } from "./request-state.ts";

/** What responses about a client are made from. */
interface ResponseOptions {
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  readonly anonymousScopes: readonly Scope[];
}

const instant = (at: number): string => new Date(at).toISOString();

/** Scopes of a client's own tokens before and after a claim. A client without tokens of its own
 *  cannot be claimed: it may ask people for what it registered. */
function scopesOf(record: ClientRecord, anonymousScopes: readonly Scope[]) {
  const { metadata, agent } = record;
  const registered = scopeNames(metadata.scope ?? "").filter(isScope);
  if (!isClaimable(record)) return { pre_claim: registered, post_claim: registered };

  const pre_claim = unclaimedScopes(record, anonymousScopes);
  return { pre_claim, post_claim: agent.owner?.scopes ?? allScopes };
}

function claimOf({ agent }: ClientRecord, links: object, start: ClaimStart | undefined) {
  const { owner } = agent;
  if (owner !== undefined) return { status: "claimed", claimed_at: instant(owner.claimedAt) };
  const code = start && { code: start.code, expires_at: instant(start.expiresAt) };
  return { status: "unclaimed", ...code, ...links };
}

/** A client that a response describes. */
interface DescribedClient {
  readonly clientId: string;
  readonly record: ClientRecord;
  /** When its registration ends, in milliseconds since the epoch; `undefined`: never. */
  readonly endsAt: number | undefined;
}

/**
 * The members of a response about a client beyond those of RFC 7591 section 3.2.1: who it is, and
 * how a person can claim it.
 *
 * @param start Returned once, in the response to the registration.
 */
function identityMembers(
  { clientId, record, endsAt }: DescribedClient,
  { baseUrl, anonymousScopes }: ResponseOptions,
  start?: ClaimStart,
): Readonly<Record<string, unknown>> {
  const links = claimLinks(baseUrl, clientId);
  return {
    ...(record.metadata.scope === undefined && { scope: "" }),
    // The secret expires with the registration. 0 means never, as for `client_secret_expires_at`.
    registration_expires_at: endsAt === undefined ? 0 : Math.floor(endsAt / 1000),
    identity_type: record.agent.identityType,
    scopes: scopesOf(record, anonymousScopes),
    ...(isClaimable(record) && { claim: claimOf(record, links, start) }),
  };
}

/** What the registration endpoint works with. */
export interface RegistrationOptions extends IdentityOptions, ResponseOptions {
  readonly records: Records;
  readonly claims: Claims;
}

type Next = () => Promise<unknown>;

/** Random bytes of a client id. */
const ID_BYTES = 16;

/** The id of a new client. */
export function newClientId(): string {
  return `agt_${randomBytes(ID_BYTES).toString("base64url")}`;
}

/** The scopes that an agent may register by itself. One that waits for its person holds nothing
 *  before the claim, and then what they give it, so none of its scopes is open to strangers. */
function ceilingOf(
  agent: Pick<Agent, "identityType" | "owner"> | undefined,
  anonymousScopes: readonly Scope[],
): readonly Scope[] {
  if (agent?.owner !== undefined) return agent.owner.scopes;
  return agent?.identityType === "service_auth" ? allScopes : anonymousScopes;
}

/** A body without `grant_types` is an agent's when it has a `type` or no redirect URI; otherwise
 *  it is an authorization code client's, as in RFC 7591 section 2. */
function withGrant(body: Metadata): Metadata {
  const { grant_types, type, redirect_uris, response_types } = body;
  if (grant_types !== undefined) return body;
  const sendsPeople =
    (Array.isArray(redirect_uris) && redirect_uris.length > 0) ||
    (Array.isArray(response_types) && response_types.includes("code"));
  if (type === undefined && sendsPeople) return body;
  return { ...body, grant_types: ["client_credentials"] };
}

/**
 * The body, which was read whole before it came here, put back with the grant that it means. The library
 * gets nothing that is not JSON in UTF-8 (RFC 8259 section 8.1), lest it read it in another way.
 *
 * @throws `invalid_request`, or as `checkBody`.
 */
function bodyOf({ req }: KoaContextWithOIDC): Metadata {
  const asked = parsed(req.read() ?? Buffer.alloc(0));
  if (typeof asked !== "object" || asked === null || Array.isArray(asked)) {
    throw new errors.InvalidRequest("the body must be a JSON object in UTF-8");
  }
  checkBody({ ...asked });
  const body = withGrant({ ...asked });
  const bytes = Buffer.from(JSON.stringify(body));
  req.headers["content-length"] = String(bytes.length);
  req.unshift(bytes);
  return body;
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

function refused(ctx: KoaContextWithOIDC, cause: errors.OIDCProviderError): void {
  const { error, error_description, statusCode } = cause;
  ctx.status = statusCode;
  ctx.set("cache-control", "no-store");
  ctx.body = { error, error_description };
  if (error !== "login_required") return;
  ctx.set("www-authenticate", `AgentAuth error="${error}", max_age="${MAX_LOGIN_AGE_SECONDS}"`);
  ctx.body = { error, error_description, max_age: MAX_LOGIN_AGE_SECONDS };
}

/** The new client of a registration, and what its response needs of it. */
function arrival({ agent, steps }: RequestedIdentity, { claims, now }: RegistrationOptions) {
  const seen: { client?: DescribedClient; start?: ClaimStart } = {};
  const newClient = (clientId: string, metadata: AdapterPayload): NewClient => {
    const registeredAt = now().getTime();
    const record = { metadata, agent: { ...agent, registeredAt } };
    const { ttlMs } = clientWriteOptions(record.agent);
    const endsAt = ttlMs === undefined ? undefined : registeredAt + ttlMs;
    const waits = agent.owner === undefined && isClaimable(record);
    const begun = waits ? claims.initialClaim(clientId) : undefined;
    Object.assign(seen, { client: { clientId, record, endsAt }, start: begun?.start });
    return { agent: record.agent, steps: [...steps(clientId), ...(begun?.steps ?? [])] };
  };
  return { seen, newClient };
}

async function register(ctx: KoaContextWithOIDC, next: Next, options: RegistrationOptions) {
  const asked = await requestedIdentity(bodyOf(ctx), options);
  const { seen, newClient } = arrival(asked, options);
  const ceiling = ceilingOf(asked.agent, options.anonymousScopes);
  stateOf(ctx).registration = {
    ceiling,
    isOwned: asked.agent.owner !== undefined,
    newClient,
  };
  await next();

  if (ctx.status === 201 && seen.client !== undefined) {
    ctx.body = { ...(ctx.body as object), ...identityMembers(seen.client, options, seen.start) };
  } else if (seen.client !== undefined && asked.assertion !== undefined) {
    await replayed(ctx, asked.assertion, options);
  }
}

/** Answers a registration that failed when its client was to be stored: the assertion was used
 *  before, or another use of it removed the client before its registration access token was
 *  stored. */
async function replayed(
  ctx: KoaContextWithOIDC,
  assertion: Assertion,
  { verifier }: RegistrationOptions,
): Promise<void> {
  if (ctx.status === 400) await verifier.recordReplay(assertion, "anonymous");
  if (ctx.status !== 401) return;
  ctx.remove("www-authenticate");
  refuseAssertion("replay_detected");
}

/** RFC 7592 section 2.2: an update replaces the metadata. The identity and the owner of the
 *  agent are not part of them. */
async function manage(ctx: KoaContextWithOIDC, next: Next, options: RegistrationOptions) {
  const { records, anonymousScopes } = options;
  if (ctx.method === "PUT") {
    bodyOf(ctx);
    const id = ctx.path.replace(/\/$/, "").split("/").at(-1) ?? "";
    const agent = (await records.get(clients, id))?.value.agent;
    stateOf(ctx).registration = { ceiling: ceilingOf(agent, anonymousScopes) };
  }
  await next();

  const clientId = ctx.oidc?.client?.clientId;
  if (ctx.status !== 200 || clientId === undefined) return;
  const client = await records.get(clients, clientId);
  if (client === undefined) return;
  const { value: record, expiresAt: endsAt } = client;
  ctx.body = { ...(ctx.body as object), ...identityMembers({ clientId, record, endsAt }, options) };
}

/** Registration access tokens have one format, wherever they are made. */
function nameRegistrationTokens({ RegistrationAccessToken }: Provider): void {
  const { prototype } = RegistrationAccessToken as unknown as { prototype: TokenPrototype };
  prototype.generateTokenId = newRegistrationToken;
}

/** A member of every model that the types of the library leave out. */
interface TokenPrototype {
  generateTokenId(): string;
}

/**
 * Adds identities to client registration (`type`). What a registration claims is verified before
 * oidc-provider sees the request, and the response says who the client is, what it may have and how
 * a person can claim it. Registering twice makes two unrelated clients; an assertion makes one.
 *
 * The members that ask for an identity are not client metadata, so they are not stored.
 */
export function adaptRegistration(provider: Provider, options: RegistrationOptions): void {
  nameRegistrationTokens(provider);
  const path = provider.pathFor("registration");
  provider.use(async (context, next) => {
    const ctx = context as KoaContextWithOIDC;
    // The library finds its routes in either case and with a slash at the end.
    const asked = ctx.path.toLowerCase().replace(/\/$/, "");
    if (asked !== path && !asked.startsWith(`${path}/`)) return next();
    try {
      await (asked === path ? register : manage)(ctx, next, options);
    } catch (error) {
      if (!(error instanceof errors.OIDCProviderError)) throw error;
      refused(ctx, error);
    }
  });
}
