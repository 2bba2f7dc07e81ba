import type { Market } from "../market/market.ts";
import { runningMethod } from "../method/running.ts";
import { ScoreRefresh, type SignalUpdates } from "../score/refresh.ts";
import type { SavedSignalsStore } from "../score/saved-signals.ts";
import { ScoringEngine } from "../score/scoring-engine.ts";
import { createSnapshotArchive, type MemoryArchive } from "../score/snapshot-archive.ts";
import type { MarketClock } from "../sources/market-clock.ts";
import { type MarketSettings, type OpenedMarket, openMarket } from "../sources/open-market.ts";
import type { ComponentState } from "../telemetry/readiness.ts";
import type { LiveMarkets, LiveMarketsOptions } from "./live.ts";
import type { SavedSignalsFile } from "./saved-signals.ts";
import { serveRecordedSnapshots } from "./session-archive.ts";
import type { WarmStart } from "./warm-start.ts";

/**
 * A session counts as complete if its close is at most this long after the last confirmed
 * observation, in milliseconds. Such a gap is normal: the data of a session arrive some time before
 * its close counts as known.
 */
const CONFIRMED_MS = 3_600_000;

/** Interval at which a waiting replay checks whether the work on its sessions is done, in
 *  milliseconds. */
const HELD_MS = 10;

