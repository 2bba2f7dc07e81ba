import {
  type Adapter,
  type AdapterFactory,
  type AdapterPayload,
  errors,
  Provider,
} from "oidc-provider";
import { fingerprint } from "../../lib/fingerprint.ts";
import { consume, insert, removeAt, replace, update } from "../../store/port/operations.ts";
import {
  type Collection,
  collection,
  type Operation,
  type Stored,
} from "../../store/port/records.ts";
import { roomForGrant, underGrant, withoutFamily } from "../accounts/grants.ts";
import { askedBy, belongingTo, clients, isAudited, issuedTo } from "../agents/agent.ts";
import {
  type AdapterContext,
  copied,
  type ModelAdapter,
  type RegistrationContext,
} from "./adapter-context.ts";
import { clientAdapter, registrationTokenAdapter } from "./client-adapter.ts";
import { endFamily } from "./families.ts";
import { type Document, endReplayed, issue, type Place } from "./issuance.ts";
import { tellBeforeKept } from "./open-requests.ts";
import { chainOf, survivorOf } from "./refresh-token-families.ts";
import { type Reads, readsOf } from "./request-state.ts";
import { exchangeUnderWay } from "./settlement.ts";

/** Models whose ids are secrets: whoever has one may use it. A device code would be one too, but
 *  must be found by its user code and then say its id; this server offers no device flow. */
const bearers: ReadonlySet<string> = new Set([
  "AccessToken",
  "AuthorizationCode",
  "ClientCredentials",
  "InitialAccessToken",
  "PushedAuthorizationRequest",
  "RefreshToken",
]);

/** Models that rest on a client, and most of them on a grant. */
const issued: ReadonlySet<string> = new Set([
  "AccessToken",
  "AuthorizationCode",
  "ClientCredentials",
  "Grant",
  "RefreshToken",
]);

/** Models whose removal is a revocation. */
const revocable: ReadonlySet<string> = new Set([
  "AccessToken",
  "ClientCredentials",
  "RefreshToken",
]);

/** One model, and where it is kept. */
interface Shelf extends AdapterContext {
  readonly model: string;
  readonly documents: Collection<AdapterPayload>;
}

/** What is looked for: the record, and what stands for it when it is gone. */
type Sought = Omit<Place, "model" | "documents">;

const underUid = (uid: string): string => `uid:${uid}`;
const underUserCode = (userCode: string): string => `userCode:${userCode}`;

/** What oidc-provider keeps of an authorization request, as far as it is used here. */
interface AuthorizationParameters {
  readonly client_id?: unknown;
}

function groupsOf(payload: AdapterPayload): readonly string[] {
  const { clientId, grantId, uid, userCode, accountId, params } = payload;
  return [
    params === undefined ? [] : askedBy(String((params as AuthorizationParameters).client_id)),
    clientId === undefined ? [] : issuedTo(clientId),
    grantId === undefined ? [] : underGrant(grantId),
    uid === undefined ? [] : underUid(uid),
    userCode === undefined ? [] : underUserCode(userCode),
    accountId === undefined ? [] : belongingTo(accountId),
  ].flat();
}

/** A copy of what is kept, which the library may change; `consumed` is in seconds. */
function payloadOf(stored: Stored<AdapterPayload> | undefined): AdapterPayload | undefined {
  if (stored === undefined) return undefined;
  const { value, consumedAt } = stored;
  const use = consumedAt === undefined ? {} : { consumed: Math.floor(consumedAt / 1000) };
  return { ...copied(value), ...use };
}

/** Keeps that something was seen; only the first of several at once does. */
async function record(
  { records }: Shelf,
  { documents, model: _, ...seen }: Document,
): Promise<void> {
  if (await records.commit([insert(documents, seen)])) return;
  const isOfClient = Provider.ctx?.oidc.client?.clientId === seen.value.iss;
  throw isOfClient
    ? new errors.InvalidClientAuth("assertion seen before")
    : new errors.InvalidGrant("seen before");
}

