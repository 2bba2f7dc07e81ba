import { isDeepStrictEqual } from "node:util";
import { errors, type Provider } from "oidc-provider";
import { type GrantRecord, grantGroup, grants } from "../../principals/accounts/grants.ts";
import { type ClientRecord, clients } from "../../principals/agents/agent.ts";
import {
  incrementVersion,
  type LockVersion,
  type OptimisticLock,
  readVersion,
} from "../../store/optimistic-lock.ts";
import { consume, insert, replace, requireUnchanged } from "../../store/port/operations.ts";
import type { Operation, Stored } from "../../store/port/records.ts";
import { storeUnavailableProblem } from "../../store/port/unavailable.ts";
import type { AdapterContext, ModelRecordRef, NewModelRecord } from "./adapter-context.ts";
import { requireUnchangedClient, type TokenSubject } from "./client-lifetime.ts";
import { hasMetadataDocument } from "./metadata-documents.ts";
import {
  replacedTokensRemovalOperations,
  tokenFamilyEvictionOperations,
} from "./refresh-token-families.ts";
import { rejectReplayedTokens } from "./replayed-tokens.ts";
import {
  type AdmitToken,
  type RequestState,
  requestHooksOf,
  requestStateOf,
} from "./request-state.ts";

/** The records that one request consumes and issues. */
export interface Issuance {
  /** Codes and refresh tokens of the request, which can be used only once. */
  readonly consumed: readonly ModelRecordRef[];
  /** Grants, codes and tokens to store. */
  readonly issued: readonly NewModelRecord[];
  /** Additional operations of the same commit. */
  readonly steps?: readonly Operation[];
  /** The limit on the issued records; absent if their number is not limited. */
  readonly limit?: IssuanceLimit | undefined;
  /** Called before an access token is stored. */
  readonly admitToken?: AdmitToken | undefined;
}

/** A limit on the number of records of a kind. */
interface IssuanceLimit {
  readonly lock: OptimisticLock;
  /** Counts the records again, and returns the operations that make room for the issued records. */
  readonly makeRoom: () => Promise<readonly Operation[]>;
}

/** The records that an issuance depends on. */
interface Dependencies {
  /**
   * The client's registration; `undefined` for clients with a metadata document, which are not
   * registered.
   */
  readonly client: Stored<ClientRecord> | undefined;
  readonly grants: readonly Stored<GrantRecord>[];
  /** Version of the limit's lock, read before anything is counted. */
  readonly version: LockVersion;
}

/**
 * Commits an issuance atomically, provided that its client and grants are unchanged since the
 * request read them. So nothing is issued to a client that was deleted, claimed or changed
 * concurrently, or under a grant that was revoked or changed; a revoked grant is not restored, and
 * no change of a grant is lost; and a code or refresh token is consumed if and only if its tokens
 * were issued.
 *
 * @param state The records that the request has read.
 * @throws `unauthorized_client` for an agent that must be claimed first; `invalid_client` when the
 * client was deleted; `invalid_grant` when the grant was deleted, the grant to be written was
 * changed or revoked, or a code or refresh token was used before, which also revokes everything
 * issued from it.
 * @throws {Problem} `store_unavailable` when the client or grant was changed, so that a retry can
 * succeed; the problems of `admitToken`, in which case nothing was consumed.
 */
export async function commitIssuance(
  issuance: Issuance,
  state: RequestState,
  context: AdapterContext,
): Promise<void> {
  const { records, now } = context;
  const limit = issuance.limit ?? familyLimit(issuance, context);
  let basis = await readDependencies({ ...issuance, limit }, state, context);
  checkClaimed(issuance, basis);
  await admitToken(issuance, basis);
  const replaced = await replacedTokensRemovalOperations(records, issuance.consumed);
  const steps = async () => [
    ...issuanceSteps(issuance, basis, { state, now: now() }),
    ...replaced,
    ...(limit === undefined
      ? []
      : [incrementVersion(limit.lock, basis.version), ...(await limit.makeRoom())]),
  ];
  while (!(await records.commit(await steps()))) {
    await rejectReplayedTokens(issuance.consumed, context);
    const present = await readDependencies({ ...issuance, limit }, undefined, context);
    checkUnchanged(basis, present);
    basis = present;
  }
}

/**
 * Commits the consumed and issued records of each token request when its response is ready, and
 * only then sends the response. On its own, oidc-provider would consume a code and store each token
 * in separate steps. Between these steps, a second request with the same code could revoke the
 * first request's tokens too early or too late.
 */
export function commitIssuancesOnResponse(provider: Provider, context: AdapterContext): void {
  provider.use(async (ctx, next) => {
    await next();
    const state = requestStateOf(ctx);
    if (state.issuance === undefined || ctx.status !== 200) return;
    const { consumed, issued } = state.issuance;
    try {
      await commitIssuance(
        { consumed, issued, admitToken: requestHooksOf(ctx.res).admitToken },
        state,
        context,
      );
    } catch (error) {
      if (!(error instanceof errors.OIDCProviderError)) throw error;
      const { status, error: code, error_description } = error;
      ctx.status = status;
      ctx.body = { error: code, error_description };
    }
  });
}

