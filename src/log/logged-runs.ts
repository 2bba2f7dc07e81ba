import { AssetClass, type Instrument } from "../market/instrument.ts";
import { isRunCovered } from "./log-reader.ts";
import type { LoggedRun, LogStore } from "./log-store.ts";

/** Maximum number of runs per asset class in memory; the newest are kept. */
const KEPT_RUNS = 2_000;

/** Position of each symbol in a list of symbols; cached by list, since most runs share a list. */
const positions = new WeakMap<readonly string[], ReadonlyMap<string, number>>();

function positionsOf({ symbols }: LoggedRun): ReadonlyMap<string, number> {
  const known = positions.get(symbols) ?? new Map(symbols.map((symbol, at) => [symbol, at]));
  positions.set(symbols, known);
  return known;
}

/** In-memory index of logged runs: finds the log entry of the signal on which an answer is based.
 *  Each process has its own. */
export class LoggedRuns {
  readonly #store: LogStore;
  /** Runs by asset class, oldest first. */
  readonly #runs = new Map<AssetClass, LoggedRun[]>();
  #id: string | undefined;
  #edition = 0;

  constructor(store: LogStore) {
    this.#store = store;
  }

  /** Increases whenever runs are added. */
  get edition(): number {
    return this.#edition;
  }

  /**
   * Reads the runs that checkpoints have covered since the last call.
   *
   * @returns Number of runs read.
   */
  async reload(): Promise<number> {
    const checkpoint = await this.#store.published();
    if (checkpoint === undefined) return 0;
    if (checkpoint.id !== this.#id) this.#runs.clear();
    this.#id = checkpoint.id;
    let added = 0;
    for (const assetClass of AssetClass.options) {
      const known = this.#runs.get(assetClass) ?? [];
      const from = (known.at(-1)?.close ?? Number.NEGATIVE_INFINITY) + 1;
      const range = { ...(Number.isFinite(from) && { from }), limit: KEPT_RUNS };
      const newest = await this.#store.runs(checkpoint.id, assetClass, range);
      const covered = newest.filter((run) => isRunCovered(run, checkpoint)).reverse();
      known.push(...covered);
      this.#runs.set(assetClass, known.slice(-KEPT_RUNS));
      added += covered.length;
    }
    if (added > 0) this.#edition += 1;
    return added;
  }

  /**
   * Index of the leaf with an instrument's signal at the close of a session (Unix milliseconds).
   */
  indexOf({ assetClass, symbol }: Instrument, close: number): number | undefined {
    const run = this.#runs.get(assetClass)?.findLast((one) => one.close <= close);
    if (run?.close !== close) return undefined;
    const position = positionsOf(run).get(symbol);
    return position === undefined ? undefined : run.index + 1 + position;
  }
}
