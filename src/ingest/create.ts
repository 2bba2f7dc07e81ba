import type { Config } from "../config/config.ts";
import type { Market } from "../market/market.ts";
import type { ComponentState } from "../process/readiness.ts";
import type { SignalKeeper } from "../score/kept-signals.ts";
import { ScoreRefresh, type SignalUpdates } from "../score/refresh.ts";
import { ScoringEngine } from "../score/scoring-engine.ts";
import { METHOD_VERSION } from "../score/snapshot.ts";
import { createSnapshotArchive, type MemoryArchive } from "../score/snapshot-archive.ts";
import type { MarketClock } from "../sources/market-clock.ts";
import { type OpenedMarket, openMarket } from "../sources/open-market.ts";
import { serveRecorded } from "../store/session-archive.ts";
import type { KeptSignalsFile } from "./kept-signals.ts";
import type { LiveMarkets, LiveOptions } from "./live.ts";
import { type Analyzer, openSentimentReader, type SentimentReader } from "./sentiment-model.ts";
import type { WarmStart } from "./warm-start.ts";

/** A session that closes within this time after an observation has its data, in milliseconds: data
 *  arrive before they count. */
const CONFIRMED_MS = 3_600_000;

/** Interval at which a waiting replay checks whether the work on its sessions is done, in
 *  milliseconds. */
const HELD_MS = 10;