/**
 * Rejects an agent that was registered for one person who has not yet claimed it. The agent is
 * authenticated, but not authorized (RFC 6749 section 5.2).
 */
function checkClaimed({ issued }: Issuance, { client }: Dependencies): void {
  const { identityType, owner } = client?.value.agent ?? {};
  if (identityType !== "service_auth" || owner !== undefined) return;
  if (issued.every(({ model }) => model === "Grant")) return;
  const advice = "a person must claim this agent first: it starts the claim at /oauth/claim/start";
  throw new errors.UnauthorizedClient(advice);
}

/** Names of the access token models. */
const accessTokens: readonly string[] = ["AccessToken", "ClientCredentials"];

async function admitToken(
  { issued, admitToken }: Issuance,
  { client }: Dependencies,
): Promise<void> {
  const token = issued.find(({ model }) => accessTokens.includes(model));
  if (token === undefined) return;
  const { clientId = "", accountId } = token.value;
  const owner = client?.value.agent.owner;
  await admitToken?.({ clientId, accountId: accountId ?? owner?.accountId });
}

function issuanceSteps(
  { consumed, issued, steps = [] }: Issuance,
  { client, grants: read }: Dependencies,
  { state, now }: { readonly state: RequestState; readonly now: Date },
): readonly Operation[] {
  return [
    ...(client === undefined ? [] : [requireUnchangedClient(client, tokenSubjectOf(issued), now)]),
    ...read.map((grant) => requireUnchanged(grants, grant)),
    ...consumed.map(({ collection, key }) => consume(collection, key)),
    ...issued.map((record) => storeStep(record, state)),
    ...steps,
  ];
}

/** The limit on refresh token families; `undefined` if the issuance starts no family. */
function familyLimit(
  { consumed, issued }: Issuance,
  { records }: AdapterContext,
): IssuanceLimit | undefined {
  const isReplacing = consumed.some(({ family }) => family !== undefined);
  const begun = issued.find(({ model }) => model === "RefreshToken");
  const grantId = begun?.value.grantId;
  if (begun === undefined || grantId === undefined || isReplacing) return undefined;
  const { collection } = begun;
  return {
    lock: { key: `refresh-tokens ${grantId}`, groups: [grantGroup(grantId)] },
    makeRoom: () => tokenFamilyEvictionOperations(records, { collection, grantId }),
  };
}

/**
 * The operation that stores an issued record. Only a grant that the request has read may be
 * overwritten; overwriting a code or token would make it usable again.
 */
function storeStep(
  { model, collection, ...record }: NewModelRecord,
  state: RequestState,
): Operation {
  const known = model === "Grant" ? state.grants.get(record.key) : undefined;
  if (known === undefined) return insert(collection, record);
  const { key: _, ...rest } = record;
  return replace(collection, known, { ttlMs: null, ...rest });
}

function tokenSubjectOf(issued: readonly NewModelRecord[]): TokenSubject | undefined {
  const token = issued.find(({ model }) => model === "AccessToken");
  if (token?.value.accountId !== undefined) return "person";
  const own = token ?? issued.find(({ model }) => model === "ClientCredentials");
  return own === undefined ? undefined : "client";
}

async function readDependencies(
  { issued, limit }: Issuance,
  state: RequestState | undefined,
  { records }: AdapterContext,
): Promise<Dependencies> {
  const clientId = issued[0]?.value.clientId ?? "";
  const findClient = async () => {
    if (hasMetadataDocument(clientId)) return undefined;
    const client = state?.clients.get(clientId) ?? (await records.get(clients, clientId));
    if (client === undefined) throw new errors.InvalidClientAuth("the client no longer exists");
    return client;
  };
  const findGrant = async (grantId: string) => {
    const grant = state?.grants.get(grantId) ?? (await records.get(grants, grantId));
    if (grant === undefined) throw new errors.InvalidGrant("the grant no longer exists");
    return grant;
  };
  const [version, client, ...found] = await Promise.all([
    limit && readVersion(records, limit.lock),
    findClient(),
    ...grantsOf(issued).map(findGrant),
  ]);
  return { client, grants: found, version };
}

/**
 * Ids of the grants that the issued records depend on, except grants written in the same issuance.
 */
function grantsOf(issued: readonly NewModelRecord[]): readonly string[] {
  const written = issued.filter(({ model }) => model === "Grant").map(({ key }) => key);
  const needed = issued.flatMap(({ value }) => value.grantId ?? []);
  return [...new Set(needed)].filter((grantId) => !written.includes(grantId));
}

/**
 * Rejects an issuance that was decided on outdated records. A longer lifetime or a new registration
 * access token of the client does not matter. If only the version of the limit's lock differs, the
 * next attempt counts the records again.
 */
function checkUnchanged(before: Dependencies, present: Dependencies): void {
  const facts = (basis: Dependencies) => [basis.client, ...basis.grants].map((each) => each?.value);
  if (!isDeepStrictEqual(facts(before), facts(present))) {
    throw storeUnavailableProblem("The client or its grant was changed concurrently.");
  }
  const revisions = ({ client, grants: read, version }: Dependencies) =>
    [client, ...read, version].map((each) => each?.revision);
  if (isDeepStrictEqual(revisions(before), revisions(present))) {
    throw new errors.InvalidGrant("it was issued before");
  }
}
