import {
  type Adapter,
  type AdapterFactory,
  type AdapterPayload,
  errors,
  Provider,
} from "oidc-provider";
import { fingerprint } from "../../lib/fingerprint.ts";
import { partyAt } from "../../limits/address-key.ts";
import {
  deleteGrant,
  deleteGrantById,
  type GrantRecord,
  grantRoom,
  narrowClaimedAgents,
} from "../../principals/accounts/grants.ts";
import { clients, isAudited } from "../../principals/agents/agent.ts";
import type { Collection, Stored } from "../../store/port/records.ts";
import { type Change, transact } from "../../store/transact.ts";
import {
  type ClientAdapterContext,
  copyJson,
  type ModelAdapter,
  type ModelRecordRef,
  type NewModelRecord,
} from "./adapter-context.ts";
import { createClientAdapter, createRegistrationTokenAdapter } from "./client-adapter.ts";
import { commitIssuance } from "./issuance.ts";
import { groupsOf, modelCollection, uidGroup, userCodeGroup } from "./model-collection.ts";
import { findFamilyToken, refreshTokenFamily } from "./refresh-token-families.ts";
import { revokeGrant, revokeGrantOfReplayedToken } from "./replayed-tokens.ts";
import {
  pendingIssuance,
  type RequestState,
  requestHooksOf,
  requestStateOf,
} from "./request-state.ts";

/**
 * Models whose ids are secrets and are stored as hashes. A device code is a secret too, but must be
 * found by its user code; this server has no device flow.
 */
const bearerModels: ReadonlySet<string> = new Set([
  "AccessToken",
  "AuthorizationCode",
  "ClientCredentials",
  "InitialAccessToken",
  "PushedAuthorizationRequest",
  "RefreshToken",
]);

/** Models whose records depend on a client and, for most of these models, also on a grant. */
const issuedModels: ReadonlySet<string> = new Set([
  "AccessToken",
  "AuthorizationCode",
  "ClientCredentials",
  "Grant",
  "RefreshToken",
]);

/** Models of access tokens. Deleting a record of these models revokes only that token. */
const accessTokenModels: ReadonlySet<string> = new Set(["AccessToken", "ClientCredentials"]);

/** The oidc-provider adapter of one model. */
class StoreAdapter implements Adapter {
  readonly #context: ClientAdapterContext;
  readonly #model: string;
  readonly #collection: Collection<AdapterPayload>;
  readonly #isBearer: boolean;

  constructor(model: string, context: ClientAdapterContext) {
    this.#context = context;
    this.#model = model;
    this.#collection = modelCollection(model);
    this.#isBearer = bearerModels.has(model);
  }

  async upsert(id: string, { jti, ...rest }: AdapterPayload, expiresIn?: number): Promise<void> {
    const value = copyJson(this.#isBearer || jti === undefined ? rest : { ...rest, jti });
    const life = expiresIn === undefined ? {} : { ttlMs: expiresIn * 1000 };
    await this.#write({ ...this.#refFor(id), value, ...life });
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const ref = this.#refFor(id);
    const stored = await this.#read(ref);
    if (stored === undefined) return undefined;
    // At the token endpoint, a code or refresh token that was used before is a replay.
    if (stored.consumedAt !== undefined && Provider.ctx?.oidc.route === "token") {
      await this.#handleReplay(ref, stored.value);
    }
    if (this.#model === "Grant") {
      requestStateOf(Provider.ctx).grants.set(ref.key, stored as Stored<object>);
    }
    return this.#isBearer ? { ...payloadOf(stored), jti: id } : payloadOf(stored);
  }

  findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.#findInGroup(uidGroup(uid));
  }

  findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return this.#findInGroup(userCodeGroup(userCode));
  }

  async consume(id: string): Promise<void> {
    const { records } = this.#context;
    const ref = this.#refFor(id);
    const issuance = pendingIssuance();
    if (issuance !== undefined) return void issuance.consumed.push(ref);
    const used = await transact(records, async (tx) => {
      const stored = await tx.get(ref.collection, ref.key);
      if (stored === undefined || stored.consumedAt !== undefined) return { stored };
      tx.consume(ref.collection, ref.key);
      return undefined;
    });
    if (used === undefined) return;
    const { stored } = used;
    if (stored !== undefined) await revokeGrantOfReplayedToken(ref, stored.value, this.#context);
    throw new errors.InvalidGrant("it was used before");
  }

  async destroy(id: string): Promise<void> {
    if (this.#model === "Grant") return this.#revokeGrant(id);
    const isRemoved = await this.#revoke(this.#refFor(id));
    // oidc-provider stores a resumed request as a new request and deletes the old request. If a
    // concurrent resume has already deleted the old request, this resume must not continue.
    if (this.#model === "Interaction" && !isRemoved) throw authorizationEnded();
  }

  /**
   * Revokes a grant, unless the revocation endpoint is revoking an access token: a holder of that
   * token must not be able to revoke the whole grant (RFC 7009 section 2.1 lets the server choose).
   */
  async revokeByGrantId(grantId: string): Promise<void> {
    const { oidc } = Provider.ctx ?? {};
    const isAccessToken = oidc?.route === "revocation" && oidc.entities.RefreshToken === undefined;
    if (!isAccessToken) await this.#revokeGrant(grantId);
  }

  /** Revokes a grant with every code and token issued under it, in one commit. */
  async #revokeGrant(grantId: string): Promise<void> {
    const { replayed } = requestStateOf(Provider.ctx);
    if (replayed !== undefined)
      return revokeGrantOfReplayedToken(replayed.ref, replayed.value, this.#context);
    const entry = { action: "grant.revoked", target: grantId };
    await revokeGrant(grantId, entry, this.#context);
  }

  #refFor(id: string): ModelRecordRef {
    return {
      model: this.#model,
      collection: this.#collection,
      key: this.#isBearer ? fingerprint(id) : id,
      family: this.#model === "RefreshToken" ? refreshTokenFamily(id) : undefined,
    };
  }

  async #write(record: NewModelRecord): Promise<void> {
    if (this.#model === "ReplayDetection") return this.#insertOnce(record);
    if (issuedModels.has(this.#model)) return this.#issue(record);
    if (this.#model === "Interaction") return this.#saveInteraction(record);
    await this.#save(record);
  }

  /**
   * Stores the use of a client assertion. Only the first of several concurrent requests with the
   * same assertion succeeds.
   */
  async #insertOnce({ collection, model: _, ...seen }: NewModelRecord): Promise<void> {
    const { ctx } = Provider;
    if (ctx !== undefined) await requestHooksOf(ctx.res).beforeAssertionStored?.();
    const isFirst = await transact(this.#context.records, async (tx) => {
      if ((await tx.get(collection, seen.key)) !== undefined) return false;
      tx.insert(collection, seen);
      return true;
    });
    if (isFirst) return;
    const isOfClient = ctx?.oidc.client?.clientId === seen.value.iss;
    throw isOfClient
      ? new errors.InvalidClientAuth("the assertion was used before")
      : new errors.InvalidGrant("it was used before");
  }

  async #issue(record: NewModelRecord): Promise<void> {
    const issuance = pendingIssuance();
    if (issuance !== undefined) return void issuance.issued.push(record);
    const state = requestStateOf(Provider.ctx);
    const issued = [record];
    const alsoWrite = this.#model === "Grant" ? this.#grantChange(record, state) : undefined;
    await commitIssuance({ consumed: [], issued, alsoWrite }, state, this.#context);
  }

  /**
   * What is written together with a grant: the audit row, and what a narrower grant takes from the
   * agents that the application claimed, or what makes room for a new grant.
   * @throws `access_denied` when the person has the maximum number of grants.
   */
  #grantChange({ key, value }: NewModelRecord, state: RequestState): Change {
    const { audit } = this.#context;
    const known = state.grants.get(key);
    return async (tx) => {
      audit(tx, { action: "grant.given", actor: String(value.accountId), target: key });
      if (known !== undefined) return narrowClaimedAgents(tx, known, value as GrantRecord);
      const { isThere, revoked } = await grantRoom(tx, value);
      if (!isThere)
        throw new errors.AccessDenied("the person has authorized too many applications");
      if (revoked !== undefined) await deleteGrant(tx, revoked);
    };
  }

  /**
   * Stores a new authorization request, or a person's action on a stored request. A request that
   * was resumed concurrently must not be restored: it could be resumed again, and each resume would
   * store another request.
   */
  async #saveInteraction(record: NewModelRecord): Promise<void> {
    const { route, entities } = Provider.ctx?.oidc ?? {};
    const isNew =
      route === "authorization" ||
      (route === "resume" && entities?.Interaction?.jti !== record.key);
    if (route === "authorization") await beforeAuthorizationStored();
    if (!(await this.#save(record, { inserts: isNew }))) throw authorizationEnded();
  }

  /**
   * Overwrites or inserts a record. A used record stays marked as used.
   * @returns Whether the record was written.
   */
  #save(
    { collection, model: _, ...record }: NewModelRecord,
    { inserts }: { readonly inserts: boolean } = { inserts: true },
  ): Promise<boolean> {
    const { key, ...rest } = record;
    const groups = groupsOf(record.value);
    return transact(this.#context.records, async (tx) => {
      const stored = await tx.get(collection, key);
      if (stored === undefined && !inserts) return false;
      if (stored === undefined) tx.insert(collection, record);
      else tx.update(collection, stored, { ttlMs: null, ...rest, groups });
      return true;
    });
  }

  /**
   * Handles the replay of the client's own code or refresh token. A used refresh token revokes its
   * grant at once, before oidc-provider checks the scope (RFC 9700 section 4.14.2). A used code
   * revokes its grant only with the correct verifier and redirect URI, so that a code found in a
   * browser history revokes nothing (`#revokeGrant`). Other replays are only rejected, and audited
   * as rejected requests.
   * @throws `invalid_grant`
   */
  async #handleReplay(ref: ModelRecordRef, value: AdapterPayload): Promise<void> {
    const { ctx } = Provider;
    if (ctx?.oidc.client?.clientId !== value.clientId) return;
    if (this.#model === "AuthorizationCode") requestStateOf(ctx).replayed = { ref, value };
    if (this.#model !== "RefreshToken") return;
    await revokeGrantOfReplayedToken(ref, value, this.#context);
    throw new errors.InvalidGrant("it was used before");
  }

  /**
   * Reads a stored record. For a refresh token that was replaced long ago, returns a token of the
   * same family, marked as used.
   */
  async #read({ collection, key, family }: ModelRecordRef) {
    const { records, now } = this.#context;
    const stored = await records.get(collection, key);
    if (stored !== undefined) return stored;
    const survivor = await findFamilyToken(records, { collection, family });
    return survivor && { ...survivor, key, consumedAt: survivor.consumedAt ?? now().getTime() };
  }

  async #findInGroup(group: string): Promise<AdapterPayload | undefined> {
    const [stored] = await this.#context.records.list(this.#collection, { group, limit: 1 });
    return stored && payloadOf(stored);
  }

  /**
   * Revokes a token. A refresh token is revoked with everything issued under its grant (RFC 7009
   * section 2.1).
   * @returns Whether the token existed.
   */
  async #revoke(ref: ModelRecordRef): Promise<boolean> {
    const { collection, key, family } = ref;
    const { records, audit } = this.#context;
    const isRecorded = await this.#isRecordedRevocation(ref);
    return transact(records, async (tx) => {
      const stored =
        (await tx.get(collection, key)) ?? (await findFamilyToken(tx, { collection, family }));
      if (stored === undefined) return false;
      const { clientId, grantId } = stored.value;
      tx.remove(collection, stored.key);
      if (this.#model === "RefreshToken" && grantId !== undefined) {
        await deleteGrantById(tx, grantId);
      }
      const target = `${this.#model}:${key}`;
      if (isRecorded) audit(tx, { action: "token.revoked", actor: String(clientId), target });
      return true;
    });
  }

  /**
   * Whether the revocation of a token is audited. Revocations of refresh tokens are always audited,
   * because they end a grant. Revocations of access tokens are audited only for people, and for
   * agents whose actions are audited, and only up to a limit, because a client can get thousands of
   * access tokens a day.
   */
  async #isRecordedRevocation({ collection, key }: ModelRecordRef): Promise<boolean> {
    if (this.#model === "RefreshToken") return true;
    if (!accessTokenModels.has(this.#model)) return false;
    const { records, limits } = this.#context;
    const stored = await records.get(collection, key);
    if (stored === undefined) return false;
    const { clientId: client = "", accountId } = stored.value;
    const agent = (await records.get(clients, client))?.value.agent;
    if (accountId === undefined && (agent === undefined || !isAudited(agent))) return false;
    const account = accountId ?? agent?.owner?.accountId ?? client;
    const party = partyAt(Provider.ctx?.ip, `${client} ${account}`);
    return !(await limits.admit("audit-rows", party)).isExceeded;
  }
}

/**
 * A copy of the stored value that oidc-provider may modify; `consumed` is in seconds since the
 * epoch.
 */
function payloadOf({ value, consumedAt }: Stored<AdapterPayload>): AdapterPayload {
  const use = consumedAt === undefined ? {} : { consumed: Math.floor(consumedAt / 1000) };
  return { ...copyJson(value), ...use };
}

/**
 * Runs the `beforeAuthorizationStored` hook of the current request. When a person returns from a
 * sign-in or consent page, oidc-provider replaces the stored authorization request without another
 * run of the hook.
 */
async function beforeAuthorizationStored(): Promise<void> {
  const { ctx } = Provider;
  if (ctx !== undefined) await requestHooksOf(ctx.res).beforeAuthorizationStored?.();
}

const authorizationEnded = (): Error =>
  new errors.SessionNotFound("the authorization request was resumed or has expired");

/**
 * Models whose adapter overrides some methods of `StoreAdapter`, with the functions that create the
 * overrides.
 */
const modelOverrides: Readonly<Record<string, (context: ClientAdapterContext) => ModelAdapter>> = {
  Client: createClientAdapter,
  RegistrationAccessToken: createRegistrationTokenAdapter,
};

/**
 * Creates the adapter that stores the state of the authorization server, each model in a separate
 * collection. Single use is atomic, also across processes: only one of several concurrent uses
 * succeeds, and a second upsert of `ReplayDetection` throws `invalid_grant` or `invalid_client`.
 * Secrets are stored as hashes. A token request commits the records it consumes and issues when its
 * response is ready (`commitIssuancesOnResponse`).
 *
 * Every token, code and grant of a client is in the group `client:<id>`; those that act for a
 * person are also in the group of the person's account. Registrations, updates and deletions of
 * clients, consents, revocations and replays are audited, except for agents without an owner
 * (`isAudited`).
 *
 * @throws {Problem} Every method: `store_unavailable` when the store is unavailable.
 */
export function createStoreAdapter(context: ClientAdapterContext): AdapterFactory {
  return (model) =>
    Object.assign(new StoreAdapter(model, context), modelOverrides[model]?.(context));
}
