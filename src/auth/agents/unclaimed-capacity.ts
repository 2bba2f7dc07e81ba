import { Problem } from "../../problem.ts";
import { audited } from "../../store/audit/entry.ts";
import {
  type Collection,
  collection,
  type Operation,
  type Records,
  type Stored,
} from "../../store/port/records.ts";
import { type GrantRecord, grants } from "../accounts/grants.ts";
import { agentRemoval, dependentAgentsRemoval, REMOVED_TOPIC } from "../accounts/own-agents.ts";
import { authorizationRequestGroup, type ClientRecord, clientGroup, clients } from "./agent.ts";
import { CLAIM_CODE_MS } from "./claim-code.ts";
import { claims } from "./claim-records.ts";
import { type Candidate, type Unclaimed, UnclaimedIndex } from "./unclaimed-index.ts";

/** Capacity for agents that nobody has claimed, in agents of ordinary size; those that a person let act
 *  for them have as much of their own. */
const CAPACITY = 10_000;

/** Metadata that count as one agent, in characters of JSON; most registrations have 500 to 1,500. */
const CHARACTERS_PER_UNIT = 2_048;

/** A network that takes no more than this part of the capacity keeps the agents that are in use. */
const SPARED_SHARE = 1 / 10;

/** Above the capacity as much again is let in where everything is in use. A network that has an agent
 *  already gets at most this part of what is left of it. */
const NETWORK_SHARE = 1 / 100;

/** Part of the capacity that is freed at once, so that not every registration evicts. */
const FREED_SHARE = 1 / 100;

/** Pause between two reads of what other processes have registered, in milliseconds. */
const REFRESH_MS = 1_000;

/** Agents that are checked and removed together. */
const EVICTION_BATCH = 50;

/** An agent that was found in use is not checked again for so long, in milliseconds. */
const RECHECK_MS = 3_600_000;

/** Records per read. */
const PAGE = 1_000;

/** Seconds after which a registration is worth another try: claim codes and tokens expire meanwhile. */
const RETRY_SECONDS = 60;

const issuedModels = ["ClientCredentials", "AccessToken", "RefreshToken", "AuthorizationCode"];

/** What an agent was issued, and its claim. */
const issued: readonly Collection<object>[] = [
  claims,
  ...issuedModels.map((model) => collection<object>(`oidc:${model}`)),
];

/** Authorization requests that wait for a person. */
const openRequests = collection<object>("oidc:Interaction");

/** What `UnclaimedCapacity` works with. */
interface UnclaimedCapacityOptions {
  readonly records: Records;
  readonly now: () => Date;
  /** Capacity in agents of ordinary size; for tests. */
  readonly capacity?: number | undefined;
}

/** An agent that nobody owns, as it is about to be stored. */
interface NewUnclaimed {
  readonly clientId: string;
  readonly client: ClientRecord;
  /** Life in milliseconds. */
  readonly lifeMs: number;
}

/** What the capacity cost agents in this process since its start. */
export interface CapacityTally {
  /** Agents that were removed to make room for others. */
  readonly evicted: number;
  /** Registrations that were refused. */
  readonly refused: number;
}

/**
 * Bounds the agents that nobody has claimed, so that registering costs the service no more than that
 * however much of it there is. The capacity is 10,000 agents of ordinary size. Above it, each
 * registration evicts an agent: the newest of the network (/24 of IPv4, /48 and /32 of IPv6) that has
 * most. An agent in use, with a live token, a claim code or an open authorization, stays while its
 * networks take no more than a tenth of the capacity each. Where everything is in use, as many again are
 * let in. Of what is left of that, a network gets at most a hundredth; a network that has no agent yet
 * always gets in, for which others go though they are in use.
 *
 * Agents that a person let act for them take nothing of this. They have as much capacity of their own,
 * above which the newest goes of the network or person that has most.
 *
 * Each process follows the registrations and grants of all. Together they exceed the capacity by what is
 * registered in a second at most, for that long.
 */
export class UnclaimedCapacity {
  readonly #records: Records;
  readonly #now: () => Date;
  readonly #capacity: number;
  /** Agents that act for nobody. */
  readonly #index = new UnclaimedIndex();
  /** Agents that a person let act for them. The person's account counts like a network. */
  readonly #granted = new UnclaimedIndex();
  /** Revisions of the newest registration and the newest grant that were read. */
  #clientRevision = 0;
  #grantRevision = 0;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  #freeing: Promise<void> | undefined;
  #displacing: Promise<void> | undefined;
  /** Until then evicting again is no use: everything was in use. */
  #fullUntil = 0;
  #evicted = 0;
  #refused = 0;

