import { type AdapterPayload, errors, Provider } from "oidc-provider";
import { hashClientSecret, isHashedSecret } from "../../access/secrets.ts";
import { networkKeysOf, partyAt } from "../../limits/address-key.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import { accounts } from "../../principals/accounts/accounts.ts";
import { deleteAccess, grants } from "../../principals/accounts/grants.ts";
import { deleteAgent, evictAssertedAgents } from "../../principals/accounts/owned-agents.ts";
import {
  type Agent,
  type ClientRecord,
  clientGroup,
  clients,
  isAudited,
} from "../../principals/agents/agent.ts";
import {
  groupsWithRegistrationToken,
  registrationTokenGroup,
} from "../../principals/agents/registration-access-token.ts";
import { unclaimedCapacityProblem } from "../../principals/agents/unclaimed-capacity.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Stored } from "../../store/port/records.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import {
  type AdapterContext,
  type ClientAdapterContext,
  copyJson,
  type ModelAdapter,
} from "./adapter-context.ts";
import { rejectAssertion } from "./agent-identity.ts";
import { clientWriteOptions } from "./client-lifetime.ts";
import { haveSameRedirects } from "./redirect-uris.ts";
import { type NewClient, requestStateOf } from "./request-state.ts";
import { withPersonalScopes } from "./resource-indicators.ts";

function withHashedClientSecret(metadata: AdapterPayload): AdapterPayload {
  const { client_secret } = metadata;
  if (client_secret === undefined || isHashedSecret(client_secret)) return metadata;
  return { ...metadata, client_secret: hashClientSecret(client_secret) };
}

/**
 * The metadata that oidc-provider sees. oidc-provider rejects scopes that a client did not
 * register, but clients request `openid` and `offline_access` without registering them, so this
 * function adds both scopes.
 */
function providerMetadata({ metadata }: ClientRecord): AdapterPayload {
  const { grant_types: types, scope } = metadata;
  const usesCode = Array.isArray(types) && types.includes("authorization_code");
  if (!usesCode || scope === undefined) return copyJson(metadata);
  return { ...copyJson(metadata), scope: withPersonalScopes(scope) };
}

/**
 * Checks that the registration access token is still valid at the time of the commit, since a
 * concurrent claim or update may have replaced it (RFC 7592 section 5).
 */
function checkRegistrationToken({ groups }: Stored<ClientRecord>): void {
  const { route, entities } = Provider.ctx?.oidc ?? {};
  if (route !== "client_update" && route !== "client_delete") return;
  if (!groups.includes(registrationTokenGroup(entities?.RegistrationAccessToken?.jti ?? ""))) {
    throw new errors.InvalidToken("the registration access token was replaced");
  }
}

/** Hashes of the networks that contain the caller's address. */
function networkHashes({ hashAddress }: ClientAdapterContext): Pick<Agent, "site" | "provider"> {
  const { ctx } = Provider;
  if (ctx === undefined) return {};
  const { network, provider } = networkKeysOf(ctx.ip);
  return { site: hashAddress(network), ...(provider && { provider: hashAddress(provider) }) };
}

/**
 * The new client as prepared by the registration request; an anonymous agent if the client is
 * stored outside such a request.
 */
function newClientFor(clientId: string, metadata: AdapterPayload): NewClient {
  const { registration } = requestStateOf(Provider.ctx);
  if (registration?.newClient !== undefined) return registration.newClient(clientId, metadata);
  const registeredAt = (metadata.client_id_issued_at ?? 0) * 1000;
  return { agent: { identityType: "anonymous", registeredAt }, alsoWrite: async () => true };
}

/**
 * Counts the registration of an agent with an owner, since each adds a row to the audit log.
 * @throws {Problem} `rate_limited`
 */
async function countRegistration({ owner }: Agent, { limits }: ClientAdapterContext) {
  if (owner === undefined) return;
  const party = partyAt(Provider.ctx?.ip, `account:${owner.accountId}`);
  await requireAdmission(limits, "registrations", party);
}

/**
 * Counts the update of an agent with an owner, since each adds a row to the audit log.
 * @throws {Problem} `rate_limited`
 */
async function countUpdate(
  { key, value: { agent } }: Stored<ClientRecord>,
  { limits }: ClientAdapterContext,
): Promise<void> {
  if (agent.owner === undefined) return;
  await requireAdmission(limits, "changes", partyAt(Provider.ctx?.ip, `owned ${key}`));
}

/** Stores a new client. A client without an owner uses up capacity (`UnclaimedCapacity`). */
async function create(
  key: string,
  metadata: AdapterPayload,
  context: ClientAdapterContext,
): Promise<void> {
  const { records, audit, capacity } = context;
  // An update must not restore a client that was deleted concurrently.
  if (Provider.ctx?.oidc.route === "client_update") throw clientGone();
  const { agent, alsoWrite } = newClientFor(key, metadata);
  const value = { metadata, agent: { ...agent, ...networkHashes(context) } };
  const placing = clientWriteOptions(agent);
  const { ttlMs } = placing;
  await countRegistration(agent, context);
  if (ttlMs !== undefined) await capacity.admit({ clientId: key, client: value, ttlMs });
  const isCreated = await transact(records, async (tx) => {
    if (!(await alsoWrite(tx))) return false;
    if (agent.owner !== undefined) await requireRoomForAgent(tx, agent.owner.accountId);
    tx.insert(clients, { key, value, ...placing });
    if (isAudited(agent)) {
      audit(tx, { action: "client.registered", actor: "anonymous", target: key });
    }
    return true;
  });
  if (!isCreated) rejectAssertion("replay_detected");
}

const clientGone = (): Error => new errors.InvalidToken("the client no longer exists");