async function give(shelf: Shelf, document: Document): Promise<void> {
  const exchange = exchangeUnderWay();
  if (exchange !== undefined) return void exchange.documents.push(document);
  const reads = readsOf(Provider.ctx);
  const steps = document.model === "Grant" ? await grantSteps(shelf, document, reads) : [];
  await issue({ uses: [], documents: [document], steps }, reads, shelf);
}

/** What goes with a grant that a person gives, or changes.
 *  @throws `access_denied` when they have as many as there may be. */
async function grantSteps(
  { records, audit }: Shelf,
  { key, value }: Document,
  reads: Reads,
): Promise<readonly Operation[]> {
  const room = reads.grants.has(key) ? [] : await roomForGrant(records, value);
  if (room === undefined) throw new errors.AccessDenied("too many applications act for the person");
  return [
    ...room,
    ...audit({ action: "grant.given", actor: String(value.accountId), target: key }),
  ];
}

/** What is written again keeps that its one use was made. */
async function save({ records }: Shelf, { documents, model: _, ...record }: Document) {
  const { key, ...rest } = record;
  await update(records, { collection: documents, key }, (stored) => [
    stored === undefined
      ? insert(documents, record)
      : replace(documents, stored, { ttlMs: null, ...rest }),
  ]);
}

/** Keeps an authorization request while a person is asked. */
async function hold(shelf: Shelf, document: Document): Promise<void> {
  await tellBeforeKept();
  await save(shelf, document);
}

function writeOf(model: string): (shelf: Shelf, document: Document) => Promise<void> {
  if (model === "ReplayDetection") return record;
  if (model === "Interaction") return hold;
  return issued.has(model) ? give : save;
}

/** Whatever has been used and comes to the token endpoint is a replay. */
async function recordReplay(
  { model, records, audit }: Shelf,
  { key, value }: Stored<AdapterPayload>,
) {
  const actor = Provider.ctx?.oidc.client?.clientId ?? String(value.clientId);
  await records.commit(audit({ action: "grant.replayed", actor, target: `${model}:${key}` }));
}

/** What is kept of a record; of a refresh token that was replaced long ago, that it was used. */
async function lookUp(
  { records, documents, now }: Shelf,
  { key, chain }: Sought,
): Promise<Stored<AdapterPayload> | undefined> {
  const stored = await records.get(documents, key);
  if (stored !== undefined) return stored;
  const survivor = await survivorOf(records, { documents, chain });
  return survivor && { ...survivor, key, consumedAt: survivor.consumedAt ?? now().getTime() };
}

async function load(shelf: Shelf, sought: Sought): Promise<AdapterPayload | undefined> {
  const { key } = sought;
  const stored = await lookUp(shelf, sought);
  if (stored?.consumedAt !== undefined && Provider.ctx?.oidc.route === "token") {
    await recordReplay(shelf, stored);
  }
  if (stored !== undefined && shelf.model === "Grant") {
    readsOf(Provider.ctx).grants.set(key, stored as Stored<object>);
  }
  return payloadOf(stored);
}

async function first(shelf: Shelf, group: string): Promise<AdapterPayload | undefined> {
  return payloadOf((await shelf.records.list(shelf.documents, { group, limit: 1 }))[0]);
}

async function use(shelf: Shelf, { key, chain }: Sought): Promise<void> {
  const { model, documents, records } = shelf;
  const exchange = exchangeUnderWay();
  if (exchange !== undefined) return void exchange.uses.push({ model, documents, key, chain });
  if (await records.commit([consume(documents, key)])) return;
  const stored = await records.get(documents, key);
  if (stored !== undefined) await endReplayed({ model, documents, key }, stored.value, shelf);
  throw new errors.InvalidGrant("used before");
}

/** Whether the end of a token is somebody's concern: a person's, or of whoever answers for the agent. */
async function concerns({ records }: Shelf, { accountId, clientId = "" }: AdapterPayload) {
  if (accountId !== undefined) return true;
  const client = await records.get(clients, clientId);
  return client !== undefined && isAudited(client.value.agent);
}

