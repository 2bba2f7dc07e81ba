import { type AdapterPayload, errors, Provider } from "oidc-provider";
import { networksOf } from "../../limits/address-key.ts";
import { incrementVersion, readVersion } from "../../store/optimistic-lock.ts";
import { insert, replace, update } from "../../store/port/operations.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Operation, Records, Stored } from "../../store/port/records.ts";
import { accessRevocation, type GrantRecord, grants } from "../accounts/grants.ts";
import {
  agentRemoval,
  assertedAgentEviction,
  dependentAgentsRemoval,
} from "../accounts/owned-agents.ts";
import {
  type Agent,
  accountRecordsGroup,
  type ClientRecord,
  clientGroup,
  clients,
  isAudited,
} from "../agents/agent.ts";
import {
  registrationTokenGroup,
  withRegistrationToken,
} from "../agents/registration-access-token.ts";
import { capacityExceeded } from "../agents/unclaimed-capacity.ts";
import { hashClientSecret, isHashed } from "../secrets.ts";
import {
  type AdapterContext,
  type ClientAdapterContext,
  copyJson,
  type ModelAdapter,
} from "./adapter-context.ts";
import { refuseAssertion } from "./agent-identity.ts";
import { clientWriteOptions } from "./client-lifetime.ts";
import { haveSameRedirects } from "./redirect-uris.ts";
import { type NewClient, stateOf } from "./request-state.ts";
import { withPersonalScopes } from "./resource-indicators.ts";

function storable(metadata: AdapterPayload): AdapterPayload {
  const { client_secret } = metadata;
  if (client_secret === undefined || isHashed(client_secret)) return metadata;
  return { ...metadata, client_secret: hashClientSecret(client_secret) };
}

/** oidc-provider refuses scopes that a client did not register. Clients that people consent to
 *  ask for `openid` and `offline_access` of their own accord, so these are added. */
function handedOut({ metadata }: ClientRecord): AdapterPayload {
  const { grant_types: types, scope } = metadata;
  const usesCode = Array.isArray(types) && types.includes("authorization_code");
  if (!usesCode || scope === undefined) return copyJson(metadata);
  return { ...copyJson(metadata), scope: withPersonalScopes(scope) };
}

/** A registration access token must still be valid when the change is committed: a claim or
 *  another update ends it (RFC 7592 section 5). */
function checkManager({ groups }: Stored<ClientRecord>): void {
  const { route, entities } = Provider.ctx?.oidc ?? {};
  if (route !== "client_update" && route !== "client_delete") return;
  if (!groups.includes(registrationTokenGroup(entities?.RegistrationAccessToken?.jti ?? ""))) {
    throw new errors.InvalidToken("used before");
  }
}

interface Update extends Pick<AdapterContext, "records" | "audit"> {
  readonly metadata: AdapterPayload;
  /** What people allowed the client, as far as it ends with the update. */
  readonly ended: readonly Stored<GrantRecord>[];
}

async function updated(
  client: Stored<ClientRecord>,
  { metadata, ended, records, audit }: Update,
): Promise<readonly Operation[]> {
  const { key } = client;
  const ends = ended.map(async (grant) => [
    ...(await accessRevocation(records, grant)),
    ...audit({ action: "grant.revoked", actor: key, target: grant.key }),
  ]);
  return [
    replace(clients, client, { value: { ...client.value, metadata } }),
    ...(isAudited(client.value.agent)
      ? audit({ action: "client.updated", actor: key, target: key })
      : []),
    ...(await Promise.all(ends)).flat(),
  ];
}

/** The networks that the current request comes from. */
function originOf({ hashAddress }: ClientAdapterContext): Pick<Agent, "site" | "provider"> {
  const { ctx } = Provider;
  if (ctx === undefined) return {};
  const { site, provider } = networksOf(ctx.ip);
  return { site: hashAddress(site), ...(provider && { provider: hashAddress(provider) }) };
}

/** The agent of a client that is stored for the first time. */
function newClientOf(clientId: string, metadata: AdapterPayload): NewClient {
  const { registration } = stateOf(Provider.ctx);
  if (registration?.newClient !== undefined) return registration.newClient(clientId, metadata);
  const registeredAt = (metadata.client_id_issued_at ?? 0) * 1000;
  return { agent: { identityType: "anonymous", registeredAt }, steps: [] };
}

/** Where a registration becomes a client. A client that nobody owns takes capacity. */
async function create(
  key: string,
  metadata: AdapterPayload,
  context: ClientAdapterContext,
): Promise<void> {
  const { records, audit, capacity } = context;
  // An update that comes after the removal must not bring the client back.
  if (Provider.ctx?.oidc.route === "client_update") throw new errors.InvalidToken("client gone");
  const { agent, steps } = newClientOf(key, metadata);
  const value = { metadata, agent: { ...agent, ...originOf(context) } };
  const placing = clientWriteOptions(agent);
  const { ttlMs } = placing;
  if (ttlMs !== undefined) await capacity.admit({ clientId: key, client: value, ttlMs });
  const created = [
    insert(clients, { key, value, ...placing }),
    ...(isAudited(agent)
      ? audit({ action: "client.registered", actor: "anonymous", target: key })
      : []),
    ...steps,
  ];
  // A client with an owner from the start was registered with an assertion. Client ids are random, so
  // the only conflict left is the assertion, which was used meanwhile.
  const isCreated =
    agent.owner === undefined
      ? await records.commit(created)
      : await commitAsserted(records, agent.owner.accountId, created);
  if (!isCreated) refuseAssertion("replay_detected");
}