/** Options of the scoring. */
export interface ScoringOptions {
  readonly config: Pick<Config, "market" | "store" | "socialModelFile">;
  readonly now: () => Date;
  /** A clock that is never set, Unix milliseconds; absent: the machine's clock is trusted. */
  readonly storeNow?: (() => number) | undefined;
  readonly store: LiveOptions["store"];
  /** 32 bytes for one purpose, derived from the master key. */
  readonly deriveKey: (purpose: string) => Uint8Array;
  readonly log: LiveOptions["log"];
  /** A sandbox that is already scored, which several services use one after another; absent for a
   *  new one. */
  readonly sandbox?: ScoredMarket | undefined;
  /** Called with the progress of reading the market. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/** An open market with its engine and its snapshots. */
export interface ScoredMarket {
  readonly market: Market;
  readonly clock: MarketClock;
  readonly engine: ScoringEngine;
  readonly snapshots: MemoryArchive;
}

/**
 * Adds an engine to a market; nothing is scored yet.
 *
 * @param polarityOf How bullish (1) or bearish (-1) a message is; absent: the lexicon decides.
 * @param keeper Signals stored by earlier replays of the same records; absent: every session is scored.
 * @param model SHA-256 of the sentiment model; absent: the lexicon alone is used.
 */
export function scoredMarket(
  { market, clock }: OpenedMarket,
  polarityOf?: SentimentReader["polarityOf"],
  keeper?: SignalKeeper,
  model?: Analyzer["modelSha256"],
): ScoredMarket {
  const snapshots = createSnapshotArchive();
  const engine = new ScoringEngine(market, snapshots, polarityOf, keeper, model ?? undefined);
  return { market, clock, engine, snapshots };
}

/** A market with its scores. */
export interface Scoring {
  readonly market: Market;
  readonly analyser: Analyzer;
  readonly snapshots: MemoryArchive;
  readonly updates: Pick<SignalUpdates, "onUpdate">;
  /** The live providers; absent where the market is recorded or simulated. */
  readonly live: Pick<LiveMarkets, "setup" | "work" | "check"> | undefined;
  /** The current time of the market, Unix milliseconds. */
  marketNow(): number;
  /** Where the recording ends, Unix milliseconds; absent for a market without an end. */
  readonly recordedUntil?: number;
  /** Instant up to which everything is known and scored, at most now. */
  knownUntil(): number;
  /** Like `knownUntil`, for recording sessions: excludes sessions that only a wrong clock has
   *  reached. */
  recordableUntil(): number;
  /** Whether scores are still those of the previous run while they are being computed again. */
  isWarm(): boolean;
  /** Stops work that is running. */
  close(): Promise<void>;
  /** Starts market time. */
  start(): void;
  /** Scores everything that became known since the last call. */
  refresh(): void;
  /** Milliseconds until there may be something new to score; `undefined` if the market's clock is
   *  stopped. */
  untilNextRefresh(): number | undefined;
  /** Makes the clock of a replay wait, at every step, until the work on the sessions so far is done. */
  waitFor(isBehind: () => boolean): void;
  /** The current instant of the market. The end of a recording is not a fault: answers are then as
   *  of its last instant. */
  check(): ComponentState;
}

/**
 * Opens the configured market and scores everything that is known of it.
 *
 * @throws {Error} When a file or folder cannot be used; says what to do.
 */
export async function openScoring(options: ScoringOptions): Promise<Scoring> {
  const { config, log } = options;
  const wall = () => options.now().getTime();
  const { analyser, polarityOf } = await openSentimentReader(config.socialModelFile);
  const { live, ...opened } = await openConfigured(options);
  const kept = await openKeptSignals(opened.market, analyser, options);
  const { market, clock, engine, snapshots } =
    options.sandbox ?? scoredMarket(opened, polarityOf, kept, analyser.modelSha256);
  const warm = await openWarmStart({ market, clock, engine, snapshots }, analyser, options);
  const shownUntil = await warm?.show(clock.advance(wall()));
  let isHeld = () => false;
  const refresh = new ScoreRefresh({
    engine,
    shownUntil,
    snapshots,
    advanceClock: () => (isHeld() ? clock.now(wall()) : clock.advance(wall())),
    isSynchronous: market.mode === "replay",
    onSetBack: live && ((at) => live.market.startOver(at)),
    onError: (error) => log.error({ err: error }, "scoring failed; it is tried again"),
    onPublished(at) {
      // History that arrived later changes what is computed, not what was said.
      if (warm?.isShown || (settledOf !== undefined && settledOf !== market.revision?.())) {
        warm?.settle();
        settling = settling.then(settled).catch((error: unknown) => {
          log.error({ err: error }, "what was recorded cannot be read");
        });
      }
      warm?.write(at, wall());
    },
  });
  /** Revision of the market for which recorded sessions were last read; absent if it has none. */
  let settledOf: number | undefined;
  let settling = Promise.resolve();
  /** Runs after the first scores, and whenever all scores were recomputed. */
  const settled = async () => {
    settledOf = market.revision?.();
    void kept?.write();
    if (market.mode === "sandbox") return;
    const to = refresh.knownUntil;
    await serveRecorded(options.store.archive, snapshots, { from: market.servedFrom(to), to });
  };
  if (shownUntil === undefined) {
    refresh.run();
    await settled();
  }
  return {
    market,
    analyser,
    snapshots,
    ...(clock.endsAt !== undefined && { recordedUntil: clock.endsAt }),
    updates: { onUpdate: (listener) => refresh.updates.onUpdate(listener) },
    refresh: () => refresh.run(),
    live,
    isWarm: () => warm?.isShown ?? false,
    async close() {
      await live?.close();
      await warm?.close();
    },
    marketNow: () => clock.now(wall()),
    knownUntil: () => refresh.knownUntil,
    recordableUntil: () => Math.min(refresh.knownUntil, confirmedUntil(live)),
    start: () => clock.start(wall()),
    untilNextRefresh() {
      const waitMs = clock.untilNext(wall());
      return waitMs !== undefined && isHeld() ? Math.max(waitMs, HELD_MS) : waitMs;
    },
    waitFor(isBehind) {
      if (market.mode === "replay") isHeld = isBehind;
    },
    check() {
      const at = new Date(clock.now(wall())).toISOString();
      const hasEnded = clock.untilNext(wall()) === undefined;
      return { ok: true, detail: hasEnded ? `ended at ${at}` : `at ${at}` };
    },
  };
}

/**
 * Instant up to which sessions have their data. Without observations there is nothing to record.
 */
function confirmedUntil(live: LiveMarkets | undefined): number {
  const confirmedAt = live?.confirmedAt() ?? Number.NEGATIVE_INFINITY;
  return Number.isFinite(confirmedAt) ? confirmedAt + CONFIRMED_MS : Number.POSITIVE_INFINITY;
}

/**
 * Signals at year ends, stored by earlier replays of a recorded market. The sandbox's record is too short
 * to need them, and a live market's past changes while providers backfill it.
 */
async function openKeptSignals(
  { mode }: Market,
  { modelSha256 }: Analyzer,
  { config, log, deriveKey }: ScoringOptions,
): Promise<KeptSignalsFile | undefined> {
  if (mode !== "files" && mode !== "replay") return undefined;
  const { KeptSignalsFile } = await import("./kept-signals.ts");
  const kept = new KeptSignalsFile({
    folder: config.store.folder,
    key: deriveKey("kept-signals"),
    method: `${METHOD_VERSION} ${modelSha256 ?? "lexicon"}`,
    log,
  });
  await kept.read();
  return kept;
}

/**
 * Scores of the previous run, for markets that a later run scores the same. Not for a replay, which
 * begins again, nor for a live market, which may have received more data meanwhile.
 */
async function openWarmStart(
  { market, snapshots }: ScoredMarket,
  analyser: Analyzer,
  { config, log, deriveKey, sandbox }: ScoringOptions,
): Promise<WarmStart | undefined> {
  const { mode } = market;
  if ((mode !== "sandbox" && mode !== "files") || sandbox !== undefined) return undefined;
  const { WarmStart } = await import("./warm-start.ts");
  return new WarmStart({
    market,
    snapshots,
    folder: config.store.folder,
    key: deriveKey("last-scores"),
    origin: [config.market, analyser],
    log,
  });
}

/** Live providers are loaded only where they are configured. */
async function openConfigured(options: ScoringOptions) {
  const { config, now, storeNow, store, log, onProgress } = options;
  const choice = config.market;
  const progress = onProgress ? { onProgress } : {};
  if (choice.kind !== "live") return { ...(await openMarket(choice, progress)), live: undefined };
  const { openLive } = await import("./live.ts");
  const live = await openLive(choice, {
    store,
    folder: config.store.folder,
    log,
    now: () => now().getTime(),
    steady: storeNow,
    ...progress,
  });
  return { market: live.market, clock: live.clock, live };
}
