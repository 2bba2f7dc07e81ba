import type { Config } from "./config/config.ts";
import type { Check } from "./http/api/health.ts";
import type { Live, LiveOptions } from "./ingest/live.ts";
import {
  type Analyser,
  openSentimentReader,
  type SentimentReader,
} from "./ingest/sentiment-model.ts";
import type { Market } from "./market/market.ts";
import { ScoringEngine } from "./score/scoring-engine.ts";
import { createSignalUpdates, type SignalUpdates } from "./score/signal-updates.ts";
import { createSnapshotArchive, type MemoryArchive } from "./score/snapshot-archive.ts";
import type { MarketClock } from "./sources/market-clock.ts";
import { type OpenedMarket, openMarket } from "./sources/open-market.ts";

/** Sessions of a class that are scored at once when a market has moved on: usually there are none or
 *  a few. More of them are mostly all that are remembered: a walk that starts over. */
const AT_ONCE = 6;

/** Time that goes back by more, in milliseconds, was wrong before, and scores are made anew. */
const SET_BACK_MS = 60_000;

/** A session that closes at most this long after something was observed has its data, in
 *  milliseconds: they come before they count. */
const WITNESSED_MS = 3_600_000;

/** What is scored, and how its time passes. */
export interface ScoringOptions {
  readonly config: Pick<Config, "market" | "store" | "socialModelFile">;
  readonly now: () => Date;
  /** A clock that is never set, Unix milliseconds; absent: that of the machine is believed. */
  readonly storeNow?: (() => number) | undefined;
  readonly store: LiveOptions["store"];
  readonly log: LiveOptions["log"];
  /** A sandbox that has been scored before, when services take turns with it; absent: a new one. */
  readonly sandbox?: ScoredMarket | undefined;
  /** Told how much of the market has been read. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/** A market that is open, and what has been scored of it so far. */
export interface ScoredMarket {
  readonly market: Market;
  readonly clock: MarketClock;
  readonly engine: ScoringEngine;
  readonly snapshots: MemoryArchive;
}

/** Takes a market whose messages are to be read by `polarityOf`. Nothing is scored yet. */
export function scoredMarket(
  { market, clock }: OpenedMarket,
  polarityOf?: SentimentReader["polarityOf"],
): ScoredMarket {
  const snapshots = createSnapshotArchive();
  const engine = new ScoringEngine(market, snapshots, polarityOf);
  return { market, clock, engine, snapshots };
}

/** A market with its scores. */
export interface Scoring {
  readonly market: Market;
  readonly analyser: Analyser;
  readonly snapshots: MemoryArchive;
  readonly updates: Pick<SignalUpdates, "onUpdate">;
  /** How the market is followed; absent where it is recorded or made. */
  readonly live: Pick<Live, "setup" | "work" | "check" | "close"> | undefined;
  /** What counts as now in the market, Unix milliseconds. */
  marketNow(): number;
  /** Instant up to which everything is known and scored, at most now. */
  knownUntil(): number;
  /** The same for the record of sessions that closed: none of a time that only a wrong clock knows. */
  recordableUntil(): number;
  /** From now on market time moves. */
  start(): void;
  /** Scores everything that became known since the last call. */
  refresh(): void;
  /** Milliseconds until there is something new to score, `undefined` when time stands still. */
  untilNextRefresh(): number | undefined;
  /** How far market time is. Its end is no fault: what is served is as of the last instant. */
  check(): Check;
}

/**
 * Opens the market that was chosen and scores what is known of it.
 *
 * @throws {Error} When a file or folder is not as it should be; says what to do.
 */
export async function openScoring(options: ScoringOptions): Promise<Scoring> {
  const { config } = options;
  const wall = () => options.now().getTime();
  const { analyser, polarityOf } = await openSentimentReader(config.socialModelFile);
  const { live, ...opened } = await openChoice(options);
  const { market, clock, engine, snapshots } = options.sandbox ?? scoredMarket(opened, polarityOf);
  const updates = createSignalUpdates();
  let knownUntil = 0;
  const arrive = (until: number) => {
    knownUntil = until;
    updates.look(snapshots.allNewest());
  };
  const piecemeal = createPiecemeal(options.log);
  let reached = 0;
  const advance = (): number => {
    const until = clock.advance(wall());
    if (live && reached - until > SET_BACK_MS) {
      live.market.startOver(until);
      knownUntil = until;
    }
    reached = until;
    return until;
  };
  const refresh = () => {
    if (piecemeal.isUnderWay()) return;
    const until = advance();
    const walk = engine.refreshInSteps(until);
    // The first time nobody waits for anything else yet, and the time of a replay waits for scores.
    const isAtOnce = knownUntil === 0 || market.mode === "replay";
    const atOnce = isAtOnce ? Number.POSITIVE_INFINITY : AT_ONCE;
    if (isOver(walk, atOnce)) arrive(until);
    else piecemeal.goOn(walk, () => arrive(until));
  };
  refresh();
  return {
    ...{ market, analyser, snapshots, updates, refresh, live },
    marketNow: () => clock.now(wall()),
    knownUntil: () => knownUntil,
    recordableUntil: () => Math.min(knownUntil, witnessedUntil(live)),
    start: () => clock.start(wall()),
    untilNextRefresh: () => clock.untilNext(wall()),
    check() {
      const at = new Date(clock.now(wall())).toISOString();
      const hasEnded = clock.untilNext(wall()) === undefined;
      return { ok: true, detail: hasEnded ? `ended: time stands still at ${at}` : `at ${at}` };
    },
  };
}

/** Until when sessions have their data; without any at all, nothing is scored that could be recorded. */
function witnessedUntil(live: Live | undefined): number {
  const seenAt = live?.confirmedAt() ?? Number.NEGATIVE_INFINITY;
  return Number.isFinite(seenAt) ? seenAt + WITNESSED_MS : Number.POSITIVE_INFINITY;
}

/** Goes so many steps. @returns Whether the walk has come to its end. */
function isOver(walk: Generator<void, void>, steps: number): boolean {
  for (let step = 0; step < steps; step++) if (walk.next().done) return true;
  return false;
}

/**
 * Ends a long walk step by step: requests, and the lease of a leader, have their turn in between, and
 * what was scored before is served until it is done. A step takes up to 30 ms for 500 instruments; for
 * a day with 28,000 messages, 0.3 s.
 */
function createPiecemeal(log: ScoringOptions["log"]) {
  let isUnderWay = false;
  const step = (walk: Generator<void, void>, onEnd: () => void) => {
    try {
      isUnderWay = !isOver(walk, 1);
      if (isUnderWay) setImmediate(step, walk, onEnd);
      else onEnd();
    } catch (error) {
      isUnderWay = false;
      log.error({ err: error }, "scoring failed; it is tried again");
    }
  };
  return { isUnderWay: () => isUnderWay, goOn: step };
}

async function openChoice({ config, now, storeNow, store, log, onProgress }: ScoringOptions) {
  const { market: choice } = config;
  const progress = onProgress ? { onProgress } : {};
  if (choice.kind !== "live") return { ...(await openMarket(choice, progress)), live: undefined };
  const { folder } = config.store;
  const { openLive } = await import("./ingest/live.ts");
  const live = await openLive(choice, {
    store,
    folder,
    log,
    now: () => now().getTime(),
    steady: storeNow,
    ...progress,
  });
  return { market: live.market, clock: live.clock, live };
}
