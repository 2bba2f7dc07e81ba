import { join } from "node:path";
import type { Logger } from "pino";
import type { Market } from "../market/market.ts";
import { METHOD_VERSION, type Snapshot } from "../score/snapshot.ts";
import type { MemoryArchive } from "../score/snapshot-archive.ts";
import { AuthenticatedFile } from "./authenticated-file.ts";

/** Name of the file in DATA_DIR. */
const FILE = "last-scores.json";

/** Maximum age of last scores that are shown, in market days. */
const MAX_AGE_DAYS = 10;

/** Shortest time between two writes, in milliseconds. */
const WRITE_EVERY_MS = 30_000;

/** The newest snapshots of one run, without the tables of their peers. */
interface LastScores {
  /** Market, method and sentiment reader. */
  readonly origin: string;
  /** Instant up to which everything was scored, Unix milliseconds. */
  readonly at: number;
  readonly snapshots: readonly Snapshot[];
}

/** Dependencies of a warm start. */
export interface WarmStartOptions {
  readonly market: Market;
  readonly snapshots: MemoryArchive;
  /** Directory of the data of this machine. */
  readonly folder: string;
  /** 32 bytes that the file is authenticated with. */
  readonly key: Uint8Array;
  /** The market as configured, and the sentiment reader. */
  readonly origin: unknown;
  readonly log: Logger;
}

/**
 * Shows the scores that the previous run ended with until they have been computed again. They are
 * not part of the history, so nothing is recorded from them and no alert fires on them.
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
    this.#origin = JSON.stringify([METHOD_VERSION, origin]);
  }

  /** Whether the scores shown are those of the previous run. */
  get isShown(): boolean {
    return this.#shown !== undefined;
  }

  /**
   * Shows the last scores if they are of this market and this method, and recent enough.
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

  /** Compares the last scores with the computed ones; they are dropped either way. */
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

  /** Writes the newest snapshots, not more often than every 30 s. */
  write(at: number, now: number): void {
    if (now - this.#writtenAt < WRITE_EVERY_MS) return;
    this.#writtenAt = now;
    const { snapshots, log } = this.#options;
    const newest = snapshots.allNewest().map((one) => ({ ...one, tables: undefined }));
    this.#writing = this.#file
      .write({ origin: this.#origin, at, snapshots: newest as unknown as readonly Snapshot[] })
      .catch((error: unknown) => log.warn({ err: error }, `${FILE} cannot be written`));
  }

  /** Waits for the file. */
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

/** The text of a snapshot, except for its tables. */
const textOf = (snapshot: object): string => JSON.stringify({ ...snapshot, tables: undefined });
