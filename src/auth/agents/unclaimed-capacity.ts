import { Problem } from "../../problem.ts";
import {
  type Collection,
  collection,
  type Records,
  type Stored,
} from "../../store/port/records.ts";
import { grants } from "../accounts/grants.ts";
import { REMOVED_TOPIC, withoutAgent } from "../accounts/own-agents.ts";
import { askedBy, type ClientRecord, clients, issuedTo } from "./agent.ts";
import { CLAIM_CODE_MS } from "./claim-code.ts";
import { claims } from "./claim-records.ts";
import {
  type Candidate,
  createPopulation,
  type Population,
  type Unclaimed,
} from "./unclaimed-index.ts";

/** Room for agents that nobody has claimed: so many of ordinary size, all together. */
const ROOM = 10_000;

/** Metadata that take the room of one agent, in characters of JSON; most registrations have 500 to 1,500. */
const CHARACTERS_OF_ONE = 2_048;

/** A network that takes no more than this part of the room keeps what is in use. */
const SPARED_PART = 1 / 10;

/** Where everything is in use there is as much room again; of what is left of it, a network that has an
 *  agent already gets at most this part. */
const NETWORK_PART = 1 / 100;

/** Room that is made at once, so that not every registration has to. */
const MADE_PART = 1 / 100;

/** Pause between two looks at what other processes have registered, in milliseconds. */
const LOOK_EVERY_MS = 1_000;

/** Agents that are looked at, and removed, together. */
const EVICTED_TOGETHER = 50;

/** What was found in use is not looked at again for so long, in milliseconds. */
const BUSY_MS = 3_600_000;

/** Records that are read at once. */
const PAGE = 1_000;

/** Seconds after which a registration is tried again: claim codes end and tokens run out. */
const RETRY_SECONDS = 60;

const issuedModels = ["ClientCredentials", "AccessToken", "RefreshToken", "AuthorizationCode"];

/** What an agent was issued, and its claim. */
const issued: readonly Collection<object>[] = [
  claims,
  ...issuedModels.map((model) => collection<object>(`oidc:${model}`)),
];

/** Authorization requests for which a person is being asked. */
const openRequests = collection<object>("oidc:Interaction");

/** What the room is kept with. */
export interface AgentRoomOptions {
  readonly records: Records;
  readonly now: () => Date;
  /** Room in all; for tests. */
  readonly room?: number | undefined;
}

/** A registration of an agent that nobody answers for. */
interface Newcomer {
  readonly clientId: string;
  readonly client: ClientRecord;
  /** Life in milliseconds. */
  readonly lifeMs: number;
}

/** Room for agents that nobody answers for. */
export interface AgentRoom {
  /**
   * Makes room for one, and counts it.
   *
   * @throws {Problem} `rate_limited` where everything is in use and a network of it has had its part.
   */
  enter(newcomer: Newcomer): Promise<void>;

  /** What became of agents in this process since its start, for want of room. */
  tally(): RoomTally;
}

/** How often there was no room. */
export interface RoomTally {
  /** Agents that were removed to make room for others. */
  readonly evicted: number;
  /** Registrations that were refused. */
  readonly refused: number;
}

/** Room that a client takes. */
function sizeOf({ metadata }: ClientRecord): number {
  return Math.ceil(JSON.stringify(metadata).length / CHARACTERS_OF_ONE);
}

/** Of those that were kept before sites were noted, each is alone. The two kinds of hashes are of
 *  different texts, so that no site is taken for a provider. */
function unclaimedOf(id: string, client: ClientRecord, endsAt: number): Unclaimed {
  const { registeredAt, site = id, provider } = client.agent;
  const networks = provider === undefined ? [site] : [site, provider];
  const busyUntil = registeredAt + CLAIM_CODE_MS;
  return { id, networks, size: sizeOf(client), registeredAt, busyUntil, endsAt };
}

/**
 * Keeps agents that nobody answers for within bounds, so that whoever registers however many costs no
 * more than that. There is room for 10,000 of ordinary size. Beyond it, for each that comes one
 * goes: of the network (/24 of IPv4, /48 and /32 of IPv6) that takes most the newest. One that is in
 * use, with a live token, a claim code or an open authorization, stays while its networks take no more
 * than a tenth of the room each, and one that a person lets act for them stays in any case.
 * Where everything is in use, as many again are let in; of what is left of that, a network gets at
 * most a hundredth, so that there is always some for who is new.
 *
 * Each process follows what all of them register: together they exceed the room by what is
 * registered in a second at most, for that long.
 */
