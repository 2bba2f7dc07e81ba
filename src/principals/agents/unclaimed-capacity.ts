import { Problem } from "../../lib/problem.ts";
import { reserved } from "../../limits/admission.ts";
import { storageClasses } from "../../limits/classes.ts";
import { writeAuditEntry } from "../../store/audit-entry.ts";
import { readRecordPages } from "../../store/port/read-all.ts";
import {
  type Collection,
  collection,
  type Records,
  type Stored,
} from "../../store/port/records.ts";
import { type Transaction, transactOnce } from "../../store/transact.ts";
import { type GrantRecord, grants } from "../accounts/grants.ts";
import { CLIENT_REMOVED_TOPIC, deleteAgent } from "../accounts/owned-agents.ts";
import { authorizationRequestGroup, type ClientRecord, clientGroup, clients } from "./agent.ts";
import { CLAIM_CODE_LIFETIME_MS } from "./claim-code.ts";
import { agentClaims } from "./claim-records.ts";
import { type EvictionCandidate, type UnclaimedAgent, UnclaimedIndex } from "./unclaimed-index.ts";

const MOST = storageClasses.agents;

/**
 * Capacity for unclaimed agents, in agents of ordinary size. Agents that people have authorized
 * have a separate capacity of the same size.
 */
const CAPACITY = MOST.total - reserved(MOST.total);

/** What is reserved for networks without agents, as a share of the capacity. */
const RESERVE_SHARE = reserved(MOST.total) / CAPACITY;

/**
 * Metadata size that counts as one agent, in characters of JSON. Most registrations have 500 to
 * 1,500 characters.
 */
const CHARACTERS_PER_UNIT = 2_048;

/** Agents in use are not evicted while their network uses at most this share of the capacity. */
const PROTECTED_SHARE = MOST.network / CAPACITY;

/** Share of the capacity that one eviction frees, so that most registrations need no eviction. */
const FREED_SHARE = 1 / 100;

/**
 * Minimum interval between reads of the registrations that other processes have stored, in
 * milliseconds.
 */
const REFRESH_MS = 1_000;

/** Number of agents checked and deleted in one transaction. */
const EVICTION_BATCH = 50;

/** Time during which an agent that was found in use is not checked again, in milliseconds. */
const RECHECK_MS = 3_600_000;

/**
 * Retry-After of a rejected registration, in seconds. By then, some claim codes and tokens have
 * expired, so that their agents can be evicted.
 */
const RETRY_SECONDS = 60;

/** Models of the oidc-provider records that are issued to a client. */
const issuedModels = ["ClientCredentials", "AccessToken", "RefreshToken", "AuthorizationCode"];

/**
 * Collections whose records show that an agent is in use: its claim, and the tokens and codes
 * issued to it.
 */
const issued: readonly Collection<object>[] = [
  agentClaims,
  ...issuedModels.map((model) => collection<object>(`oidc:${model}`)),
];

/** Authorization requests that are waiting for a person. */
const openRequests = collection<object>("oidc:Interaction");

/** Dependencies of `UnclaimedCapacity`. */
interface UnclaimedCapacityOptions {
  readonly records: Records;
  readonly now: () => Date;
  /** Capacity in agents of ordinary size (`CHARACTERS_PER_UNIT`). Default: `CAPACITY`. */
  readonly capacity?: number | undefined;
}

/** An unclaimed agent that is about to be stored. */
interface NewUnclaimed {
  readonly clientId: string;
  readonly client: ClientRecord;
  /** Lifetime of the registration, in milliseconds. */
  readonly ttlMs: number;
}

/** Numbers of evictions and rejections by the capacity limit since the start of this process. */
export interface CapacityCounts {
  /** Number of agents that were evicted. */
  readonly evicted: number;
  /** Number of registrations that were rejected. */
  readonly refused: number;
}