/** A refresh token takes along all that came of the same grant (RFC 7009 section 2.1). */
async function drop(shelf: Shelf, { key, chain }: Sought): Promise<void> {
  const { model, records, documents, audit } = shelf;
  await update(records, { collection: documents, key }, async (kept) => {
    const stored = kept ?? (await survivorOf(records, { documents, chain }));
    if (stored === undefined) return undefined;
    const { clientId, grantId } = stored.value;
    const entry = { action: "token.revoked", actor: String(clientId), target: `${model}:${key}` };
    return [
      removeAt(documents, stored),
      ...(model === "RefreshToken" ? await withoutFamily(records, grantId) : []),
      ...(revocable.has(model) && (await concerns(shelf, stored.value)) ? audit(entry) : []),
    ];
  });
}

/** Whether an access token is being revoked, which goes alone: whoever was handed it must not be able
 *  to end what it came of (RFC 7009 section 2.1 leaves that open). */
function isOneRevoked(): boolean {
  const { oidc } = Provider.ctx ?? {};
  return oidc?.route === "revocation" && oidc.entities.RefreshToken === undefined;
}

function modelAdapter(model: string, context: AdapterContext): Adapter {
  const documents = collection<AdapterPayload>(`oidc:${model}`);
  const shelf = { ...context, model, documents };
  const write = writeOf(model);
  const isBearer = bearers.has(model);
  const keyOf = isBearer ? fingerprint : (id: string) => id;
  const chain = (id: string) => (model === "RefreshToken" ? chainOf(id) : undefined);
  const sought = (id: string): Sought => ({ key: keyOf(id), chain: chain(id) });

  return {
    async upsert(id, { jti, ...rest }, expiresIn) {
      const value = copied(isBearer || jti === undefined ? rest : { ...rest, jti });
      const life = expiresIn === undefined ? {} : { ttlMs: expiresIn * 1000 };
      const groups = [...groupsOf(value), ...[chain(id) ?? []].flat()];
      await write(shelf, { model, documents, key: keyOf(id), value, groups, ...life });
    },
    async find(id) {
      const payload = await load(shelf, sought(id));
      return isBearer && payload !== undefined ? { ...payload, jti: id } : payload;
    },
    findByUid: (uid) => first(shelf, underUid(uid)),
    findByUserCode: (userCode) => first(shelf, underUserCode(userCode)),
    consume: (id) => use(shelf, sought(id)),
    destroy: (id) => (model === "Grant" ? endFamily(context, id) : drop(shelf, sought(id))),
    async revokeByGrantId(grantId) {
      if (!isOneRevoked()) await endFamily(context, grantId);
    },
  };
}

/** Models that do some things in a way of their own. */
const special: Readonly<Record<string, (context: RegistrationContext) => ModelAdapter>> = {
  Client: clientAdapter,
  RegistrationAccessToken: registrationTokenAdapter,
};

/**
 * Keeps the state of the authorization server in the store, each model in a collection of its own.
 * Single use holds under concurrency and across processes: of several uses at once one holds, and an
 * upsert of `ReplayDetection` throws `invalid_grant` or `invalid_client` the second time. Secrets are
 * kept hashed. In a request for a token, what is issued and what is used up for it wait until the
 * answer is ready (`settleExchanges`).
 *
 * Every token, code and grant of a client is in the group `client:<id>`, and what a person let it do
 * in the group of the account too. Registrations, updates and removals of clients, what people allow,
 * revocations and refused replays are in the audit, save what agents do that nobody answers for
 * (`isAudited`).
 *
 * Every method throws the problem `store_unavailable` when the store cannot answer.
 */
export function createStoreAdapter(context: RegistrationContext): AdapterFactory {
  return (model) => ({ ...modelAdapter(model, context), ...special[model]?.(context) });
}
