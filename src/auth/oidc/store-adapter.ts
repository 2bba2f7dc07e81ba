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
import {
  agentsNarrowing,
  type GrantRecord,
  grantEviction,
  grantGroup,
  grantRevocationById,
} from "../accounts/grants.ts";
import {
  accountRecordsGroup,
  authorizationRequestGroup,
  clientGroup,
  clients,
  isAudited,
} from "../agents/agent.ts";
import {
  type AdapterContext,
  type ClientAdapterContext,
  copyJson,
  type ModelAdapter,
  type NewRecord,
  type RecordRef,
} from "./adapter-context.ts";
import { clientAdapter, registrationTokenAdapter } from "./client-adapter.ts";
import { type Issuance, issue } from "./issuance.ts";
import { familyOf, survivorOf } from "./refresh-token-families.ts";
import { endGrant, endReplayed } from "./replayed-tokens.ts";
import { hooksOf, pendingIssuance, type RequestState, stateOf } from "./request-state.ts";

/** Models whose ids are secrets: whoever has one may use it. A device code would be one too, but
 *  must be found by its user code and then say its id; this server offers no device flow. */
const bearerModels: ReadonlySet<string> = new Set([
  "AccessToken",
  "AuthorizationCode",
  "ClientCredentials",
  "InitialAccessToken",
  "PushedAuthorizationRequest",
  "RefreshToken",
]);

/** Models that depend on a client, and most of them on a grant. */
const issuedModels: ReadonlySet<string> = new Set([
  "AccessToken",
  "AuthorizationCode",
  "ClientCredentials",
  "Grant",
  "RefreshToken",
]);

/** Models whose removal is a revocation. */
const revocableModels: ReadonlySet<string> = new Set([
  "AccessToken",
  "ClientCredentials",
  "RefreshToken",
]);

const underUid = (uid: string): string => `uid:${uid}`;
const underUserCode = (userCode: string): string => `userCode:${userCode}`;

/** The records of one model. */
class StoreAdapter implements Adapter {
  readonly #context: AdapterContext;
  readonly #model: string;
  readonly #collection: Collection<AdapterPayload>;
  readonly #isBearer: boolean;

  constructor(model: string, context: AdapterContext) {
    this.#context = context;
    this.#model = model;
    this.#collection = collection<AdapterPayload>(`oidc:${model}`);
    this.#isBearer = bearerModels.has(model);
  }

  async upsert(id: string, { jti, ...rest }: AdapterPayload, expiresIn?: number): Promise<void> {
    const value = copyJson(this.#isBearer || jti === undefined ? rest : { ...rest, jti });
    const { family, ...ref } = this.#refOf(id);
    const groups = [...groupsOf(value), ...(family === undefined ? [] : [family])];
    const life = expiresIn === undefined ? {} : { ttlMs: expiresIn * 1000 };
    await this.#write({ ...ref, value, groups, ...life });
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const ref = this.#refOf(id);
    const stored = await this.#lookUp(ref);
    if (stored === undefined) return undefined;
    // A used code or refresh token at the token endpoint is a replay.
    if (stored.consumedAt !== undefined && Provider.ctx?.oidc.route === "token") {
      await this.#noteReplay(ref, stored.value);
    }
    if (this.#model === "Grant") {
      stateOf(Provider.ctx).grants.set(ref.key, stored as Stored<object>);
    }
    return this.#isBearer ? { ...payloadOf(stored), jti: id } : payloadOf(stored);
  }

  findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.#firstIn(underUid(uid));
  }

  findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return this.#firstIn(underUserCode(userCode));
  }

  async consume(id: string): Promise<void> {
    const { records } = this.#context;
    const ref = this.#refOf(id);
    const issuance = pendingIssuance();
    if (issuance !== undefined) return void issuance.consumed.push(ref);
    if (await records.commit([consume(ref.collection, ref.key)])) return;
    const stored = await records.get(ref.collection, ref.key);
    if (stored !== undefined) await endReplayed(ref, stored.value, this.#context);
    throw new errors.InvalidGrant("used before");
  }

  async destroy(id: string): Promise<void> {
    if (this.#model === "Grant") return this.#revokeGrant(id);
    const isRemoved = await this.#revoke(this.#refOf(id));
    // Each resume stores another request, so that only the one that ended this request may go on.
    if (this.#model === "Interaction" && !isRemoved) throw authorizationOver();
  }

  /** An access token is revoked alone: whoever was handed it must not be able to end the grant that it
   *  came of (RFC 7009 section 2.1 leaves that open). */
  async revokeByGrantId(grantId: string): Promise<void> {
    const { oidc } = Provider.ctx ?? {};
    const isAccessToken = oidc?.route === "revocation" && oidc.entities.RefreshToken === undefined;
    if (!isAccessToken) await this.#revokeGrant(grantId);
  }

  /** Ends a grant with every code and token that came of it, in one step. */
  async #revokeGrant(grantId: string): Promise<void> {
    const { replayed } = stateOf(Provider.ctx);
    if (replayed !== undefined) return endReplayed(replayed.ref, replayed.value, this.#context);
    const entry = { action: "grant.revoked", target: grantId };
    await endGrant(grantId, entry, this.#context);
  }

  #refOf(id: string): RecordRef {
    return {
      model: this.#model,
      collection: this.#collection,
      key: this.#isBearer ? fingerprint(id) : id,
      family: this.#model === "RefreshToken" ? familyOf(id) : undefined,
    };
  }

  async #write(record: NewRecord): Promise<void> {
    if (this.#model === "ReplayDetection") return this.#insertOnce(record);
    if (issuedModels.has(this.#model)) return this.#issue(record);
    if (this.#model === "Interaction") return this.#saveInteraction(record);
    await this.#save(record);
  }

  /** Records that an assertion of a client was seen; of several requests at once, only the first. */
  async #insertOnce({ collection, model: _, ...seen }: NewRecord): Promise<void> {
    const { ctx } = Provider;
    if (ctx !== undefined) await hooksOf(ctx.res).beforeAssertionStored?.();
    if (await this.#context.records.commit([insert(collection, seen)])) return;
    const isOfClient = ctx?.oidc.client?.clientId === seen.value.iss;
    throw isOfClient
      ? new errors.InvalidClientAuth("assertion seen before")
      : new errors.InvalidGrant("seen before");
  }

  async #issue(record: NewRecord): Promise<void> {
    const issuance = pendingIssuance();
    if (issuance !== undefined) return void issuance.issued.push(record);
    const state = stateOf(Provider.ctx);
    const issued = [record];
    const ofModel = this.#model === "Grant" ? await this.#grantIssuance(record, state) : {};
    await issue({ consumed: [], issued, ...ofModel }, state, this.#context);
  }

  /** What goes with a grant that a person gives or changes. */
  async #grantIssuance(
    { key, value }: NewRecord,
    state: RequestState,
  ): Promise<Pick<Issuance, "steps" | "cap">> {
    const { records, audit } = this.#context;
    const actor = String(value.accountId);
    const steps = audit({ action: "grant.given", actor, target: key });
    const known = state.grants.get(key);
    if (known !== undefined) {
      return {
        steps: [...steps, ...(await agentsNarrowing(records, known, value as GrantRecord))],
      };
    }
    const lock = { key: `grants ${actor}`, groups: [accountRecordsGroup(actor)] };
    return { steps, cap: { lock, makeRoom: () => this.#makeRoomForGrant(value) } };
  }

  /** @throws `access_denied` when a person has as many grants as there may be. */
  async #makeRoomForGrant(grant: AdapterPayload): Promise<readonly Operation[]> {
    const room = await grantEviction(this.#context.records, grant);
    if (room !== undefined) return room;
    throw new errors.AccessDenied("too many applications act for the person");
  }

  /** Stores a new authorization request, or what a person did with one that is stored. One that was
   *  resumed meanwhile must not come back: it would be resumed again, and each time store another. */
  async #saveInteraction(record: NewRecord): Promise<void> {
    const { route, entities } = Provider.ctx?.oidc ?? {};
    const isNew =
      route === "authorization" ||
      (route === "resume" && entities?.Interaction?.jti !== record.key);
    if (route === "authorization") await beforeAuthorizationStored();
    if (!(await this.#save(record, { inserts: isNew }))) throw authorizationOver();
  }

  /** Writing a record again leaves it used, if it was. @returns Whether it was written. */
  #save(
    { collection, model: _, ...record }: NewRecord,
    { inserts }: { readonly inserts: boolean } = { inserts: true },
  ): Promise<boolean> {
    const { key, ...rest } = record;
    return update(this.#context.records, { collection, key }, (stored) => {
      if (stored !== undefined) return [replace(collection, stored, { ttlMs: null, ...rest })];
      return inserts ? [insert(collection, record)] : undefined;
    });
  }

  /** A used refresh token of the client's own ends its grant at once, before oidc-provider looks at the
   *  scope (RFC 9700 section 4.14.2). A used code ends it only with the right verifier and redirect URI,
   *  so that whoever finds a code in a history ends nothing (`#revokeGrant`). Any other replay is
   *  refused, and recorded only as far as refusals are.
   *  @throws `invalid_grant` */
  async #noteReplay(ref: RecordRef, value: AdapterPayload): Promise<void> {
    const { ctx } = Provider;
    if (ctx?.oidc.client?.clientId !== value.clientId) return;
    if (this.#model === "AuthorizationCode") stateOf(ctx).replayed = { ref, value };
    if (this.#model !== "RefreshToken") return;
    await endReplayed(ref, value, this.#context);
    throw new errors.InvalidGrant("used before");
  }

  /** The stored record. A refresh token that was replaced long ago is found as a used one. */
  async #lookUp({ collection, key, family }: RecordRef) {
    const { records, now } = this.#context;
    const stored = await records.get(collection, key);
    if (stored !== undefined) return stored;
    const survivor = await survivorOf(records, { collection, family });
    return survivor && { ...survivor, key, consumedAt: survivor.consumedAt ?? now().getTime() };
  }

  async #firstIn(group: string): Promise<AdapterPayload | undefined> {
    const [stored] = await this.#context.records.list(this.#collection, { group, limit: 1 });
    return stored && payloadOf(stored);
  }

  /** Revokes a token. A refresh token takes along everything issued under the same grant (RFC 7009
   *  section 2.1). @returns Whether there was one. */
  #revoke({ collection, key, family }: RecordRef): Promise<boolean> {
    const { records, audit } = this.#context;
    return update(records, { collection, key }, async (present) => {
      const stored = present ?? (await survivorOf(records, { collection, family }));
      if (stored === undefined) return undefined;
      const { clientId, grantId } = stored.value;
      const target = `${this.#model}:${key}`;
      const entry = { action: "token.revoked", actor: String(clientId), target };
      return [
        removeAt(collection, stored),
        ...(this.#model === "RefreshToken" ? await grantRevocationById(records, grantId) : []),
        ...((await this.#isAuditedRevocation(stored.value)) ? audit(entry) : []),
      ];
    });
  }

  /** Revocations are audited for tokens of people and of agents whose own actions are. */
  async #isAuditedRevocation({ accountId, clientId = "" }: AdapterPayload): Promise<boolean> {
    if (!revocableModels.has(this.#model)) return false;
    if (accountId !== undefined) return true;
    const client = await this.#context.records.get(clients, clientId);
    return client !== undefined && isAudited(client.value.agent);
  }
}

/** What oidc-provider stores of an authorization request, as far as it is used here. */
interface AuthorizationParameters {
  readonly client_id?: unknown;
}

function groupsOf(payload: AdapterPayload): readonly string[] {
  const { clientId, grantId, uid, userCode, accountId, params } = payload;
  return [
    params === undefined
      ? []
      : authorizationRequestGroup(String((params as AuthorizationParameters).client_id)),
    clientId === undefined ? [] : clientGroup(clientId),
    grantId === undefined ? [] : grantGroup(grantId),
    uid === undefined ? [] : underUid(uid),
    userCode === undefined ? [] : underUserCode(userCode),
    accountId === undefined ? [] : accountRecordsGroup(accountId),
  ].flat();
}

/** A copy of what is stored, which oidc-provider may change; `consumed` is in seconds. */
function payloadOf({ value, consumedAt }: Stored<AdapterPayload>): AdapterPayload {
  const use = consumedAt === undefined ? {} : { consumed: Math.floor(consumedAt / 1000) };
  return { ...copyJson(value), ...use };
}

/** Runs the hook of the current request. An authorization request that is resumed after a page takes the
 *  place of the stored one, so that it does not count again. */
async function beforeAuthorizationStored(): Promise<void> {
  const { ctx } = Provider;
  if (ctx !== undefined) await hooksOf(ctx.res).beforeAuthorizationStored?.();
}

const authorizationOver = (): Error =>
  new errors.SessionNotFound("the authorization request was resumed or has expired");

/** Models that implement some methods in their own way. */
const special: Readonly<Record<string, (context: ClientAdapterContext) => ModelAdapter>> = {
  Client: clientAdapter,
  RegistrationAccessToken: registrationTokenAdapter,
};

/**
 * Keeps the state of the authorization server in the store, each model in a collection of its own.
 * Single use holds under concurrency and across processes: of several uses at once one holds, and an
 * upsert of `ReplayDetection` throws `invalid_grant` or `invalid_client` the second time. Secrets are
 * stored hashed. In a token request, what is used up and what is issued wait until the response is
 * ready (`commitIssuances`).
 *
 * Every token, code and grant of a client is in the group `client:<id>`; a person's are in the group of
 * the account too. Registrations, updates and removals of clients, consents, revocations and refused
 * replays are in the audit, except for agents that nobody owns (`isAudited`).
 *
 * Every method throws the problem `store_unavailable` when the store cannot answer.
 */
export function createStoreAdapter(context: ClientAdapterContext): AdapterFactory {
  return (model) => Object.assign(new StoreAdapter(model, context), special[model]?.(context));
}