/**
 * Makes room for an agent that is created by an assertion, within the limit on the number of such
 * agents per person.
 * @throws `TemporarilyUnavailable` if the account of the person has ended meanwhile.
 */
async function requireRoomForAgent(tx: Transaction, accountId: string): Promise<void> {
  if ((await tx.get(accounts, accountId)) === undefined) {
    const error = new errors.TemporarilyUnavailable("the account has just ended: try again");
    throw Object.assign(error, { status: 503, statusCode: 503 });
  }
  await evictAssertedAgents(tx, accountId);
}

/** Reserves capacity for the growth of the metadata of a client without an owner. */
async function admitGrowth(
  { key, value, expiresAt }: Stored<ClientRecord>,
  metadata: AdapterPayload,
  { capacity, now }: ClientAdapterContext,
): Promise<void> {
  if (value.agent.owner !== undefined || expiresAt === undefined) return;
  const ttlMs = expiresAt - now().getTime();
  await capacity.admit({ clientId: key, client: { ...value, metadata }, ttlMs });
}

/**
 * Creates the adapter of clients. A registered client expires after a day. Once a token has been
 * issued to it, it expires 30 days after its registration or after the last authorization by a
 * person. A client with an owner does not expire. An update changes neither the expiry nor the
 * identity. An update of the redirect URIs revokes the client's grants, since people approved the
 * previous URIs. Deleting a client deletes everything issued to it.
 */
export function createClientAdapter(context: ClientAdapterContext): ModelAdapter {
  const { records, audit } = context;

  /** Changes the metadata of a client, and revokes the grants that people gave to its old URIs. */
  const update = (id: string, metadata: AdapterPayload): Promise<void> =>
    transact(records, async (tx) => {
      const client = await tx.get(clients, id);
      if (client === undefined) throw clientGone();
      checkRegistrationToken(client);
      tx.update(clients, client, { value: { ...client.value, metadata } });
      if (isAudited(client.value.agent)) {
        audit(tx, { action: "client.updated", actor: id, target: id });
      }
      if (haveSameRedirects(client.value.metadata, metadata)) return;
      for (const grant of await readAll(tx, grants, clientGroup(id))) {
        await deleteAccess(tx, grant);
        audit(tx, { action: "grant.revoked", actor: id, target: grant.key });
      }
    });

  return {
    async upsert(id, metadata) {
      const value = withHashedClientSecret(copyJson(metadata));
      const client = await records.get(clients, id);
      if (client === undefined) return create(id, value, context);
      checkRegistrationToken(client);
      await countUpdate(client, context);
      await admitGrowth(client, value, context);
      await update(id, value);
    },
    async find(id) {
      const client = await records.get(clients, id);
      if (client === undefined) return undefined;
      requestStateOf(Provider.ctx).clients.set(id, client);
      return providerMetadata(client.value);
    },
    async destroy(id) {
      await transact(records, async (tx) => {
        const client = await tx.get(clients, id);
        if (client === undefined) return;
        checkRegistrationToken(client);
        // Also the deletion of an agent whose actions are not audited can end a person's grant.
        const granted = await tx.list(grants, { group: clientGroup(id), limit: 1 });
        await deleteAgent(tx, id);
        if (isAudited(client.value.agent) || granted.length > 0) {
          audit(tx, { action: "client.deleted", actor: id, target: id });
        }
      });
    },
  };
}

/**
 * Creates the adapter of registration access tokens (RFC 7592). A token is stored as a group of its
 * client's record, so it lives exactly as long as the client. A client has one token; a new token
 * replaces it.
 */
export function createRegistrationTokenAdapter({ records }: AdapterContext): ModelAdapter {
  const findClient = async (token: string): Promise<Stored<ClientRecord> | undefined> =>
    (await records.list(clients, { group: registrationTokenGroup(token), limit: 1 }))[0];

  /** Rejects all but the first of several concurrent updates with the same token. */
  const checkNotReplaced = (groups: readonly string[]): void => {
    const old = Provider.ctx?.oidc.entities.RotatedRegistrationAccessToken?.jti;
    if (old !== undefined && !groups.includes(registrationTokenGroup(old))) {
      throw new errors.InvalidToken("the registration access token was replaced");
    }
  };

  /** @returns Whether the client exists. */
  const updateGroups = (key: string, change: (groups: readonly string[]) => readonly string[]) =>
    transact(records, async (tx) => {
      const client = await tx.get(clients, key);
      if (client === undefined) return false;
      tx.update(clients, client, { value: client.value, groups: change(client.groups) });
      return true;
    });

  return {
    async upsert(token, { clientId = "" }) {
      const isKept = await updateGroups(clientId, (groups) => {
        checkNotReplaced(groups);
        return groupsWithRegistrationToken(token, groups);
      });
      if (isKept) return;
      // If the new client is unclaimed and already missing, it may have been evicted to make room
      // for other agents of its network.
      const { ctx } = Provider;
      throw ctx?.oidc.route === "registration" && requestStateOf(ctx).registration?.isOwned !== true
        ? unclaimedCapacityProblem()
        : clientGone();
    },
    async find(token) {
      const client = await findClient(token);
      if (client === undefined) return undefined;
      return { kind: "RegistrationAccessToken", clientId: client.key, jti: token };
    },
    async destroy(token) {
      // In an update, the new token replaces this token in a single commit.
      if (Provider.ctx?.oidc.entities.RotatedRegistrationAccessToken !== undefined) return;
      const client = await findClient(token);
      if (client === undefined) return;
      await updateGroups(client.key, (groups) =>
        groups.filter((group) => group !== registrationTokenGroup(token)),
      );
    },
  };
}
