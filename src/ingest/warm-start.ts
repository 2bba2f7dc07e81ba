import { join } from "node:path";
import type { Logger } from "pino";
import type { Market } from "../market/market.ts";
import { recordedCandidate } from "../method/recorded-candidate.ts";
import { runningMethod } from "../method/running.ts";
import type { PastSnapshot, Snapshot } from "../score/snapshot.ts";
import type { MemoryArchive } from "../score/snapshot-archive.ts";
import { AuthenticatedFile } from "./authenticated-file.ts";

/** Name of the file in DATA_DIR. */
const FILE = "last-scores.json";

/** Maximum age at which stored scores are shown, in days of the market's clock. */
const MAX_AGE_DAYS = 10;

/** Minimum time between two writes, in milliseconds. */
const WRITE_EVERY_MS = 30_000;

/** The newest snapshots of one run, without their peer tables. */
interface LastScores {
  /**
   * JSON text of the method version, market configuration and sentiment reader; scores of another
   * origin are not shown.
   */
  readonly origin: string;
  /** Instant up to which everything was scored, Unix milliseconds. */
  readonly at: number;
  readonly snapshots: readonly Snapshot[];
}

/** Dependencies of a warm start. */
interface WarmStartOptions {
  readonly market: Market;
  readonly snapshots: MemoryArchive;
  /** Data directory of this machine. */
  readonly folder: string;
  /** 32-byte HMAC key of the file. */
  readonly key: Uint8Array;
  /** Market configuration and sentiment reader. */
  readonly origin: unknown;
  readonly log: Logger;
}

/**
 * Shows the last scores of the previous run until new ones have been computed. They are not part of
 * the history, so nothing is recorded from them and no alert fires on them.
 */
export class WarmStart {
  readonly #options: WarmStartOptions;
  readonly #file: AuthenticatedFile<LastScores>;
  readonly #origin: string;
  #shown: LastScores | undefined;
  #writtenAt = Number.NEGATIVE_INFINITY;
  #writing = Promise.resolve();

  constructor(options: WarmStartOptions) {
    const { folder, key, origin } = options;
    this.#options = options;
    this.#file = new AuthenticatedFile(join(folder, FILE), key);
    this.#origin = JSON.stringify([runningMethod().version, origin]);
  }

  /** Whether the scores of the previous run are shown. */
  get isShown(): boolean {
    return this.#shown !== undefined;
  }

  /**
   * Shows the last scores if they belong to this market and method and are recent enough.
   *
   * @param until Instant up to which the market is known, Unix milliseconds.
   * @returns Instant of the last scores; `undefined` if there are none to show.
   */
  async show(until: number): Promise<number | undefined> {
    const { market, snapshots, log } = this.#options;
    const last = await this.#read();
    if (last === undefined || last.origin !== this.#origin) return undefined;
    const isSameRecord = market.scoredFrom?.(last.at) === market.scoredFrom?.(until);
    const isRecent = last.at <= until && until - last.at <= MAX_AGE_DAYS * market.dayMs;
    if (!isSameRecord || !isRecent) return undefined;
    this.#shown = last;
    snapshots.showLast(last.snapshots);
    log.debug({ at: last.at }, "the last scores are shown while they are computed anew");
    return last.at;
  }

  /** Drops the last scores, and warns if they differ from the computed ones. */
  settle(): void {
    const { snapshots, log } = this.#options;
    const last = this.#shown;
    this.#shown = undefined;
    if (last === undefined) return;
    const others = last.snapshots.filter((one) => {
      const found = snapshots.lastAt(one.instrument.symbol, last.at);
      return found === undefined || textOf(found) !== textOf(one);
    });
    if (others.length === 0) return;
    log.warn(
      { symbols: others.map(({ instrument }) => instrument.symbol) },
      "the last scores differ from those computed anew and were dropped",
    );
  }

  /** Writes the newest snapshots, at most once every 30 s. */
  write(at: number, now: number): void {
    if (now - this.#writtenAt < WRITE_EVERY_MS) return;
    this.#writtenAt = now;
    const { snapshots, log } = this.#options;
    const newest = snapshots.allNewest().map(recorded);
    this.#writing = this.#file
      .write({ origin: this.#origin, at, snapshots: newest as unknown as readonly Snapshot[] })
      .catch((error: unknown) => log.warn({ err: error }, `${FILE} cannot be written`));
  }

  /** Resolves when a write in progress has ended. */
  close(): Promise<void> {
    return this.#writing;
  }

  async #read(): Promise<LastScores | undefined> {
    try {
      return await this.#file.read();
    } catch (error) {
      this.#options.log.warn({ err: error }, `${FILE} cannot be used; the last scores are dropped`);
      return undefined;
    }
  }
}

/** A snapshot as it is written: without its peer tables. */
const recorded = (snapshot: PastSnapshot) => ({
  ...snapshot,
  tables: undefined,
  candidate: recordedCandidate(snapshot.candidate),
});

const textOf = (snapshot: PastSnapshot): string => JSON.stringify(recorded(snapshot));
