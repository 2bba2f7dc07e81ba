import { Problem } from "../../problem.ts";
import {
  type Collection,
  collection,
  type Records,
  type Stored,
} from "../../store/port/records.ts";
import { grants } from "../accounts/grants.ts";
import { agentRemoval, REMOVED_TOPIC } from "../accounts/own-agents.ts";
import { askedBy, type ClientRecord, clients, issuedTo } from "./agent.ts";
import { CLAIM_CODE_MS } from "./claim-code.ts";
import { claims } from "./claim-records.ts";
import { type Candidate, type Unclaimed, UnclaimedIndex } from "./unclaimed-index.ts";

/** Capacity for agents that nobody has claimed, in agents of ordinary size. */
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

/** A registration of an agent that nobody owns. */
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
 * Bounds the number of agents that nobody has claimed, so that registering costs the service no more
 * than that however much of it there is. The capacity is 10,000 agents of ordinary size. Above it, each
 * registration evicts an agent: the newest of the network (/24 of IPv4, /48 and /32 of IPv6) that has
 * most. An agent in use, with a live token, a claim code or an open authorization, stays while its
 * networks take no more than a tenth of the capacity each; one with a person's grant stays in any case.
 * Where everything is in use, as many again are let in. Of what is left of that, a network gets at most
 * a hundredth, so that there is always some for a new network.
 *
 * Each process follows the registrations of all. Together they exceed the capacity by what is registered
 * in a second at most, for that long.
 */
export class UnclaimedCapacity {
  readonly #records: Records;
  readonly #now: () => Date;
  readonly #capacity: number;
  readonly #index = new UnclaimedIndex();
  /** Revision of the newest registration that was read. */
  #revision = 0;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  #freeing: Promise<void> | undefined;
  /** Until then evicting again is no use: everything was in use. */
  #fullUntil = 0;
  #evicted = 0;
  #refused = 0;

  constructor({ records, now, capacity = CAPACITY }: UnclaimedCapacityOptions) {
    this.#records = records;
    this.#now = now;
    this.#capacity = capacity;
    records.onAnnounce(REMOVED_TOPIC, (id) => this.#index.remove(id));
  }

  /**
   * Makes room for one agent, and counts it.
   *
   * @throws {Problem} `rate_limited` where everything is in use and its network has had its share.
   */
  async admit({ clientId, client, lifeMs }: NewUnclaimed): Promise<void> {
    await this.#follow();
    const agent = unclaimedOf(clientId, client, this.#time() + lifeMs);
    const { size, networks } = agent;
    // Concurrent registrations may take at once what was freed.
    while (!this.#fits(size) && this.#time() >= this.#fullUntil) await this.#freeOnce(size);
    const left = 2 * this.#capacity - this.#index.size;
    const hasShare = networks
      .map((network) => this.#index.sizeOf(network))
      .every((taken) => taken === 0 || taken < left * NETWORK_SHARE);
    if (!this.#fits(size) && (size > left || !hasShare)) {
      this.#refused += 1;
      throw noCapacity();
    }
    this.#index.add(agent);
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

  #freeOnce(size: number): Promise<void> {
    this.#freeing ??= this.#free(size).finally(() => {
      this.#freeing = undefined;
    });
    return this.#freeing;
  }

  async #free(size: number): Promise<void> {
    const now = this.#time();
    this.#index.removeEnded(now);
    const goal = this.#capacity - Math.ceil(this.#capacity * FREED_SHARE) - size;
    const spared = this.#capacity * SPARED_SHARE;
    const candidates = this.#index.evictionOrder({ now, spared });
    let from = 0;
    while (this.#index.size > goal && from < candidates.length) {
      const to = from + Math.min(this.#index.size - goal, EVICTION_BATCH);
      this.#evicted += await this.#evict(candidates.slice(from, to));
      from = to;
    }
    if (this.#index.size > goal) this.#fullUntil = now + REFRESH_MS;
  }

  /** Removes those that are not in use. @returns How many. */
  async #evict(candidates: readonly Candidate[]): Promise<number> {
    const checks = candidates.map(async ({ agent, isSpared }) => {
      const client = await this.#records.get(clients, agent.id);
      if (client === undefined || client.value.agent.owner !== undefined) {
        this.#index.remove(agent.id);
        return [];
      }
      const endsAt = await this.#inUseUntil(agent.id, isSpared);
      if (endsAt === undefined) return [client];
      this.#index.add({ ...agent, busyUntil: Math.min(endsAt, this.#time() + RECHECK_MS) });
      return [];
    });
    const idle = (await Promise.all(checks)).flat();
    // One that was changed meanwhile stays, and is checked again.
    if (idle.length === 0 || !(await this.#records.commit(idle.flatMap(agentRemoval)))) return 0;
    for (const { key } of idle) this.#index.remove(key);
    return idle.length;
  }

  /** @returns When something expires that keeps a client; `undefined` when nothing does. A person's grant
   *  keeps it also where its network is over its share. */
  async #inUseUntil(clientId: string, isSpared: boolean): Promise<number | undefined> {
    const firstOf = (from: Collection<object>, group: string) =>
      this.#records.list(from, { group, limit: 1 });
    const found = await Promise.all([
      firstOf(grants, issuedTo(clientId)),
      ...(isSpared ? issued.map((from) => firstOf(from, issuedTo(clientId))) : []),
      ...(isSpared ? [firstOf(openRequests, askedBy(clientId))] : []),
    ]);
    const [first] = found.flat();
    return first && (first.expiresAt ?? Infinity);
  }

  /** Reads what was registered since the last time, once a second at most. */
  async #follow(): Promise<void> {
    if (Math.abs(this.#time() - this.#readAt) < REFRESH_MS) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #read(): Promise<void> {
    for (;;) {
      const page = await this.#records.list(clients, { after: this.#revision, limit: PAGE });
      for (const client of page) this.#note(client);
      this.#revision = page.at(-1)?.revision ?? this.#revision;
      if (page.length < PAGE) break;
    }
    this.#readAt = this.#time();
  }

  #note({ key, value, expiresAt }: Stored<ClientRecord>): void {
    const known = this.#index.find(key);
    this.#index.remove(key);
    if (value.agent.owner !== undefined || expiresAt === undefined) return;
    const agent = unclaimedOf(key, value, expiresAt);
    this.#index.add(known === undefined ? agent : { ...agent, busyUntil: known.busyUntil });
  }
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
