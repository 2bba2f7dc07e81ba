import { isDeepStrictEqual } from "node:util";
import { errors, type Provider } from "oidc-provider";
import { type GrantRecord, grants } from "../../principals/accounts/grants.ts";
import { type ClientRecord, clients } from "../../principals/agents/agent.ts";
import type { RecordReader, Stored } from "../../store/port/records.ts";
import { storeUnavailableProblem } from "../../store/port/unavailable.ts";
import { type Change, type Transaction, transact } from "../../store/transact.ts";
import type { AdapterContext, ModelRecordRef, NewModelRecord } from "./adapter-context.ts";
import { extendClientLifetime, type TokenSubject } from "./client-lifetime.ts";
import { hasMetadataDocument } from "./metadata-documents.ts";
import { deleteReplacedTokens, evictTokenFamilies } from "./refresh-token-families.ts";
import { rejectReplayedTokens } from "./replayed-tokens.ts";
import {
  type AdmitToken,
  type RequestState,
  requestHooksOf,
  requestStateOf,
} from "./request-state.ts";

/** The records that one request consumes and issues. */
interface Issuance {
  /** Codes and refresh tokens of the request, which can be used only once. */
  readonly consumed: readonly ModelRecordRef[];
  /** Grants, codes and tokens to store. */
  readonly issued: readonly NewModelRecord[];
  /** Writes more in the same transaction. */
  readonly alsoWrite?: Change | undefined;
  /** Called before an access token is stored. */
  readonly admitToken?: AdmitToken | undefined;
}

/** The records that an issuance depends on. */
interface Dependencies {
  /**
   * The client's registration; `undefined` for clients with a metadata document, which are not
   * registered.
   */
  readonly client: Stored<ClientRecord> | undefined;
  readonly grants: readonly Stored<GrantRecord>[];
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
  const known = await readDependencies(issuance, records, state);
  checkClaimed(issuance, known);
  await admitToken(issuance, known);
  const at = now();
  let isFirst = true;
  const isIssued = await transact(records, async (tx) => {
    // What the request has read is checked, and only read again if it was changed.
    let present = known;
    if (!isFirst) {
      if (await isAnyUsed(tx, issuance.consumed)) return false;
      present = await readDependencies(issuance, tx);
      checkUnchanged(known, present);
      await checkNotIssued(tx, issuance, state);
    }
    isFirst = false;
    if (present.client !== undefined) tx.check(clients, present.client);
    for (const grant of present.grants) tx.check(grants, grant);
    await write(tx, issuance, present, { state, at });
    return true;
  });
  if (!isIssued) await rejectReplayedTokens(issuance.consumed, context);
}

/** Whether one of the codes and tokens was used or deleted meanwhile. */
async function isAnyUsed(tx: Transaction, consumed: readonly ModelRecordRef[]): Promise<boolean> {
  const found = await Promise.all(consumed.map(({ collection, key }) => tx.get(collection, key)));
  return found.some((stored) => stored === undefined || stored.consumedAt !== undefined);
}

/** @throws `invalid_grant` if a record was issued meanwhile, or its grant was changed. */
async function checkNotIssued(
  tx: Transaction,
  { issued }: Issuance,
  state: RequestState,
): Promise<void> {
  for (const record of issued) {
    const stored = await tx.get(record.collection, record.key);
    if (stored?.revision !== knownGrant(record, state)?.revision) {
      throw new errors.InvalidGrant("it was issued before");
    }
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

async function write(
  tx: Transaction,
  { consumed, issued, alsoWrite }: Issuance,
  { client }: Dependencies,
  { state, at }: { readonly state: RequestState; readonly at: Date },
): Promise<void> {
  if (client !== undefined) extendClientLifetime(tx, client, tokenSubjectOf(issued), at);
  await deleteReplacedTokens(tx, consumed);
  await makeRoomForFamily(tx, consumed, issued);
  for (const { collection, key } of consumed) tx.consume(collection, key);
  for (const record of issued) store(tx, record, state);
  await alsoWrite?.(tx);
}

/** Makes room for the family of refresh tokens that an issuance starts, if it starts one. */
async function makeRoomForFamily(
  tx: Transaction,
  consumed: readonly ModelRecordRef[],
  issued: readonly NewModelRecord[],
): Promise<void> {
  const isReplacing = consumed.some(({ family }) => family !== undefined);
  const begun = issued.find(({ model }) => model === "RefreshToken");
  const grantId = begun?.value.grantId;
  if (begun === undefined || grantId === undefined || isReplacing) return;
  await evictTokenFamilies(tx, { collection: begun.collection, grantId });
}

/**
 * The grant that a record overwrites, as the request has read it; `undefined` for other records.
 */
const knownGrant = ({ model, key }: NewModelRecord, state: RequestState) =>
  model === "Grant" ? state.grants.get(key) : undefined;

/**
 * Stores an issued record. Only a grant that the request has read may be overwritten; overwriting a
 * code or token would make it usable again.
 */
function store(tx: Transaction, issued: NewModelRecord, state: RequestState): void {
  const { model: _, collection, family, ...record } = issued;
  const known = knownGrant(issued, state);
  if (known === undefined) {
    tx.insert(collection, { ...record, ...(family !== undefined && { groups: [family] }) });
    return;
  }
  const { key: __, ...rest } = record;
  tx.update(collection, known, { ttlMs: null, ...rest });
}

function tokenSubjectOf(issued: readonly NewModelRecord[]): TokenSubject | undefined {
  const token = issued.find(({ model }) => model === "AccessToken");
  if (token?.value.accountId !== undefined) return "person";
  const own = token ?? issued.find(({ model }) => model === "ClientCredentials");
  return own === undefined ? undefined : "client";
}

/** @param state What the request has read already; absent to read everything from `records`. */
async function readDependencies(
  { issued }: Issuance,
  records: RecordReader,
  state?: RequestState,
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
  const [client, ...found] = await Promise.all([findClient(), ...grantsOf(issued).map(findGrant)]);
  return { client, grants: found };
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
 * access token of the client does not matter.
 */
function checkUnchanged(before: Dependencies, present: Dependencies): void {
  const facts = ({ client, grants: read }: Dependencies) =>
    [client, ...read].map((each) => each?.value);
  if (isDeepStrictEqual(facts(before), facts(present))) return;
  throw storeUnavailableProblem("The client or its grant was changed concurrently.");
}
