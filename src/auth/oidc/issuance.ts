import { isDeepStrictEqual } from "node:util";
import { errors, type Provider } from "oidc-provider";
import {
  incrementVersion,
  type LockVersion,
  type OptimisticLock,
  readVersion,
} from "../../store/optimistic-lock.ts";
import { consume, insert, replace, unchanged } from "../../store/port/operations.ts";
import type { Operation, Stored } from "../../store/port/records.ts";
import { storeUnavailable } from "../../store/port/unavailable.ts";
import { type GrantRecord, grantGroup, grants } from "../accounts/grants.ts";
import { type ClientRecord, clients } from "../agents/agent.ts";
import type { AdapterContext, NewRecord, RecordRef } from "./adapter-context.ts";
import { ifClientUnchanged, type TokenSubject } from "./client-lifetime.ts";
import { hasMetadataDocument } from "./metadata-documents.ts";
import { familyEviction, replacedTokensRemoval } from "./refresh-token-families.ts";
import { checkReplays } from "./replayed-tokens.ts";
import { type AdmitToken, hooksOf, type RequestState, stateOf } from "./request-state.ts";

/** What one request uses up and issues. */
export interface Issuance {
  /** Codes and refresh tokens, each good for one use. */
  readonly consumed: readonly RecordRef[];
  /** Grants, codes and tokens. */
  readonly issued: readonly NewRecord[];
  /** Committed together with them. */
  readonly steps?: readonly Operation[];
  /** The cap on the grants that it adds to; absent: it adds to none. */
  readonly cap?: Cap | undefined;
  /** Asked before an access token is written. */
  readonly admitToken?: AdmitToken | undefined;
}

/** A cap on what an issuance adds to. */
interface Cap {
  readonly lock: OptimisticLock;
  /** The steps that make room for what is issued, from a new count. */
  readonly makeRoom: () => Promise<readonly Operation[]>;
}

/** What an issuance depends on. */
interface Basis {
  /** `undefined` for clients with a metadata document, which are not registered. */
  readonly client: Stored<ClientRecord> | undefined;
  readonly grants: readonly Stored<GrantRecord>[];
  /** Version of the cap's lock, read before anything is counted. */
  readonly version: LockVersion;
}

/**
 * Commits an issuance in one step, which holds only while its client and its grants are as they were
 * when the request read them. So nothing is issued to a client that was deleted, claimed or changed
 * meanwhile, nor under a grant that was revoked or changed; a revoked grant does not come back, nor is
 * a change of it lost; and a code or refresh token is used up if and only if what it was exchanged for
 * was issued.
 *
 * @param state What the request has read.
 * @throws `unauthorized_client` before the claim of an agent that needs one; `invalid_client` when the
 *   client is gone; `invalid_grant` when the grant is gone, or the one to be written was changed or
 *   revoked meanwhile, or a code or refresh token was used before, which revokes everything that came
 *   of it.
 * @throws {Problem} `store_unavailable` when the client or grant was changed, so that another try will
 *   do; what `admitToken` throws, and then nothing was used up.
 */
export async function issue(
  issuance: Issuance,
  state: RequestState,
  context: AdapterContext,
): Promise<void> {
  const { records, now } = context;
  const cap = issuance.cap ?? capOnFamilies(issuance, context);
  let basis = await basisOf({ ...issuance, cap }, state, context);
  checkMayAct(issuance, basis);
  await admitToken(issuance, basis);
  const replaced = await replacedTokensRemoval(records, issuance.consumed);
  const steps = async () => [
    ...stepsOf(issuance, basis, { state, now: now() }),
    ...replaced,
    ...(cap === undefined
      ? []
      : [incrementVersion(cap.lock, basis.version), ...(await cap.makeRoom())]),
  ];
  while (!(await records.commit(await steps()))) {
    await checkReplays(issuance.consumed, context);
    const present = await basisOf({ ...issuance, cap }, undefined, context);
    checkChange(basis, present);
    basis = present;
  }
}

/**
 * Commits what each token request uses up and issues when its response is ready, and only then sends
 * the response. oidc-provider uses up a code, then stores one token and then another; between two of
 * these steps, a second request with the same code would revoke the first one's tokens or come too late
 * to do so.
 */
export function commitIssuances(provider: Provider, context: AdapterContext): void {
  provider.use(async (ctx, next) => {
    await next();
    const state = stateOf(ctx);
    if (state.issuance === undefined || ctx.status !== 200) return;
    const { consumed, issued } = state.issuance;
    try {
      await issue({ consumed, issued, admitToken: hooksOf(ctx.res).admitToken }, state, context);
    } catch (error) {
      if (!(error instanceof errors.OIDCProviderError)) throw error;
      const { status, error: code, error_description } = error;
      ctx.status = status;
      ctx.body = { error: code, error_description };
    }
  });
}

/** An agent that was registered for one person can do nothing before that person has claimed it. It is
 *  authenticated, but not authorized (RFC 6749 section 5.2). */