/** Options of `openScoring`. */
interface ScoringOptions {
  readonly settings: {
    readonly market: MarketSettings;
    /** Absolute path of the data folder. */
    readonly store: { readonly folder: string };
  };
  readonly now: () => Date;
  /**
   * A clock that is never adjusted, in Unix milliseconds; if absent, the machine's clock is
   * trusted.
   */
  readonly storeNow?: (() => number) | undefined;
  readonly store: LiveMarketsOptions["store"];
  /** Derives a 32-byte key for one purpose from the master key. */
  readonly deriveKey: (purpose: string) => Uint8Array;
  readonly log: LiveMarketsOptions["log"];
  /**
   * A sandbox that is already scored, which several services use one after another; if absent, a
   * new one is opened.
   */
  readonly sandbox?: ScoredMarket | undefined;
  /** Called with the progress of reading the market. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/** An open market with its scoring engine and the snapshots of its scores. */
export interface ScoredMarket {
  readonly market: Market;
  readonly clock: MarketClock;
  readonly engine: ScoringEngine;
  readonly snapshots: MemoryArchive;
}

/**
 * Adds an engine to a market; nothing is scored yet.
 *
 * @param keeper Signals stored by earlier replays of the same records. Default: every session is
 * scored.
 */
export function createScoredMarket(
  { market, clock }: OpenedMarket,
  keeper?: SavedSignalsStore,
): ScoredMarket {
  const snapshots = createSnapshotArchive();
  const engine = new ScoringEngine(market, snapshots, keeper);
  return { market, clock, engine, snapshots };
}

/** A market with its scores. */
export interface Scoring {
  readonly market: Market;
  readonly snapshots: MemoryArchive;
  readonly updates: Pick<SignalUpdates, "onUpdate">;
  /** The live providers; `undefined` if the market is recorded or simulated. */
  readonly live: Pick<LiveMarkets, "setup" | "work" | "check"> | undefined;
  /** The current time of the market, Unix milliseconds. */
  marketNow(): number;
  /** Where the recording ends, Unix milliseconds; absent for a market without an end. */
  readonly recordedUntil?: number;
  /** Instant up to which everything is known and scored, at most now; Unix milliseconds. */
  knownUntil(): number;
  /**
   * Like `knownUntil`, but excludes sessions that seem to have closed only because the machine's
   * clock is wrong, so that such sessions are not recorded.
   */
  recordableUntil(): number;
  /**
   * Whether the scores of the previous run are still shown, while new scores are being computed.
   */
  isProvisional(): boolean;
  /** Stops the work in progress. */
  close(): Promise<void>;
  /** Starts the market's clock. */
  start(): void;
  /** Scores everything that became known since the last call. */
  refresh(): void;
  /** Milliseconds until there may be something new to score; `undefined` if the market's clock is
   *  stopped. */
  untilNextRefresh(): number | undefined;
  /**
   * Makes the clock of a replay wait at each step while `isBehind` returns true, i.e. while earlier
   * sessions are still being processed.
   */
  waitFor(isBehind: () => boolean): void;
  /**
   * Reports the current instant of the market. The end of a recording is not a fault: answers then
   * refer to its last instant.
   */
  check(): ComponentState;
}

/**
 * Opens the configured market and scores all of its data known so far.
 *
 * @throws {Error} If a file or folder cannot be used; the message says what to do.
 */
export async function openScoring(options: ScoringOptions): Promise<Scoring> {
  const { log } = options;
  const wall = () => options.now().getTime();
  // Not first for a request: where the code was changed, this takes seconds.
  const { version } = runningMethod();
  const { live, ...opened } = await openConfigured(options);
  const saved = await openSavedSignals(opened.market, version, options);
  const { market, clock, engine, snapshots } = options.sandbox ?? createScoredMarket(opened, saved);
  const warm = await openWarmStart({ market, clock, engine, snapshots }, options);
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
      // Late history changes the computed scores but not the recorded statements, so the recorded
      // statements are reread.
      if (warm?.isShown || (settledOf !== undefined && settledOf !== market.revision?.())) {
        warm?.settle();
        settling = settling.then(settled).catch((error: unknown) => {
          log.error({ err: error }, "what was recorded cannot be read");
        });
      }
      warm?.write(at, wall());
    },
  });
  /**
   * Market revision for which recorded sessions were last read; `undefined` if the market has no
   * revisions.
   */
  let settledOf: number | undefined;
  let settling = Promise.resolve();
  /** Called after the first scores are published, and whenever all scores were recomputed. */
  const settled = async () => {
    settledOf = market.revision?.();
    void saved?.write();
    if (market.mode === "sandbox") return;
    const to = refresh.knownUntil;
    await serveRecordedSnapshots(options.store.archive, snapshots, {
      from: market.servedFrom(to),
      to,
    });
  };
  if (shownUntil === undefined) {
    refresh.run();
    await settled();
  }
  return {
    market,
    snapshots,
    ...(clock.endsAt !== undefined && { recordedUntil: clock.endsAt }),
    updates: { onUpdate: (listener) => refresh.updates.onUpdate(listener) },
    refresh: () => refresh.run(),
    live,
    isProvisional: () => warm?.isShown ?? false,
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
 * Instant up to which sessions have complete data, Unix milliseconds; infinity if no observation
 * has been confirmed, since there is then nothing to record.
 */
function confirmedUntil(live: LiveMarkets | undefined): number {
  const confirmedAt = live?.confirmedAt() ?? Number.NEGATIVE_INFINITY;
  return Number.isFinite(confirmedAt) ? confirmedAt + CONFIRMED_MS : Number.POSITIVE_INFINITY;
}

/**
 * Opens the year-end signals stored by earlier replays of a recorded market. The history of the
 * sandbox is too short to need them, and the history of a live market still changes while providers
 * backfill it.
 *
 * @param method Version of the method and reader of sentiment, which the stored signals must have.
 */
async function openSavedSignals(
  { mode }: Market,
  method: string,
  { settings, log, deriveKey }: ScoringOptions,
): Promise<SavedSignalsFile | undefined> {
  if (mode !== "files" && mode !== "replay") return undefined;
  const { SavedSignalsFile } = await import("./saved-signals.ts");
  const saved = new SavedSignalsFile({
    folder: settings.store.folder,
    key: deriveKey("kept-signals"),
    method,
    log,
  });
  await saved.read();
  return saved;
}

/**
 * Opens the scores of the previous run, for markets whose scores do not change between runs. A
 * replay and a live market do not use them: a replay starts over, and a live market may have
 * received more data in the meantime.
 */
async function openWarmStart(
  { market, snapshots }: ScoredMarket,
  { settings, log, deriveKey, sandbox }: ScoringOptions,
): Promise<WarmStart | undefined> {
  const { mode } = market;
  if ((mode !== "sandbox" && mode !== "files") || sandbox !== undefined) return undefined;
  const { WarmStart } = await import("./warm-start.ts");
  return new WarmStart({
    market,
    snapshots,
    folder: settings.store.folder,
    key: deriveKey("last-scores"),
    origin: settings.market,
    log,
  });
}

/** Opens the configured market. The code of live providers is loaded only for a live market. */
async function openConfigured(options: ScoringOptions) {
  const { settings, now, storeNow, store, log, onProgress } = options;
  const choice = settings.market;
  const progress = onProgress ? { onProgress } : {};
  if (choice.kind !== "live") return { ...(await openMarket(choice, progress)), live: undefined };
  const { openLiveMarkets } = await import("./live.ts");
  const live = await openLiveMarkets(choice, {
    store,
    folder: settings.store.folder,
    log,
    now: () => now().getTime(),
    steady: storeNow,
    ...progress,
  });
  return { market: live.market, clock: live.clock, live };
}