/**
 * Bounds the number of unclaimed agents, so that a flood of registrations has a bounded cost. Above
 * the capacity, each registration evicts the newest agent of the network (`networkOf`) that has the
 * most agents. An agent in use, that is, with a valid token, a claim code or a pending
 * authorization, is not evicted while its network has no more than the class `agents` allows it.
 * When all agents are in use, only networks without an agent are admitted: first to a reserve, then
 * by evicting an agent in use.
 *
 * Agents that a person has authorized do not count. They have a second capacity of the same size,
 * above which the newest agent of the network or person with the most agents is evicted.
 *
 * Each process reads the registrations and grants of all processes once a second, so the total
 * exceeds the capacity by at most one second of registrations.
 */
export class UnclaimedCapacity {
  readonly #records: Records;
  readonly #now: () => Date;
  readonly #capacity: number;
  /** Agents that no person has authorized. */
  readonly #index = new UnclaimedIndex();
  /** Agents that a person has authorized. The person's account counts as a network. */
  readonly #authorized = new UnclaimedIndex();
  /** Revisions of the newest registration and the newest grant that this process has read. */
  #clientRevision = 0;
  #grantRevision = 0;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  #freeing: Promise<void> | undefined;
  #displacing: Promise<void> | undefined;
  /**
   * When to try an eviction again after all agents were found in use, in milliseconds since the
   * epoch.
   */
  #retryEvictionAt = 0;
  #evicted = 0;
  #refused = 0;

