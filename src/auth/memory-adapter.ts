import { type Adapter, type AdapterFactory, type AdapterPayload, errors } from "oidc-provider";

interface Entry {
  /** The payload as JSON text, so that no caller ever holds the stored object. */
  readonly text: string;
  /** Milliseconds since the epoch; Infinity for what does not expire. */
  readonly expiresAt: number;
  /** Names under which the entry can be found or dropped together with others. */
  readonly groups: readonly string[];
  /** Seconds since the epoch of the one use that was allowed. */
  readonly consumed?: number;
}

interface Shelf {
  get(key: string): Entry | undefined;
  put(key: string, entry: Entry): void;
  drop(key: string): void;
  dropGroup(group: string): void;
  /** The first live entry of a group. */
  first(group: string): Entry | undefined;
}

function groupsOf({ clientId, grantId, uid, userCode }: AdapterPayload): readonly string[] {
  return Object.entries({ clientId, grantId, uid, userCode })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}:${value}`);
}

function createShelf(now: () => Date): Shelf {
  const entries = new Map<string, Entry>();
  const groups = new Map<string, Set<string>>();
  let writesSinceSweep = 0;
  let keptBySweep = 0;

  const drop = (key: string): void => {
    for (const group of entries.get(key)?.groups ?? []) {
      const members = groups.get(group);
      members?.delete(key);
      if (members?.size === 0) groups.delete(group);
    }
    entries.delete(key);
  };

  const get = (key: string): Entry | undefined => {
    const entry = entries.get(key);
    return entry !== undefined && entry.expiresAt > now().getTime() ? entry : undefined;
  };

  const members = (group: string): readonly string[] => [...(groups.get(group) ?? [])];

  /** Sweeps once per as many writes as the last sweep kept entries: constant cost per write, and
   *  never more than twice that many are held. */
  const sweep = (): void => {
    writesSinceSweep += 1;
    if (writesSinceSweep <= keptBySweep) return;

    for (const key of [...entries.keys()]) if (get(key) === undefined) drop(key);
    writesSinceSweep = 0;
    keptBySweep = entries.size;
  };

  return {
    get,
    drop,
    put(key, entry) {
      drop(key);
      entries.set(key, entry);
      for (const group of entry.groups) {
        groups.set(group, (groups.get(group) ?? new Set()).add(key));
      }
      sweep();
    },
    dropGroup(group) {
      for (const key of members(group)) drop(key);
    },
    first(group) {
      return members(group)
        .map(get)
        .find((entry) => entry !== undefined);
    },
  };
}

function payloadOf(entry: Entry | undefined): AdapterPayload | undefined {
  if (entry === undefined) return undefined;

  const payload: AdapterPayload = JSON.parse(entry.text);
  return entry.consumed === undefined ? payload : { ...payload, consumed: entry.consumed };
}

function createAdapter(shelf: Shelf, model: string, now: () => Date): Adapter {
  const keyOf = (id: string): string => `${model}:${id}`;

  return {
    async upsert(id, payload, expiresIn) {
      const previous = shelf.get(keyOf(id));
      if (previous !== undefined && model === "ReplayDetection") throw new errors.InvalidGrant();

      shelf.put(keyOf(id), {
        text: JSON.stringify(payload),
        expiresAt: expiresIn === undefined ? Infinity : now().getTime() + expiresIn * 1000,
        groups: groupsOf(payload),
        ...(previous?.consumed === undefined ? {} : { consumed: previous.consumed }),
      });
    },
    async find(id) {
      return payloadOf(shelf.get(keyOf(id)));
    },
    async findByUid(uid) {
      return payloadOf(shelf.first(`uid:${uid}`));
    },
    async findByUserCode(userCode) {
      return payloadOf(shelf.first(`userCode:${userCode}`));
    },
    async consume(id) {
      const entry = shelf.get(keyOf(id));
      if (entry === undefined || entry.consumed !== undefined) throw new errors.InvalidGrant();

      shelf.put(keyOf(id), { ...entry, consumed: Math.floor(now().getTime() / 1000) });
    },
    async destroy(id) {
      shelf.drop(keyOf(id));
      if (model === "Client") shelf.dropGroup(`clientId:${id}`);
    },
    async revokeByGrantId(grantId) {
      shelf.dropGroup(`grantId:${grantId}`);
    },
  };
}

/**
 * The state of the authorization server, held in memory. All models share one shelf, so that
 * destroying a client takes everything issued to it along. Single use holds under concurrency:
 * `consume` and an upsert of `ReplayDetection` throw `invalid_grant` the second time.
 *
 * @param now The clock that decides what has expired.
 */
export function createMemoryAdapter(now: () => Date): AdapterFactory {
  const shelf = createShelf(now);
  return (model) => createAdapter(shelf, model, now);
}