/** Commits what creates an agent that came by an assertion, within the cap on those of its person.
 *  @returns Whether every step held. */
async function commitAsserted(
  records: Records,
  accountId: string,
  created: readonly Operation[],
): Promise<boolean> {
  const lock = { key: `asserted-agents ${accountId}`, groups: [accountRecordsGroup(accountId)] };
  for (;;) {
    const version = await readVersion(records, lock);
    const room = await assertedAgentEviction(records, accountId);
    if (await records.commit([incrementVersion(lock, version), ...room, ...created])) return true;
    // Where another agent was created meanwhile, the next attempt counts again.
    if ((await readVersion(records, lock))?.revision === version?.revision) return false;
  }
}

/** An update of a client that nobody owns takes capacity for what its metadata grow by. */
async function admitGrowth(
  { key, value, expiresAt }: Stored<ClientRecord>,
  metadata: AdapterPayload,
  { capacity, now }: ClientAdapterContext,
): Promise<void> {
  if (value.agent.owner !== undefined || expiresAt === undefined) return;
  const ttlMs = expiresAt - now().getTime();
  await capacity.admit({ clientId: key, client: { ...value, metadata }, ttlMs });
}

/** Stores clients. A registered client lives for a day; for 30 days once it was issued a token,
 *  counted anew each time that a person authorizes it; and without end once it has an owner. An
 *  update changes neither its life nor its identity. An update of the redirect URIs revokes the
 *  grants of the client, since people were shown others. Everything that was issued to a client
 *  is removed with it. */
export function clientAdapter(context: ClientAdapterContext): ModelAdapter {
  const { records, audit } = context;
  const endedBy = (metadata: AdapterPayload, { key, value }: Stored<ClientRecord>) =>
    haveSameRedirects(value.metadata, metadata) ? [] : readAll(records, grants, clientGroup(key));

  /** Whether the removal of a client is audited: it takes the grants of people along. */
  const concerns = async ({ key, value }: Stored<ClientRecord>) =>
    isAudited(value.agent) ||
    (await records.list(grants, { group: clientGroup(key), limit: 1 })).length > 0;

  return {
    async upsert(id, metadata) {
      const value = storable(copyJson(metadata));
      for (;;) {
        const client = await records.get(clients, id);
        if (client === undefined) return create(id, value, context);
        checkManager(client);
        await admitGrowth(client, value, context);
        const ended = await endedBy(value, client);
        const steps = await updated(client, { metadata: value, ended, records, audit });
        if (await records.commit(steps)) return;
      }
    },
    async find(id) {
      const client = await records.get(clients, id);
      if (client === undefined) return undefined;
      stateOf(Provider.ctx).clients.set(id, client);
      return handedOut(client.value);
    },
    async destroy(id) {
      await update(records, { collection: clients, key: id }, async (client) => {
        if (client === undefined) return undefined;
        checkManager(client);
        const deleted = audit({ action: "client.deleted", actor: id, target: id });
        return [
          ...(await dependentAgentsRemoval(records, clientGroup(id))),
          ...agentRemoval(client),
          ...((await concerns(client)) ? deleted : []),
        ];
      });
    },
  };
}

/** Stores registration access tokens (RFC 7592) as groups of their clients, so that each lives
 *  exactly as long as its client. A client has one; a new one replaces it. */
export function registrationTokenAdapter({ records }: AdapterContext): ModelAdapter {
  const holderOf = async (token: string): Promise<Stored<ClientRecord> | undefined> =>
    (await records.list(clients, { group: registrationTokenGroup(token), limit: 1 }))[0];

  /** Of several updates with one token, only the first gets another for it. */
  const checkStillHeld = (groups: readonly string[]): void => {
    const old = Provider.ctx?.oidc.entities.RotatedRegistrationAccessToken?.jti;
    if (old !== undefined && !groups.includes(registrationTokenGroup(old))) {
      throw new errors.InvalidToken("used before");
    }
  };

  const regroup = (key: string, change: (groups: readonly string[]) => readonly string[]) =>
    update(records, { collection: clients, key }, (client) =>
      client === undefined
        ? undefined
        : [replace(clients, client, { value: client.value, groups: change(client.groups) })],
    );

  return {
    async upsert(token, { clientId = "" }) {
      const isKept = await regroup(clientId, (groups) => {
        checkStillHeld(groups);
        return withRegistrationToken(token, groups);
      });
      if (isKept) return;
      // An unclaimed client may be evicted at once by others of its network.
      const { ctx } = Provider;
      throw ctx?.oidc.route === "registration" && stateOf(ctx).registration?.isOwned !== true
        ? capacityExceeded()
        : new errors.InvalidToken("client gone");
    },
    async find(token) {
      const client = await holderOf(token);
      if (client === undefined) return undefined;
      return { kind: "RegistrationAccessToken", clientId: client.key, jti: token };
    },
    async destroy(token) {
      // In an update the new token takes the place of this one, in one step.
      if (Provider.ctx?.oidc.entities.RotatedRegistrationAccessToken !== undefined) return;
      const client = await holderOf(token);
      if (client === undefined) return;
      await regroup(client.key, (groups) =>
        groups.filter((group) => group !== registrationTokenGroup(token)),
      );
    },
  };
}
