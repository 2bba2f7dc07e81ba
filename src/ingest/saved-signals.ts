import { join } from "node:path";
import type { Logger } from "pino";
import type { AssetClass } from "../market/instrument.ts";
import type { RecordSeries } from "../score/record-series.ts";
import type { SavedSignals, SavedSignalsStore } from "../score/saved-signals.ts";
import type { SignalState } from "../score/signal-hysteresis.ts";
import { AuthenticatedFile } from "./authenticated-file.ts";

/** Name of the file in DATA_DIR. */
const FILE = "kept-signals.json";

/** The signals of an asset class after one close. */
interface Entry extends Omit<SavedSignals, "signals"> {
  readonly signals: readonly (readonly [symbol: string, signal: SignalState])[];
}

/** Content of the file. */
interface Content {
  /** Method version and sentiment reader, which determine the signals together with the records. */
  readonly method: string;
  /** Entries ordered by close, oldest first. */
  readonly entries: readonly Entry[];
}

/** Options of `SavedSignalsFile`. */
interface SavedSignalsOptions {
  /** Data directory of this machine. */
  readonly folder: string;
  /** 32-byte HMAC key of the file. */
  readonly key: Uint8Array;
  readonly method: string;
  readonly log: Logger;
}

/**
 * Signals at year ends, stored by earlier replays of the same records and method. The signals at a
 * year end are used only if all records known by then are identical, bit for bit, to the records of
 * the earlier replay.
 */
export class SavedSignalsFile implements SavedSignalsStore {
  readonly #options: SavedSignalsOptions;
  readonly #file: AuthenticatedFile<Content>;
  #entries: readonly Entry[] = [];
  /** Whether entries have changed since the file was last written. */
  #isChanged = false;

  constructor(options: SavedSignalsOptions) {
    this.#options = options;
    this.#file = new AuthenticatedFile(join(options.folder, FILE), options.key);
  }

  /** Reads the file. If it cannot be used, every session is scored. */
  async read(): Promise<void> {
    const { log, method } = this.#options;
    try {
      const content = await this.#file.read();
      if (content?.method === method) this.#entries = content.entries;
    } catch (error) {
      log.warn({ err: error }, `${FILE} cannot be used; every session is scored`);
    }
  }

  newest(
    assetClass: AssetClass,
    before: number,
    series: Pick<RecordSeries, "at">,
  ): SavedSignals | undefined {
    const found = this.#entries.findLast(
      (entry) =>
        entry.assetClass === assetClass &&
        entry.at < before &&
        entry.series === series.at(entry.at),
    );
    return found && { ...found, signals: new Map(found.signals) };
  }

  /**
   * Stores signals. They replace signals at the same close that were computed from other records.
   */
  keep({ assetClass, at, series, signals }: SavedSignals): void {
    const isOfClose = (entry: Entry) => entry.assetClass === assetClass && entry.at === at;
    if (this.#entries.find(isOfClose)?.series === series) return;
    const others = this.#entries.filter((entry) => !isOfClose(entry));
    this.#entries = [...others, { assetClass, at, series, signals: [...signals] }].sort(
      (one, other) => one.at - other.at,
    );
    this.#isChanged = true;
  }

  /** Writes the file if signals have changed since the last call. */
  async write(): Promise<void> {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    const { method, log } = this.#options;
    try {
      await this.#file.write({ method, entries: this.#entries });
    } catch (error) {
      log.warn({ err: error }, `${FILE} cannot be written; the next start scores every session`);
    }
  }
}
