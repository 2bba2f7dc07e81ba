import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import type { AssetClass } from "../market/instrument.ts";
import type { Market } from "../market/market.ts";
import type { KeptSignals, SignalKeeper } from "../score/kept-signals.ts";
import type { SignalState } from "../score/signal-hysteresis.ts";
import { DataHash } from "../sources/data-hash.ts";
import { AuthenticatedFile } from "./authenticated-file.ts";

/** Name of the file in DATA_DIR. */
const FILE = "kept-signals.json";

/** The signals of the classes of which a session closed at one instant. */
interface Entry {
  /** Unix milliseconds. */
  readonly at: number;
  /** Hash of everything known by then, from a `DataHash` that advances from entry to entry. */
  readonly dataHash: string;
  readonly classes: readonly {
    readonly assetClass: AssetClass;
    readonly signals: readonly (readonly [symbol: string, signal: SignalState])[];
  }[];
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
  /** A market whose past does not change. */
  readonly market: Market;
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
  #dataHash: DataHash;
  #entries: Entry[] = [];
  /** Entries of later closes, which this start has not compared with the records. */
  #later: readonly Entry[] = [];
  /** Signals of closes after the last entry. */
  #fresh: KeptSignals[] = [];

  constructor(options: KeptSignalsOptions) {
    this.#options = options;
    this.#file = new AuthenticatedFile(join(options.folder, FILE), options.key);
    this.#dataHash = new DataHash(options.market);
  }

  /** Reads the entries before an instant (Unix milliseconds) whose records are still the same. */
  async read(before: number): Promise<void> {
    const { log, method } = this.#options;
    try {
      const content = await this.#file.read();
      if (content?.method !== method) return;
      const past = content.entries.filter(({ at }) => at < before);
      const isSame = (entry: Entry) => this.#dataHash.advance(entry.at) === entry.dataHash;
      const same = past.findIndex((entry) => !isSame(entry));
      this.#entries = past.slice(0, same < 0 ? past.length : same);
      if (same < 0) this.#later = content.entries.slice(past.length);
      else this.#rehash();
    } catch (error) {
      log.warn({ err: error }, `${FILE} cannot be used; every session is scored`);
    }
  }

  /** Restarts the hash, without the instant at which the records turned out to differ. */
  #rehash(): void {
    this.#dataHash = new DataHash(this.#options.market);
    for (const { at } of this.#entries) this.#dataHash.advance(at);
  }

  newest(assetClass: AssetClass, before: number): KeptSignals | undefined {
    const entry = this.#entries.findLast(
      ({ at, classes }) => at < before && classes.some((one) => one.assetClass === assetClass),
    );
    const found = entry?.classes.find((one) => one.assetClass === assetClass);
    return entry && found && { assetClass, at: entry.at, signals: new Map(found.signals) };
  }

  keep(signals: KeptSignals): void {
    if (signals.at > (this.#entries.at(-1)?.at ?? 0)) this.#fresh.push(signals);
  }

  /** Writes the signals kept since the last call, yielding to the event loop in between. */
  async write(): Promise<void> {
    const { method, log } = this.#options;
    const fresh = Map.groupBy(this.#fresh, ({ at }) => at);
    this.#fresh = [];
    if (fresh.size === 0) return;
    try {
      for (const at of [...fresh.keys()].sort((a, b) => a - b)) {
        const classes = (fresh.get(at) ?? []).map(({ assetClass, signals }) => ({
          assetClass,
          signals: [...signals],
        }));
        const entry = { at, dataHash: this.#dataHash.advance(at), classes };
        this.#entries.push(entry);
        const later = this.#later.findIndex((one) => isDeepStrictEqual(one, entry));
        this.#later = later < 0 ? [] : this.#later.slice(later + 1);
        await setImmediate();
      }
      await this.#file.write({ method, entries: [...this.#entries, ...this.#later] });
    } catch (error) {
      log.warn({ err: error }, `${FILE} cannot be written; the next start scores every session`);
    }
  }
}
