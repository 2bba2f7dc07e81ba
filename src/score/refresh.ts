import type { ScoringEngine } from "./scoring-engine.ts";
import type { Snapshot } from "./snapshot.ts";
import type { MemoryArchive } from "./snapshot-archive.ts";

/**
 * Steps of a refresh that run without yielding. Usually there are few new sessions; more of them
 * usually mean that the replay starts over.
 */
const STEPS_AT_ONCE = 6;

/** A market clock that moves back by more than this, in milliseconds, was wrong before. */
const SET_BACK_MS = 60_000;

/** The engine, and the clock of its market. */
interface RefreshOptions {
  readonly engine: ScoringEngine;
  readonly snapshots: MemoryArchive;
  /** Advances market time. @returns The instant up to which the market is known. */
  readonly advanceClock: () => number;
  /** Whether every refresh runs to completion synchronously: a replay's clock waits for its scores. */
  readonly isSynchronous: boolean;
  /** Called when the clock moved back to an instant; absent where that cannot happen. */
  readonly onSetBack?: ((at: number) => void) | undefined;
  readonly onError: (error: unknown) => void;
  /** Called after every completed refresh with the instant up to which everything is scored. */
  readonly onPublished?: ((at: number) => void) | undefined;
  /** Instant of the scores shown before the first refresh; absent: there are none. */
  readonly shownUntil?: number | undefined;
}

/**
 * Keeps the scores of a market up to its clock. A long refresh runs step by step on the event loop:
 * requests and the renewal of the leader's lease run in between, and readers have the snapshots of
 * the last complete refresh until it ends. A step takes up to 30 ms for 500 instruments, and 0.3 s
 * for a day with 28,000 messages.
 */
export class ScoreRefresh {
  readonly updates = new SignalUpdates();
  readonly #options: RefreshOptions;
  #isUnderWay = false;
  #knownUntil = 0;
  #advancedTo = 0;

  constructor(options: RefreshOptions) {
    this.#options = options;
    this.#knownUntil = options.shownUntil ?? 0;
  }

  /** Instant up to which everything is known and scored, Unix milliseconds. */
  get knownUntil(): number {
    return this.#knownUntil;
  }

  /** Scores everything that became known since the last call. */
  run(): void {
    if (this.#isUnderWay) return;
    const until = this.#advance();
    const steps = this.#options.engine.refreshInSteps(until);
    // No request is waiting during the first refresh.
    const isAtOnce = this.#knownUntil === 0 || this.#options.isSynchronous;
    const hasEnded = runSteps(steps, isAtOnce ? Number.POSITIVE_INFINITY : STEPS_AT_ONCE);
    if (hasEnded) this.#publish(until);
    else this.#continue(steps, until);
  }

  #advance(): number {
    const until = this.#options.advanceClock();
    if (this.#options.onSetBack && this.#advancedTo - until > SET_BACK_MS) {
      this.#options.onSetBack(until);
      this.#knownUntil = until;
    }
    this.#advancedTo = until;
    return until;
  }

  #continue(steps: Generator<void, void>, until: number): void {
    try {
      this.#isUnderWay = !runSteps(steps, 1);
      if (this.#isUnderWay) setImmediate(() => this.#continue(steps, until));
      else this.#publish(until);
    } catch (error) {
      this.#isUnderWay = false;
      this.#options.onError(error);
    }
  }

  #publish(until: number): void {
    this.#knownUntil = until;
    this.#options.onPublished?.(until);
    this.updates.compare(this.#options.snapshots.allNewest());
  }
}

/** Runs up to `count` steps. @returns Whether the generator has ended. */
function runSteps(steps: Generator<void, void>, count: number): boolean {
  for (let step = 0; step < count; step++) if (steps.next().done) return true;
  return false;
}

/** Called with the symbol of an instrument whose signal has changed. */
type Listener = (symbol: string) => void;

/** Finds the signals that changed from one refresh to the next. */
export class SignalUpdates {
  readonly #listeners = new Set<{ readonly listener: Listener }>();
  /** By symbol. */
  readonly #seen = new Map<string, string>();

  /** @returns A function that stops listening. */
  onUpdate(listener: Listener): () => void {
    const added = { listener };
    this.#listeners.add(added);
    return () => void this.#listeners.delete(added);
  }

  /** Compares snapshots with those of the previous call, and notifies listeners of changes; the
   *  first call notifies nobody. */
  compare(snapshots: Iterable<Snapshot>): void {
    for (const snapshot of snapshots) {
      const { symbol } = snapshot.instrument;
      const content = contentOf(snapshot);
      const before = this.#seen.get(symbol);
      this.#seen.set(symbol, content);
      if (before === undefined || before === content) continue;
      for (const { listener } of this.#listeners) listener(symbol);
    }
  }
}

/** The parts of a snapshot whose change is an update. */
const contentOf = ({ status, score, signal, confidence }: Snapshot): string =>
  `${status} ${signal.direction} ${score.toFixed(2)} ${confidence.toFixed(2)}`;