  constructor({ records, now, capacity = CAPACITY }: UnclaimedCapacityOptions) {
    this.#records = records;
    this.#now = now;
    this.#capacity = capacity;
    records.onAnnounce(CLIENT_REMOVED_TOPIC, (id) => this.#forget(id));
  }

  /**
   * Makes room for a new agent, or for the growth of an agent's metadata, and counts the agent.
   *
   * @throws {Problem} `rate_limited` when all agents are in use and the agent's network has used up
   * its share.
   */
  async admit({ clientId, client, ttlMs }: NewUnclaimed): Promise<void> {
    await this.#refresh();
    // The growth of an authorized agent is counted at the next read of the registrations, which
    // also evicts other agents to make room.
    if (this.#authorized.find(clientId) !== undefined) return;
    const known = this.#index.find(clientId);
    const read = unclaimedOf(clientId, client, this.#time() + ttlMs);
    const agent = known === undefined ? read : { ...read, inUseUntil: known.inUseUntil };
    if (known !== undefined && agent.size <= known.size) return this.#index.add(agent);
    // The agent is removed first, so that it is not evicted to make room for itself.
    this.#index.remove(clientId);
    const isAdmitted = await this.#makeRoom(agent);
    if (isAdmitted) this.#index.add(agent);
    else {
      if (known !== undefined) this.#index.add(known);
      this.#refused += 1;
      throw unclaimedCapacityProblem();
    }
  }

  /** Returns the numbers of evictions and rejections since the start of this process. */
  counts(): CapacityCounts {
    return { evicted: this.#evicted, refused: this.#refused };
  }

  #time(): number {
    return this.#now().getTime();
  }

  /** The capacity with the reserve. */
  #most(): number {
    return Math.floor(this.#capacity * (1 + RESERVE_SHARE));
  }

  #fits(size: number): boolean {
    return this.#index.size + size <= this.#capacity;
  }

  /** Evicts agents if necessary. @returns Whether the agent fits. */
  async #makeRoom({ size, networks }: UnclaimedAgent): Promise<boolean> {
    // Concurrent registrations may have taken the freed capacity.
    while (!this.#fits(size) && this.#time() >= this.#retryEvictionAt) await this.#freeOnce(size);
    if (this.#fits(size)) return true;
    const taken = networks.map((network) => this.#index.sizeOf(network));
    if (taken.some((each) => each > 0)) return false;
    await this.#displaceOnce(size);
    return this.#index.size + size <= this.#most();
  }

  #freeOnce(size: number): Promise<void> {
    this.#freeing ??= this.#free(size).finally(() => {
      this.#freeing = undefined;
    });
    return this.#freeing;
  }

  async #free(size: number): Promise<void> {
    const now = this.#time();
    this.#index.removeExpired(now);
    const goal = this.#capacity - this.#freedAtOnce() - size;
    const protectedSize = this.#capacity * PROTECTED_SHARE;
    const candidates = this.#index.evictionOrder({ now, protectedSize });
    await this.#evictFrom(this.#index, { candidates, goal });
    if (this.#index.size > goal) this.#retryEvictionAt = now + REFRESH_MS;
  }

  /**
   * Makes room for a network without agents when the reserve is in use too. Among networks of
   * equal size, the oldest agent is evicted, because the newest agents were themselves admitted
   * this way.
   */
  async #displaceOnce(size: number): Promise<void> {
    while (this.#index.size + size > this.#most()) {
      const before = this.#index.size;
      this.#displacing ??= this.#displace(size).finally(() => {
        this.#displacing = undefined;
      });
      await this.#displacing;
      if (this.#index.size >= before) return;
    }
  }

  async #displace(size: number): Promise<void> {
    const goal = this.#most() - this.#freedAtOnce() - size;
    const candidates = this.#index.evictionOrder({
      now: this.#time(),
      protectedSize: 0,
      first: "oldest",
    });
    await this.#evictFrom(this.#index, { candidates, goal });
  }

  #freedAtOnce(): number {
    return Math.ceil(this.#capacity * FREED_SHARE);
  }

  /** Evicts candidates in order until the size of the index is at most `goal`. */
  async #evictFrom(
    index: UnclaimedIndex,
    {
      candidates,
      goal,
    }: { readonly candidates: readonly EvictionCandidate[]; readonly goal: number },
  ): Promise<void> {
    let from = 0;
    while (index.size > goal && from < candidates.length) {
      const batch = prefixOfSize(candidates.slice(from, from + EVICTION_BATCH), index.size - goal);
      this.#evicted += await this.#evict(batch);
      from += batch.length;
    }
  }

  /**
   * Deletes the candidates that are not in use.
   * @returns The number of deleted agents.
   */
  async #evict(candidates: readonly EvictionCandidate[]): Promise<number> {
    const idle: string[] = [];
    // If an agent was changed or used concurrently, no agent is deleted, and all are checked again.
    const areDeleted = await transactOnce(this.#records, async (tx) => {
      const found = await Promise.all(candidates.map((each) => this.#isIdle(tx, each)));
      idle.push(...candidates.flatMap(({ agent }, at) => (found[at] ? [agent.id] : [])));
      for (const id of idle) await this.#delete(tx, id);
    });
    if (!areDeleted) return 0;
    for (const id of idle) this.#forget(id);
    return idle.length;
  }

  /** Whether a candidate exists, has no owner, and is not in use. Notes what is found instead. */
  async #isIdle(tx: Transaction, { agent, isProtected }: EvictionCandidate): Promise<boolean> {
    const client = await tx.get(clients, agent.id);
    if (client === undefined || client.value.agent.owner !== undefined) {
      this.#forget(agent.id);
      return false;
    }
    const endsAt = isProtected ? await usedUntil(tx, agent.id) : undefined;
    if (endsAt === undefined) return true;
    this.#index.add({ ...agent, inUseUntil: Math.min(endsAt, this.#time() + RECHECK_MS) });
    return false;
  }

  /**
   * Deletes an agent. If a person has authorized the agent, the deletion is audited. The grant is
   * read from the store, because the index may be a second old.
   */
  async #delete(tx: Transaction, clientId: string): Promise<void> {
    const granted = await tx.list(grants, { group: clientGroup(clientId), limit: 1 });
    await deleteAgent(tx, clientId);
    if (granted.length === 0) return;
    const entry = { action: "client.deleted", actor: "system", target: clientId };
    writeAuditEntry(tx, entry, this.#time());
  }

  #forget(id: string): void {
    this.#index.remove(id);
    this.#authorized.remove(id);
  }

  /** Reads new registrations and grants, at most once a second. */
  async #refresh(): Promise<void> {
    if (Math.abs(this.#time() - this.#readAt) < REFRESH_MS) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #read(): Promise<void> {
    // Grants are read first, and clients below: a client is always older than its grants, so the
    // client of every grant is found.
    const given: GrantRecord[] = [];
    this.#grantRevision = await this.#eachSince(grants, this.#grantRevision, ({ value }) => {
      given.push(value);
    });
    this.#clientRevision = await this.#eachSince(clients, this.#clientRevision, (client) =>
      this.#indexClient(client),
    );
    for (const grant of given) this.#indexGrant(grant);
    this.#readAt = this.#time();
    await this.#trimAuthorized();
  }

  /** Visits the records written after a revision. @returns The revision of the newest record. */
  async #eachSince<T>(
    from: Collection<T>,
    after: number,
    note: (stored: Stored<T>) => void,
  ): Promise<number> {
    let revision = after;
    for await (const page of readRecordPages(this.#records, from, { after })) {
      for (const stored of page) note(stored);
      revision = page.at(-1)?.revision ?? revision;
    }
    return revision;
  }

  #indexClient({ key, value, expiresAt }: Stored<ClientRecord>): void {
    const known = this.#index.find(key);
    const granted = this.#authorized.find(key);
    this.#forget(key);
    if (value.agent.owner !== undefined || expiresAt === undefined) return;
    const agent = unclaimedOf(key, value, expiresAt);
    if (granted !== undefined) this.#authorized.add({ ...agent, networks: granted.networks });
    else this.#index.add(known === undefined ? agent : { ...agent, inUseUntil: known.inUseUntil });
  }

  #indexGrant({ clientId = "", accountId }: GrantRecord): void {
    const agent = this.#index.find(clientId);
    if (agent === undefined) return;
    this.#index.remove(clientId);
    this.#authorized.add({ ...agent, networks: [...agent.networks, `account ${accountId}`] });
  }

  async #trimAuthorized(): Promise<void> {
    const goal = this.#capacity;
    if (this.#authorized.size <= goal) return;
    const now = this.#time();
    this.#authorized.removeExpired(now);
    const candidates = this.#authorized.evictionOrder({ now, protectedSize: 0 });
    await this.#evictFrom(this.#authorized, { candidates, goal });
  }
}

