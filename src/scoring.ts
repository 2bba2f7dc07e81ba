import type { Analyser } from "./answers/method.ts";
import type { MarketChoice } from "./config.ts";
import type { Check } from "./http/readiness.ts";
import type { Market } from "./market/market.ts";
import { openMarket } from "./open-market.ts";
import { createEngine } from "./score/engine.ts";
import { createSignalUpdates, type SignalUpdates } from "./signal-updates.ts";
import { openSocialReader } from "./social-model.ts";
import { createSnapshotArchive, type MemoryArchive } from "./store/snapshot-archive.ts";

/** What is scored, and how its time passes. */
export interface ScoringOptions {
  readonly config: { readonly market: MarketChoice; readonly socialModelFile: string | undefined };
  readonly now: () => Date;
  /** Told how much of the market has been read. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/** A market with its scores. */
export interface Scoring {
  readonly market: Market;
  readonly analyser: Analyser;
  readonly snapshots: MemoryArchive;
  readonly updates: Pick<SignalUpdates, "onUpdate">;
  /** What counts as now in the market, Unix milliseconds. */
  marketNow(): number;
  /** Instant up to which everything is known and scored, at most now. */
  knownUntil(): number;
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
export async function openScoring({ config, now, onProgress }: ScoringOptions): Promise<Scoring> {
  const wall = () => now().getTime();
  const { analyser, polarityOf } = await openSocialReader(config.socialModelFile);
  const { market, clock } = await openMarket(config.market, onProgress ? { onProgress } : {});
  const snapshots = createSnapshotArchive();
  const engine = createEngine(market, snapshots, { polarityOf });
  const updates = createSignalUpdates();
  let knownUntil = 0;
  const refresh = () => {
    const until = clock.advance(wall());
    engine.refresh(until);
    knownUntil = until;
    updates.look(snapshots.allNewest());
  };
  refresh();
  return {
    ...{ market, analyser, snapshots, updates, refresh },
    marketNow: () => clock.now(wall()),
    knownUntil: () => knownUntil,
    start: () => clock.start(wall()),
    untilNextRefresh: () => clock.untilNext(wall()),
    check() {
      const at = new Date(clock.now(wall())).toISOString();
      const hasEnded = clock.untilNext(wall()) === undefined;
      return { ok: true, detail: hasEnded ? `ended: time stands still at ${at}` : `at ${at}` };
    },
  };
}