  constructor({ records, now, capacity = CAPACITY }: UnclaimedCapacityOptions) {
    this.#records = records;
    this.#now = now;
    this.#capacity = capacity;
    records.onAnnounce(REMOVED_TOPIC, (id) => this.#forget(id));
  }

  /**
   * Makes room for a new agent, or for what the metadata of one grow by, and counts it.
   *
   * @throws {Problem} `rate_limited` where everything is in use and its network has had its share.
   */
  async admit({ clientId, client, lifeMs }: NewUnclaimed): Promise<void> {
    await this.#follow();
    // These are counted, and evicted, when the change is read.
    if (this.#granted.find(clientId) !== undefined) return;
    const known = this.#index.find(clientId);
    const read = unclaimedOf(clientId, client, this.#time() + lifeMs);
    const agent = known === undefined ? read : { ...read, busyUntil: known.busyUntil };
    if (known !== undefined && agent.size <= known.size) return this.#index.add(agent);
    // It does not give way to itself.
    this.#index.remove(clientId);
    const isAdmitted = await this.#makeRoom(agent);
    if (isAdmitted) this.#index.add(agent);
    else {
      if (known !== undefined) this.#index.add(known);
      this.#refused += 1;
      throw noCapacity();
    }
  }

  /** What became of agents in this process since its start. */
  tally(): CapacityTally {
    return { evicted: this.#evicted, refused: this.#refused };
  }

  #time(): number {
    return this.#now().getTime();
  }

  #fits(size: number): boolean {
    return this.#index.size + size <= this.#capacity;
  }

  /** @returns Whether there is room for the agent. */
  async #makeRoom({ size, networks }: Unclaimed): Promise<boolean> {
    // Concurrent registrations may take at once what was freed.
    while (!this.#fits(size) && this.#time() >= this.#fullUntil) await this.#freeOnce(size);
    if (this.#fits(size)) return true;
    const taken = networks.map((network) => this.#index.sizeOf(network));
    if (taken.every((each) => each === 0)) await this.#displaceOnce(size);
    const left = 2 * this.#capacity - this.#index.size;
    return size <= left && taken.every((each) => each === 0 || each < left * NETWORK_SHARE);
  }

  #freeOnce(size: number): Promise<void> {
    this.#freeing ??= this.#free(size).finally(() => {
      this.#freeing = undefined;
    });
    return this.#freeing;
  }

  async #free(size: number): Promise<void> {
    const now = this.#time();
    this.#index.removeEnded(now);
    const goal = this.#capacity - this.#freedAtOnce() - size;
    const spared = this.#capacity * SPARED_SHARE;
    const candidates = this.#index.evictionOrder({ now, spared });
    await this.#evictFrom(this.#index, { candidates, goal });
    if (this.#index.size > goal) this.#fullUntil = now + REFRESH_MS;
  }

  /** Lets a network in that has no agent yet where twice the capacity is in use. At equal sizes of
   *  networks the oldest agent goes: the newest are those that came in this way. */
  async #displaceOnce(size: number): Promise<void> {
    while (this.#index.size + size > 2 * this.#capacity) {
      const before = this.#index.size;
      this.#displacing ??= this.#displace(size).finally(() => {
        this.#displacing = undefined;
      });
      await this.#displacing;
      if (this.#index.size >= before) return;
    }
  }

  async #displace(size: number): Promise<void> {
    const goal = 2 * this.#capacity - this.#freedAtOnce() - size;
    const candidates = this.#index.evictionOrder({ now: this.#time(), spared: 0, first: "oldest" });
    await this.#evictFrom(this.#index, { candidates, goal });
  }

  #freedAtOnce(): number {
    return Math.ceil(this.#capacity * FREED_SHARE);
  }

  /** Evicts candidates one after the other until the size of the index is no more than the goal. */
  async #evictFrom(
    index: UnclaimedIndex,
    { candidates, goal }: { readonly candidates: readonly Candidate[]; readonly goal: number },
  ): Promise<void> {
    let from = 0;
    while (index.size > goal && from < candidates.length) {
      const batch = firstOfSize(candidates.slice(from, from + EVICTION_BATCH), index.size - goal);
      this.#evicted += await this.#evict(batch);
      from += batch.length;
    }
  }

  /** Removes those that are not in use. @returns How many. */
  async #evict(candidates: readonly Candidate[]): Promise<number> {
    const checks = candidates.map(async ({ agent, isSpared }) => {
      const client = await this.#records.get(clients, agent.id);
      if (client === undefined || client.value.agent.owner !== undefined) {
        this.#forget(agent.id);
        return [];
      }
      const endsAt = isSpared ? await this.#inUseUntil(agent.id) : undefined;
      if (endsAt === undefined) return [client];
      this.#index.add({ ...agent, busyUntil: Math.min(endsAt, this.#time() + RECHECK_MS) });
      return [];
    });
    const idle = (await Promise.all(checks)).flat();
    const steps = await Promise.all(idle.map((client) => this.#removal(client)));
    // One that was changed meanwhile stays, and is checked again.
    if (idle.length === 0 || !(await this.#records.commit(steps.flat()))) return 0;
    for (const { key } of idle) this.#forget(key);
    return idle.length;
  }

  /** The steps that remove an agent. What people let it do ends with it, which the audit says. The
   *  store is asked for the grant, because the index learns of a new one up to a second later. */
  async #removal(client: Stored<ClientRecord>): Promise<readonly Operation[]> {
    const { key } = client;
    const granted = await this.#records.list(grants, { group: clientGroup(key), limit: 1 });
    if (granted.length === 0) return agentRemoval(client);
    const entry = { action: "client.deleted", actor: "system", target: key };
    return [
      ...(await dependentAgentsRemoval(this.#records, clientGroup(key))),
      ...agentRemoval(client),
      ...audited(entry, this.#time()),
    ];
  }

  #forget(id: string): void {
    this.#index.remove(id);
    this.#granted.remove(id);
  }

  /** @returns When something expires that keeps a client; `undefined` when nothing does. */
  async #inUseUntil(clientId: string): Promise<number | undefined> {
    const firstOf = (from: Collection<object>, group: string) =>
      this.#records.list(from, { group, limit: 1 });
    const found = await Promise.all([
      ...issued.map((from) => firstOf(from, clientGroup(clientId))),
      firstOf(openRequests, authorizationRequestGroup(clientId)),
    ]);
    const [first] = found.flat();
    return first && (first.expiresAt ?? Infinity);
  }

  /** Reads what was registered and granted since the last time, once a second at most. */
  async #follow(): Promise<void> {
    if (Math.abs(this.#time() - this.#readAt) < REFRESH_MS) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #read(): Promise<void> {
    // The clients of these grants are older than they, so that all are read afterwards.
    const given: GrantRecord[] = [];
    this.#grantRevision = await this.#eachSince(grants, this.#grantRevision, ({ value }) => {
      given.push(value);
    });
    this.#clientRevision = await this.#eachSince(clients, this.#clientRevision, (client) =>
      this.#note(client),
    );
    for (const grant of given) this.#noteGrant(grant);
    this.#readAt = this.#time();
    await this.#trimGranted();
  }

  /** @returns The revision of the newest record. */
  async #eachSince<T>(
    from: Collection<T>,
    after: number,
    note: (stored: Stored<T>) => void,
  ): Promise<number> {
    let revision = after;
    for (;;) {
      const page = await this.#records.list(from, { after: revision, limit: PAGE });
      for (const stored of page) note(stored);
      revision = page.at(-1)?.revision ?? revision;
      if (page.length < PAGE) return revision;
    }
  }

  #note({ key, value, expiresAt }: Stored<ClientRecord>): void {
    const known = this.#index.find(key);
    const granted = this.#granted.find(key);
    this.#forget(key);
    if (value.agent.owner !== undefined || expiresAt === undefined) return;
    const agent = unclaimedOf(key, value, expiresAt);
    if (granted !== undefined) this.#granted.add({ ...agent, networks: granted.networks });
    else this.#index.add(known === undefined ? agent : { ...agent, busyUntil: known.busyUntil });
  }

  #noteGrant({ clientId = "", accountId }: GrantRecord): void {
    const agent = this.#index.find(clientId);
    if (agent === undefined) return;
    this.#index.remove(clientId);
    this.#granted.add({ ...agent, networks: [...agent.networks, `account ${accountId}`] });
  }

  async #trimGranted(): Promise<void> {
    const goal = this.#capacity;
    if (this.#granted.size <= goal) return;
    const now = this.#time();
    this.#granted.removeEnded(now);
    const candidates = this.#granted.evictionOrder({ now, spared: 0 });
    await this.#evictFrom(this.#granted, { candidates, goal });
  }
}

/** The first candidates that have a size together, or all. */
function firstOfSize(candidates: readonly Candidate[], size: number): readonly Candidate[] {
  let sum = 0;
  for (const [at, { agent }] of candidates.entries()) {
    sum += agent.size;
    if (sum >= size) return candidates.slice(0, at + 1);
  }
  return candidates;
}

/** The refusal of a registration for want of capacity. */
export function noCapacity(): Problem {
  return new Problem("rate_limited", {
    detail: "So many agents that nobody has claimed are in use that no more come in from here.",
    next: `Register again in ${RETRY_SECONDS} seconds.`,
    headers: { "Retry-After": String(RETRY_SECONDS) },
  });
}

/** Agents registered before sites were recorded are a network of their own each. Hashes of sites and of
 *  providers are of different texts, so that they never collide. */
function unclaimedOf(id: string, client: ClientRecord, endsAt: number): Unclaimed {
  const { registeredAt, site = id, provider } = client.agent;
  const networks = provider === undefined ? [site] : [site, provider];
  const size = Math.ceil(JSON.stringify(client.metadata).length / CHARACTERS_PER_UNIT);
  return { id, networks, size, registeredAt, busyUntil: registeredAt + CLAIM_CODE_MS, endsAt };
}
