import { join } from "node:path";
import type { Logger } from "pino";
import type { AssetClass } from "../market/instrument.ts";
import type { KeptSignals, SignalKeeper } from "../score/kept-signals.ts";
import type { RecordSeries } from "../score/record-series.ts";
import type { SignalState } from "../score/signal-hysteresis.ts";
import { AuthenticatedFile } from "./authenticated-file.ts";

/** Name of the file in DATA_DIR. */
const FILE = "kept-signals.json";

/** The signals of a class after one close. */
interface Entry extends Omit<KeptSignals, "signals"> {
  readonly signals: readonly (readonly [symbol: string, signal: SignalState])[];
}

/** Content of the file. */
interface Content {
  /** What signals depend on besides the records: method and sentiment reader. */
  readonly method: string;
  /** In the order of their closes. */
  readonly entries: readonly Entry[];
}

/** Options of the stored signals. */
export interface KeptSignalsOptions {
  /** Directory of the data of this machine. */
  readonly folder: string;
  /** 32 bytes that the file is authenticated with. */
  readonly key: Uint8Array;
  readonly method: string;
  readonly log: Logger;
}

/**
 * Signals at year ends, stored by earlier replays of the same records and method. They are used only
 * if everything known by then is the same, bit for bit.
 */
export class KeptSignalsFile implements SignalKeeper {
  readonly #options: KeptSignalsOptions;
  readonly #file: AuthenticatedFile<Content>;
  #entries: readonly Entry[] = [];
  /** Whether there are entries that the file lacks. */
  #isChanged = false;

  constructor(options: KeptSignalsOptions) {
    this.#options = options;
    this.#file = new AuthenticatedFile(join(options.folder, FILE), options.key);
  }

  /** Reads the file. */
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
  ): KeptSignals | undefined {
    const found = this.#entries.findLast(
      (entry) =>
        entry.assetClass === assetClass &&
        entry.at < before &&
        entry.series === series.at(entry.at),
    );
    return found && { ...found, signals: new Map(found.signals) };
  }

  /** Stores signals in place of those of another series at the same close. */
  keep({ assetClass, at, series, signals }: KeptSignals): void {
    const isOfClose = (entry: Entry) => entry.assetClass === assetClass && entry.at === at;
    if (this.#entries.find(isOfClose)?.series === series) return;
    const others = this.#entries.filter((entry) => !isOfClose(entry));
    this.#entries = [...others, { assetClass, at, series, signals: [...signals] }].sort(
      (one, other) => one.at - other.at,
    );
    this.#isChanged = true;
  }

  /** Writes the file if signals were kept since the last call. */
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