function checkMayAct({ issued }: Issuance, { client }: Basis): void {
  const { identityType, owner } = client?.value.agent ?? {};
  if (identityType !== "service_auth" || owner !== undefined) return;
  if (issued.every(({ model }) => model === "Grant")) return;
  const advice = "a person must claim this agent first; it begins that at /oauth/claim/start";
  throw new errors.UnauthorizedClient(advice);
}

/** Models of the tokens that give access. */
const accessTokens: readonly string[] = ["AccessToken", "ClientCredentials"];

async function admitToken({ issued, admitToken }: Issuance, { client }: Basis): Promise<void> {
  const token = issued.find(({ model }) => accessTokens.includes(model));
  if (token === undefined) return;
  const { clientId = "", accountId } = token.value;
  const owner = client?.value.agent.owner;
  await admitToken?.({ clientId, accountId: accountId ?? owner?.accountId });
}

function stepsOf(
  { consumed, issued, steps = [] }: Issuance,
  { client, grants: read }: Basis,
  { state, now }: { readonly state: RequestState; readonly now: Date },
): readonly Operation[] {
  return [
    ...(client === undefined ? [] : [ifClientUnchanged(client, beneficiaryOf(issued), now)]),
    ...read.map((grant) => unchanged(grants, grant)),
    ...consumed.map(({ collection, key }) => consume(collection, key)),
    ...issued.map((record) => written(record, state)),
    ...steps,
  ];
}

/** The cap on refresh token families; `undefined` where none begins. */
function capOnFamilies(
  { consumed, issued }: Issuance,
  { records }: AdapterContext,
): Cap | undefined {
  const isReplacing = consumed.some(({ family }) => family !== undefined);
  const begun = issued.find(({ model }) => model === "RefreshToken");
  const grantId = begun?.value.grantId;
  if (begun === undefined || grantId === undefined || isReplacing) return undefined;
  const { collection } = begun;
  return {
    lock: { key: `refresh-tokens ${grantId}`, groups: [grantGroup(grantId)] },
    makeRoom: () => familyEviction(records, { collection, grantId }),
  };
}

/** Only a grant that the request has read is written again, to be extended; to write anything else
 *  again would make it good for another use. */
function written({ model, collection, ...record }: NewRecord, state: RequestState): Operation {
  const known = model === "Grant" ? state.grants.get(record.key) : undefined;
  if (known === undefined) return insert(collection, record);
  const { key: _, ...rest } = record;
  return replace(collection, known, { ttlMs: null, ...rest });
}

function beneficiaryOf(issued: readonly NewRecord[]): TokenSubject | undefined {
  const token = issued.find(({ model }) => model === "AccessToken");
  if (token?.value.accountId !== undefined) return "person";
  const own = token ?? issued.find(({ model }) => model === "ClientCredentials");
  return own === undefined ? undefined : "client";
}

async function basisOf(
  { issued, cap }: Issuance,
  state: RequestState | undefined,
  { records }: AdapterContext,
): Promise<Basis> {
  const clientId = issued[0]?.value.clientId ?? "";
  const findClient = async () => {
    if (hasMetadataDocument(clientId)) return undefined;
    const client = state?.clients.get(clientId) ?? (await records.get(clients, clientId));
    if (client === undefined) throw new errors.InvalidClientAuth("client gone");
    return client;
  };
  const findGrant = async (grantId: string) => {
    const grant = state?.grants.get(grantId) ?? (await records.get(grants, grantId));
    if (grant === undefined) throw new errors.InvalidGrant("grant gone");
    return grant;
  };
  const [version, client, ...found] = await Promise.all([
    cap && readVersion(records, cap.lock),
    findClient(),
    ...grantsOf(issued).map(findGrant),
  ]);
  return { client, grants: found, version };
}

/** The grants that records depend on and that are not written together with them. */
function grantsOf(issued: readonly NewRecord[]): readonly string[] {
  const written = issued.filter(({ model }) => model === "Grant").map(({ key }) => key);
  const needed = issued.flatMap(({ value }) => value.grantId ?? []);
  return [...new Set(needed)].filter((grantId) => !written.includes(grantId));
}

/** What was decided on other facts must not be stored; a longer life or another registration access
 *  token of the client changes nothing that was decided. Where only the lock of a cap has another
 *  version, the next attempt counts again. */
function checkChange(before: Basis, present: Basis): void {
  const facts = (basis: Basis) => [basis.client, ...basis.grants].map((each) => each?.value);
  if (!isDeepStrictEqual(facts(before), facts(present))) {
    throw storeUnavailable("The client, or what a person allowed it, changed at this moment.");
  }
  const revisions = ({ client, grants: read, version }: Basis) =>
    [client, ...read, version].map((each) => each?.revision);
  if (isDeepStrictEqual(revisions(before), revisions(present))) {
    throw new errors.InvalidGrant("issued before");
  }
}
