import {
  afterFailedAttempt,
  allowedAttempts,
  type CircuitBreaker,
  CLOSED,
} from "./circuit-breaker.ts";

/** An endpoint of which nothing was heard for so long is forgotten, in milliseconds: longer than
 *  the longest pause of a breaker. */
const FORGOTTEN_MS = 3_600_000;

/** What came of an attempt, for the breaker; `none`: nothing was sent. */
export type AttemptOutcome = "success" | "failure" | "none";

/** What lanes work with. */
export interface EndpointQueuesOptions<T> {
  /** Which endpoint a piece of work is for. */
  readonly endpointOf: (work: T) => string;
  /** Who answers for it; an endpoint has one owner. */
  readonly ownerOf: (work: T) => string;
  /** Does a piece of work; never rejects. */
  readonly run: (work: T) => Promise<AttemptOutcome>;
  /** Told when there is room where there was none. */
  readonly onCapacity: () => void;
  /** Most pieces of work that are under way or wait, of all endpoints together. */
  readonly most: number;
  /** The same of one owner, so that nobody can take all the places. */
  readonly mostOfOne: number;
  /** Milliseconds by a clock that is never set. */
  readonly monotonic: () => number;
}

/** Work of one process, endpoint by endpoint, so that a slow or dead one keeps up nobody else. */
export interface EndpointQueues<T> {
  /** Endpoints and owners that must get no more work now. */
  saturated(): readonly string[];
  /** Starts the work, or keeps it until there is room; drops it when the breaker has just opened. */
  add(work: T): void;
  /** How many more pieces of work there may be. */
  readonly capacity: number;
  /** Starts nothing any more. @returns What waited, and the end of what is under way. */
  stop(): { readonly waiting: readonly T[]; readonly ended: Promise<unknown> };
}

interface Lane<T> {
  readonly owner: string;
  breaker: CircuitBreaker;
  running: number;
  waiting: T[];
  /** When the last attempt ended, by the clock that is never set. */
  heardAt: number;
}

/** Creates lanes without work. */
export function createEndpointQueues<T>(options: EndpointQueuesOptions<T>): EndpointQueues<T> {
  const { endpointOf, ownerOf, run, onCapacity, most, mostOfOne, monotonic } = options;
  const lanes = new Map<string, Lane<T>>();
  const underway = new Set<Promise<void>>();
  let isStopped = false;

  const roomLeft = (): number => most - sizeOfAll(lanes.values());
  const isOwnerFull = (owner: string): boolean =>
    sizeOfAll([...lanes.values()].filter((lane) => lane.owner === owner)) >= mostOfOne;
  /** Starts as much as there is room for. */
  const start = (lane: Lane<T>): void => {
    if (isStopped) return;
    const room = allowedAttempts(lane.breaker, monotonic());
    // What is dropped comes again when its lease ends.
    if (room === 0) lane.waiting = [];
    for (const work of lane.waiting.splice(0, Math.max(0, room - lane.running))) {
      lane.running += 1;
      const done = carry(lane, work).finally(() => underway.delete(done));
      underway.add(done);
    }
  };
  const carry = async (lane: Lane<T>, work: T): Promise<void> => {
    const isTry = lane.breaker.pauses > 0;
    const verdict = await run(work);
    const hadNoRoom = isFull(lane, monotonic()) || roomLeft() === 0 || isOwnerFull(lane.owner);
    hear(lane, { verdict, isTry, now: monotonic() });
    start(lane);
    if (hadNoRoom) onCapacity();
  };
  return {
    saturated() {
      const now = monotonic();
      for (const [endpoint, lane] of lanes) if (isForgotten(lane, now)) lanes.delete(endpoint);
      const endpoints = [...lanes].filter(([, lane]) => isFull(lane, now)).map(([name]) => name);
      const owners = new Set([...lanes.values()].map(({ owner }) => owner));
      return [...endpoints, ...[...owners].filter(isOwnerFull)];
    },
    add(work) {
      const lane = lanes.get(endpointOf(work)) ?? newLane(ownerOf(work), monotonic());
      lanes.set(endpointOf(work), lane);
      lane.waiting.push(work);
      start(lane);
    },
    get capacity() {
      return roomLeft();
    },
    stop() {
      isStopped = true;
      const waiting = [...lanes.values()].flatMap((lane) => lane.waiting.splice(0));
      return { waiting, ended: Promise.all(underway) };
    },
  };
}

function newLane<T>(owner: string, now: number): Lane<T> {
  return { owner, breaker: CLOSED, running: 0, waiting: [], heardAt: now };
}

function sizeOfAll(lanes: Iterable<Lane<unknown>>): number {
  return [...lanes].reduce((sum, lane) => sum + sizeOf(lane), 0);
}

function sizeOf({ running, waiting }: Lane<unknown>): number {
  return running + waiting.length;
}

function isFull(lane: Lane<unknown>, now: number): boolean {
  return sizeOf(lane) >= allowedAttempts(lane.breaker, now);
}

function isForgotten(lane: Lane<unknown>, now: number): boolean {
  return sizeOf(lane) === 0 && now - lane.heardAt > FORGOTTEN_MS;
}

interface Heard {
  readonly verdict: AttemptOutcome;
  readonly isTry: boolean;
  readonly now: number;
}

function hear(lane: Lane<unknown>, { verdict, ...attempt }: Heard): void {
  lane.running -= 1;
  lane.heardAt = attempt.now;
  if (verdict === "success") lane.breaker = CLOSED;
  if (verdict === "failure") lane.breaker = afterFailedAttempt(lane.breaker, attempt);
}