/**
 * The shortest prefix of the candidates that reaches the given total size; all candidates if their
 * total is smaller.
 */
function prefixOfSize(
  candidates: readonly EvictionCandidate[],
  size: number,
): readonly EvictionCandidate[] {
  let sum = 0;
  for (const [at, { agent }] of candidates.entries()) {
    sum += agent.size;
    if (sum >= size) return candidates.slice(0, at + 1);
  }
  return candidates;
}

/** The problem for a registration that exceeds the capacity. */
export function unclaimedCapacityProblem(): Problem {
  return new Problem("rate_limited", {
    detail: "The capacity for unclaimed agents from your network is used up.",
    next: `Register again in ${RETRY_SECONDS} seconds.`,
    headers: { "Retry-After": String(RETRY_SECONDS) },
  });
}

/**
 * The index entry of a client. An agent registered before networks were recorded counts as a
 * network of its own.
 */
function unclaimedOf(id: string, client: ClientRecord, expiresAt: number): UnclaimedAgent {
  const { registeredAt, site = id } = client.agent;
  const size = Math.ceil(JSON.stringify(client.metadata).length / CHARACTERS_PER_UNIT);
  return {
    id,
    networks: [site],
    size,
    registeredAt,
    inUseUntil: registeredAt + CLAIM_CODE_LIFETIME_MS,
    expiresAt,
  };
}

/**
 * Finds the expiry of the record that shows a client to be in use.
 * @returns Milliseconds since the epoch; `undefined` if there is no such record.
 */
async function usedUntil(tx: Transaction, clientId: string): Promise<number | undefined> {
  const firstOf = (from: Collection<object>, group: string) => tx.list(from, { group, limit: 1 });
  const found = await Promise.all([
    ...issued.map((from) => firstOf(from, clientGroup(clientId))),
    firstOf(openRequests, authorizationRequestGroup(clientId)),
  ]);
  const [first] = found.flat();
  return first && (first.expiresAt ?? Infinity);
}
