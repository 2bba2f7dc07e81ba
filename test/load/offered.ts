import { setTimeout as pause } from "node:timers/promises";
import { type AnsweredRequest, type CallerManners, createCallers } from "./callers.ts";
import { type RequestKind, rawGet } from "./mix.ts";

/** Interval at which due requests are sent, in milliseconds. */
const TICK_MS = 2;

/** Maximum wait for the last answers, in milliseconds. */
const GIVEN_UP_MS = 30_000;

/** Pause between two requests to /api/health, in milliseconds. */
const HEALTH_MS = 20;

/**
 * Maximum number of agents. While all of them wait for an answer or for Retry-After, due requests
 * are skipped.
 */
const AGENTS = 3_000;

/** The result of a request, with its kind. */
interface Outcome extends AnsweredRequest {
  readonly kind: RequestKind;
  /** Arrival of the answer, in milliseconds by `performance.now`. */
  readonly at: number;
}

/** Result of a load. */
export interface OfferedLoadResult {
  /** Start and end of the steady load, in milliseconds by `performance.now`. */
  readonly from: number;
  readonly to: number;
  /** Results of all requests in order of arrival. */
  readonly outcomes: readonly Outcome[];
  /** Response times of /api/health in milliseconds; infinite for a status other than 200. */
  readonly health: readonly number[];
}

/** A constant load. */
interface Load {
  readonly port: number;
  readonly kinds: readonly RequestKind[];
  /** Duration of the steady load, in milliseconds. */
  readonly ms: number;
  /** Warm-up before the steady load, in milliseconds, in which callers connect and queues fill. */
  readonly riseMs?: number;
  readonly manners?: CallerManners;
  /** Called when the load becomes steady, and when it ends. */
  readonly onTime?: () => void;
}

/** Sends requests of independent agents at a constant rate, without waiting for the answers. */
export async function offerLoad(
  load: Load & { readonly perSecond: number },
): Promise<OfferedLoadResult> {
  const next = inShares(load.kinds);
  return during(load, async (ask, endsAt) => {
    const startedAt = performance.now();
    const open: Promise<unknown>[] = [];
    for (let sent = 0; performance.now() < endsAt; await pause(TICK_MS)) {
      const due = ((performance.now() - startedAt) / 1000) * load.perSecond;
      for (; sent < due; sent++) open.push(ask(next()));
    }
    await Promise.race([Promise.all(open), pause(GIVEN_UP_MS)]);
  });
}

/** Runs callers that each send the next request as soon as the answer arrives. */
export async function saturate(
  load: Load & { readonly callers: number },
): Promise<OfferedLoadResult> {
  const next = inShares(load.kinds);
  return during(load, async (ask, endsAt) => {
    const caller = async (): Promise<void> => {
      do await ask(next());
      while (performance.now() < endsAt);
    };
    await Promise.all(Array.from({ length: load.callers }, caller));
  });
}

type Ask = (kind: RequestKind) => Promise<void>;

async function during(
  { port, ms, riseMs = 0, manners = "polite", onTime }: Load,
  run: (ask: Ask, endsAt: number) => Promise<void>,
): Promise<OfferedLoadResult> {
  const callers = createCallers(port, { max: AGENTS, manners });
  const outcomes: Outcome[] = [];
  const health = watchHealth(port);
  const from = performance.now() + riseMs;
  const timers = [riseMs, riseMs + ms].map((delay) => setTimeout(() => onTime?.(), delay));
  const ask: Ask = async (kind) => {
    const request = kind.requests[Math.floor(Math.random() * kind.requests.length)] as Buffer;
    const answered = await callers.send(request);
    if (answered !== undefined) outcomes.push({ kind, ...answered, at: performance.now() });
  };
  await run(ask, from + ms);
  for (const timer of timers) clearTimeout(timer);
  callers.close();
  return { from, to: from + ms, outcomes, health: await health.stop() };
}

/** Creates a function that returns the kinds in proportion to their shares, spread evenly. */
function inShares(kinds: readonly RequestKind[]): () => RequestKind {
  const total = kinds.reduce((sum, { share }) => sum + share, 0);
  const owed = kinds.map((kind) => ({ kind, points: 0 }));
  return () => {
    for (const one of owed) one.points += one.kind.share;
    const most = owed.reduce((best, one) => (one.points > best.points ? one : best));
    most.points -= total;
    return most.kind;
  };
}

/** Requests /api/health repeatedly until `stop`. */
export function watchHealth(port: number) {
  const callers = createCallers(port, { max: 2, manners: "polite" });
  const health: number[] = [];
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const answered = await callers.send(rawGet("/api/health"));
      health.push(answered?.status === 200 ? answered.ms : Number.POSITIVE_INFINITY);
      await pause(HEALTH_MS);
    }
  })();
  return {
    async stop(): Promise<readonly number[]> {
      isOver = true;
      await watching;
      callers.close();
      return health;
    },
  };
}
