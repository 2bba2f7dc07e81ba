import { AssetClass } from "../market/instrument.ts";
import type { MemoryArchive } from "../score/snapshot-archive.ts";
import type { LogState, UnfinishedRun } from "./log-state.ts";

/**
 * How far back a starting process looks for sessions that closed while no process was logging, in
 * market days.
 */
const CATCH_UP_DAYS = 30;

/** A session of an asset class, with its close in Unix milliseconds. */
export type ClosedSession = Pick<UnfinishedRun, "assetClass" | "close">;

/** Dependencies of `ClosedSessions`. */
export interface ClosedSessionsOptions {
  readonly snapshots: Pick<MemoryArchive, "allNewest" | "history">;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
  /** Instant up to which sessions have been scored, Unix milliseconds; never decreases. */
  readonly knownUntil: () => number;
}

/** The sessions that have closed and are not logged yet, as one process knows them. */
export class ClosedSessions {
  readonly #options: ClosedSessionsOptions;
  /** Sessions that were known by `#listedUntil`, oldest first; some may be logged by now. */
  #listed: readonly ClosedSession[] = [];
  #listedUntil = Number.NEGATIVE_INFINITY;

  constructor(options: ClosedSessionsOptions) {
    this.#options = options;
  }

  /** Whether a session may have closed that `next` has not yet found to be logged. */
  get isAny(): boolean {
    return this.#listed.length > 0 || this.#closedUntil(this.#options.knownUntil()).length > 0;
  }

  /** The oldest session that is not logged yet; `undefined` if all are. */
  next({ recordedUntil }: Pick<LogState, "recordedUntil">): ClosedSession | undefined {
    const until = this.#options.knownUntil();
    const isNew = ({ assetClass, close }: ClosedSession) =>
      close > (recordedUntil[assetClass] ?? 0);
    this.#listed = this.#listed.filter(isNew);
    if (this.#listed.length === 0 && until > this.#listedUntil) {
      this.#listed = this.#closedUntil(until).filter(isNew);
      this.#listedUntil = until;
    }
    return this.#listed[0];
  }

  #closedUntil(until: number): readonly ClosedSession[] {
    const { snapshots, dayMs } = this.#options;
    // After its first listing, a process skips no session, however far it falls behind.
    const isStart = this.#listedUntil === Number.NEGATIVE_INFINITY;
    const from = isStart ? until - CATCH_UP_DAYS * dayMs : this.#listedUntil + 1;
    const closes = new Map(AssetClass.options.map((one) => [one, new Set<number>()]));
    for (const { instrument } of snapshots.allNewest()) {
      const ofClass = closes.get(instrument.assetClass);
      for (const { at } of snapshots.history(instrument.symbol, from, until)) ofClass?.add(at);
    }
    return [...closes]
      .flatMap(([assetClass, found]) => [...found].map((close) => ({ assetClass, close })))
      .sort((a, b) => a.close - b.close);
  }

  /**
   * An instant just before the newest session of each class: a new log begins with these sessions,
   * because current answers are based on them.
   */
  beforeNewest(): LogState["recordedUntil"] {
    const newest = new Map<AssetClass, number>();
    const { snapshots, knownUntil } = this.#options;
    for (const { instrument } of snapshots.allNewest()) {
      const { assetClass, symbol } = instrument;
      const close = snapshots.history(symbol, 0, knownUntil()).at(-1)?.at ?? 0;
      newest.set(assetClass, Math.max(close, newest.get(assetClass) ?? 0));
    }
    return Object.fromEntries([...newest].map(([assetClass, close]) => [assetClass, close - 1]));
  }
}