export function createAgentRoom(options: AgentRoomOptions): AgentRoom {
  const { records, now, room = ROOM } = options;
  const population = createPopulation();
  records.onAnnounce(REMOVED_TOPIC, population.remove);
  const follow = follower(population, options);
  const spared = room * SPARED_PART;
  let making: Promise<void> | undefined;
  let nothingUntil = 0;
  let evicted = 0;
  let refused = 0;

  const fits = (size: number): boolean => population.size + size <= room;
  const make = async (size: number): Promise<void> => {
    const at = now().getTime();
    population.removeEnded(at);
    const goal = room - Math.ceil(room * MADE_PART) - size;
    const candidates = population.givingWay({ now: at, spared });
    let from = 0;
    while (population.size > goal && from < candidates.length) {
      const to = from + Math.min(population.size - goal, EVICTED_TOGETHER);
      evicted += await evict(candidates.slice(from, to), population, options);
      from = to;
    }
    // It is in vain to ask the store again for each that comes.
    if (population.size > goal) nothingUntil = at + LOOK_EVERY_MS;
  };
  const makeOnce = (size: number): Promise<void> => {
    making ??= make(size).finally(() => {
      making = undefined;
    });
    return making;
  };
  return {
    async enter({ clientId, client, lifeMs }) {
      await follow();
      const newcomer = unclaimedOf(clientId, client, now().getTime() + lifeMs);
      const { size, networks } = newcomer;
      // Others may take at once what was made.
      while (!fits(size) && now().getTime() >= nothingUntil) await makeOnce(size);
      const left = 2 * room - population.size;
      const hasPart = networks
        .map(population.sizeOf)
        .every((taken) => taken === 0 || taken < left * NETWORK_PART);
      if (!fits(size) && (size > left || !hasPart)) {
        refused += 1;
        throw noRoom();
      }
      population.add(newcomer);
    },
    tally: () => ({ evicted, refused }),
  };
}

/** What whoever registers is told when there is no room. */
export function noRoom(): Problem {
  return new Problem("rate_limited", {
    detail: "So many agents that nobody has claimed are in use that no more come in from here.",
    next: `Register again in ${RETRY_SECONDS} seconds.`,
    headers: { "Retry-After": String(RETRY_SECONDS) },
  });
}

/** @returns Reads what was registered since the last time, once a second at most. */
function follower(population: Population, { records, now }: AgentRoomOptions): () => Promise<void> {
  let revision = 0;
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  const note = ({ key, value, expiresAt }: Stored<ClientRecord>): void => {
    const known = population.find(key);
    population.remove(key);
    if (value.agent.owner !== undefined || expiresAt === undefined) return;
    const agent = unclaimedOf(key, value, expiresAt);
    population.add(known === undefined ? agent : { ...agent, busyUntil: known.busyUntil });
  };
  const read = async (): Promise<void> => {
    for (;;) {
      const page = await records.list(clients, { after: revision, limit: PAGE });
      for (const client of page) note(client);
      revision = page.at(-1)?.revision ?? revision;
      if (page.length < PAGE) break;
    }
    readAt = now().getTime();
  };
  return async () => {
    if (Math.abs(now().getTime() - readAt) < LOOK_EVERY_MS) return;
    reading ??= read().finally(() => {
      reading = undefined;
    });
    await reading;
  };
}

/** Removes those that are not in use. @returns How many. */
async function evict(
  candidates: readonly Candidate[],
  population: Population,
  { records, now }: AgentRoomOptions,
): Promise<number> {
  const looks = candidates.map(async ({ agent, isSpared }) => {
    const client = await records.get(clients, agent.id);
    if (client === undefined || client.value.agent.owner !== undefined) {
      population.remove(agent.id);
      return [];
    }
    const endsAt = await inUseUntil(agent.id, { records, isSpared });
    if (endsAt === undefined) return [client];
    population.add({ ...agent, busyUntil: Math.min(endsAt, now().getTime() + BUSY_MS) });
    return [];
  });
  const idle = (await Promise.all(looks)).flat();
  // One that was changed at this moment stays, and is looked at again.
  if (idle.length === 0 || !(await records.commit(idle.flatMap(withoutAgent)))) return 0;
  for (const { key } of idle) population.remove(key);
  return idle.length;
}

/** @returns When something ends that keeps a client from going; `undefined` when nothing does. What a
 *  person lets it do keeps it also where the rest does not. */
async function inUseUntil(
  clientId: string,
  { records, isSpared }: Pick<AgentRoomOptions, "records"> & Pick<Candidate, "isSpared">,
): Promise<number | undefined> {
  const firstOf = (from: Collection<object>, group: string) =>
    records.list(from, { group, limit: 1 });
  const found = await Promise.all([
    firstOf(grants, issuedTo(clientId)),
    ...(isSpared ? issued.map((from) => firstOf(from, issuedTo(clientId))) : []),
    ...(isSpared ? [firstOf(openRequests, askedBy(clientId))] : []),
  ]);
  const [first] = found.flat();
  return first && (first.expiresAt ?? Infinity);
}
