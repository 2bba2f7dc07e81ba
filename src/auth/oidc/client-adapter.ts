import { type Adapter, type AdapterPayload, errors, Provider } from "oidc-provider";
import { insert, removeAt, removeGroup, replace, update } from "../../store/operations.ts";
import { collection, type Operation, type Records, type Stored } from "../../store/records.ts";
import type { Auditor } from "../auditor.ts";
import { fingerprint, hashClientSecret, isHashed } from "../secrets.ts";

/** What the adapters of all models share. */
export interface AdapterContext {
  readonly records: Records;
  readonly audit: Auditor;
  /** The clock by which a life is reckoned that began at another time. */
  readonly now: () => Date;
}

/** What a model does in a way of its own. */
export type ModelAdapter = Pick<Adapter, "upsert" | "find" | "destroy">;

const HOUR_MS = 3_600_000;

/** Life of a client that was never given a token, in milliseconds (architecture section 7). */
const UNUSED_MS = 24 * HOUR_MS;

/** Life of a client that no person has claimed, in milliseconds (architecture section 7). */
const UNCLAIMED_MS = 30 * 24 * HOUR_MS;

/** Group of the clients that were never given a token. */
const UNUSED = "clients:unused";

/** What the group starts with that finds a client by its registration access token. */
const REGISTRATION = "registration:";

/** Client metadata by client id; the secret is hashed. */
export const clients = collection<AdapterPayload>("oidc:Client");

/** Group of everything that was issued to a client, in all collections. */
export const issuedTo = (clientId: string): string => `client:${clientId}`;

/** The step that lets a client live on when it is given its first token; none later on. */
export function longerLife(
  client: Stored<AdapterPayload> | undefined,
  now: Date,
): readonly Operation[] {
  if (client?.expiresAt === undefined || !client.groups.includes(UNUSED)) return [];
  const { value, groups, expiresAt } = client;
  return [
    replace(clients, client, {
      value,
      groups: groups.filter((group) => group !== UNUSED),
      ttlMs: expiresAt + UNCLAIMED_MS - UNUSED_MS - now.getTime(),
    }),
  ];
}

function storable(metadata: AdapterPayload): AdapterPayload {
  const { client_secret } = metadata;
  if (client_secret === undefined || isHashed(client_secret)) return metadata;
  return { ...metadata, client_secret: hashClientSecret(client_secret) };
}

/**
 * Keeps clients. One that is registered lives for a day, or for thirty once it was given a token;
 * an update leaves its life as it is. What was issued to a client goes together with it; a token
 * that was being issued at that moment is good for nothing and ends with its own life.
 */
export function clientAdapter({ records, audit }: AdapterContext): ModelAdapter {
  const created = (id: string, value: AdapterPayload): readonly Operation[] => {
    // An update that comes after the removal must not bring the client back.
    if (Provider.ctx?.oidc.route === "client_update") throw new errors.InvalidToken("client gone");
    return [
      insert(clients, { key: id, value, groups: [UNUSED], ttlMs: UNUSED_MS }),
      ...audit({ action: "client.registered", actor: "anonymous", target: id }),
    ];
  };

  return {
    async upsert(id, metadata) {
      const value = storable(metadata);
      await update(records, { collection: clients, key: id }, (client) =>
        client === undefined
          ? created(id, value)
          : [
              replace(clients, client, { value }),
              ...audit({ action: "client.updated", actor: id, target: id }),
            ],
      );
    },
    async find(id) {
      return structuredClone((await records.get(clients, id))?.value);
    },
    async destroy(id) {
      await update(records, { collection: clients, key: id }, (client) =>
        client === undefined
          ? undefined
          : [
              removeAt(clients, client),
              removeGroup(issuedTo(id)),
              ...audit({ action: "client.deleted", actor: id, target: id }),
            ],
      );
    },
  };
}

/**
 * Keeps registration access tokens (RFC 7592) as names of their clients, so that each lives
 * exactly as long as its client. A client has one; a new one takes the place of the old one.
 */
export function registrationTokenAdapter({ records }: AdapterContext): ModelAdapter {
  const groupOf = (token: string): string => REGISTRATION + fingerprint(token);
  const holderOf = async (token: string): Promise<Stored<AdapterPayload> | undefined> =>
    (await records.list(clients, { group: groupOf(token), limit: 1 }))[0];

  /** Of several updates with one token, only the first gets another for it. */
  const checkStillHeld = (groups: readonly string[]): void => {
    const old = Provider.ctx?.oidc.entities.RotatedRegistrationAccessToken?.jti;
    if (old !== undefined && !groups.includes(groupOf(old))) {
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
        return [...groups.filter((group) => !group.startsWith(REGISTRATION)), groupOf(token)];
      });
      if (!isKept) throw new errors.InvalidToken("client gone");
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
      await regroup(client.key, (groups) => groups.filter((group) => group !== groupOf(token)));
    },
  };
}
