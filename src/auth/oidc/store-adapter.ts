import {
  type Adapter,
  type AdapterFactory,
  type AdapterPayload,
  errors,
  Provider,
} from "oidc-provider";
import {
  consume,
  insert,
  put,
  removeAt,
  removeGroup,
  replace,
  update,
} from "../../store/operations.ts";
import { type Collection, collection, type Records, type Stored } from "../../store/records.ts";
import { type AuditorOptions, createAuditor } from "../auditor.ts";
import { fingerprint } from "../secrets.ts";
import {
  type AdapterContext,
  clientAdapter,
  clients,
  issuedTo,
  longerLife,
  type ModelAdapter,
  registrationTokenAdapter,
} from "./client-adapter.ts";

/** What the state of the authorization server is kept with. */
export interface StoreAdapterOptions extends AuditorOptions {
  readonly records: Records;
}

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

/** Models that let a client live on. */
const accessTokens: ReadonlySet<string> = new Set(["AccessToken", "ClientCredentials"]);

/** Models whose removal is a revocation. */
const revocable: ReadonlySet<string> = new Set([...accessTokens, "RefreshToken"]);

/** One model, and where it is kept. */
interface Shelf extends AdapterContext {
  readonly model: string;
  readonly documents: Collection<AdapterPayload>;
}

interface Document {
  readonly key: string;
  readonly value: AdapterPayload;
  readonly groups: readonly string[];
  readonly ttlMs?: number;
}

const underGrant = (grantId: string): string => `grant:${grantId}`;
const underUid = (uid: string): string => `uid:${uid}`;
const underUserCode = (userCode: string): string => `userCode:${userCode}`;

function groupsOf({ clientId, grantId, uid, userCode }: AdapterPayload): readonly string[] {
  return [
    clientId === undefined ? [] : issuedTo(clientId),
    grantId === undefined ? [] : underGrant(grantId),
    uid === undefined ? [] : underUid(uid),
    userCode === undefined ? [] : underUserCode(userCode),
  ].flat();
}

/** A copy of what is kept, which the library may change; `consumed` is in seconds. */
function payloadOf(stored: Stored<AdapterPayload> | undefined): AdapterPayload | undefined {
  if (stored === undefined) return undefined;
  const { value, consumedAt } = stored;
  const use = consumedAt === undefined ? {} : { consumed: Math.floor(consumedAt / 1000) };
  return { ...structuredClone(value), ...use };
}

async function record({ records, documents }: Shelf, document: Document): Promise<void> {
  if (await records.commit([insert(documents, document)])) return;
  throw new errors.InvalidGrant("seen before");
}

async function issue({ records, documents, now }: Shelf, document: Document): Promise<void> {
  const owner = document.value.clientId ?? "";
  await update(records, { collection: clients, key: owner }, (client) => [
    put(documents, document),
    ...longerLife(client, now()),
  ]);
}

/** What is written again keeps that its one use was made. */
async function save({ records, documents }: Shelf, document: Document): Promise<void> {
  const { key, ttlMs = null, ...rest } = document;
  await update(records, { collection: documents, key }, (stored) => [
    stored === undefined
      ? insert(documents, document)
      : replace(documents, stored, { ...rest, ttlMs }),
  ]);
}

function writeOf(model: string): typeof save {
  if (model === "ReplayDetection") return record;
  return accessTokens.has(model) ? issue : save;
}

async function recordReplay(shelf: Shelf, stored: Stored<AdapterPayload>): Promise<void> {
  const actor = Provider.ctx?.oidc.client?.clientId ?? String(stored.value.clientId);
  const target = `${shelf.model}:${stored.key}`;
  await shelf.records.commit(shelf.audit({ action: "grant.replayed", actor, target }));
}

/** Whatever has been used and comes to the token endpoint is a replay. */
async function load(shelf: Shelf, key: string): Promise<AdapterPayload | undefined> {
  const stored = await shelf.records.get(shelf.documents, key);
  if (stored?.consumedAt !== undefined && Provider.ctx?.oidc.route === "token") {
    await recordReplay(shelf, stored);
  }
  return payloadOf(stored);
}

async function first(shelf: Shelf, group: string): Promise<AdapterPayload | undefined> {
  return payloadOf((await shelf.records.list(shelf.documents, { group, limit: 1 }))[0]);
}

async function use(shelf: Shelf, key: string): Promise<void> {
  if (await shelf.records.commit([consume(shelf.documents, key)])) return;
  const stored = await shelf.records.get(shelf.documents, key);
  if (stored !== undefined) await recordReplay(shelf, stored);
  throw new errors.InvalidGrant("used before");
}

async function drop({ model, records, documents, audit }: Shelf, key: string): Promise<void> {
  await update(records, { collection: documents, key }, (stored) => {
    if (stored === undefined) return undefined;
    const actor = String(stored.value.clientId);
    const entry = { action: "token.revoked", actor, target: `${model}:${key}` };
    return [removeAt(documents, stored), ...(revocable.has(model) ? audit(entry) : [])];
  });
}

function modelAdapter(model: string, context: AdapterContext): Adapter {
  const shelf = { ...context, model, documents: collection<AdapterPayload>(`oidc:${model}`) };
  const write = writeOf(model);
  const isBearer = bearers.has(model);
  const keyOf = isBearer ? fingerprint : (id: string) => id;

  return {
    async upsert(id, { jti, ...rest }, expiresIn) {
      const value = isBearer || jti === undefined ? rest : { ...rest, jti };
      const life = expiresIn === undefined ? {} : { ttlMs: expiresIn * 1000 };
      await write(shelf, { key: keyOf(id), value, groups: groupsOf(value), ...life });
    },
    async find(id) {
      const payload = await load(shelf, keyOf(id));
      return isBearer && payload !== undefined ? { ...payload, jti: id } : payload;
    },
    findByUid: (uid) => first(shelf, underUid(uid)),
    findByUserCode: (userCode) => first(shelf, underUserCode(userCode)),
    consume: (id) => use(shelf, keyOf(id)),
    destroy: (id) => drop(shelf, keyOf(id)),
    async revokeByGrantId(grantId) {
      await context.records.commit([removeGroup(underGrant(grantId))]);
    },
  };
}

/** Models that do some things in a way of their own. */
const special: Readonly<Record<string, (context: AdapterContext) => ModelAdapter>> = {
  Client: clientAdapter,
  RegistrationAccessToken: registrationTokenAdapter,
};

/**
 * Keeps the state of the authorization server in the store, each model in a collection of its own.
 * Single use holds under concurrency and across processes: `consume`, and an upsert of
 * `ReplayDetection`, throw `invalid_grant` the second time. Secrets are kept hashed.
 *
 * Every token, code and grant of a client is in the group `client:<id>`. Registrations, updates and
 * removals of clients, revocations of single tokens and refused replays are in the audit.
 *
 * Every method throws the problem `store_unavailable` when the store cannot answer.
 */
export function createStoreAdapter(options: StoreAdapterOptions): AdapterFactory {
  const { records, now } = options;
  const context = { records, now, audit: createAuditor(options) };
  return (model) => ({ ...modelAdapter(model, context), ...special[model]?.(context) });
}
