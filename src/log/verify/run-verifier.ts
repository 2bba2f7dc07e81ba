import type { AssetClass } from "../../market/instrument.ts";
import { CheckFailure } from "../../tree/check.ts";
import type { LeafOf } from "./read-leaf.ts";

/** The covered instruments of an asset class, as logged last. */
interface Covered {
  readonly index: number;
  readonly parts: number;
  read: number;
  readonly symbols: string[];
}

/** A run and the number of its results read so far. */
interface OpenRun {
  readonly index: number;
  readonly run: LeafOf<"run">;
  /** Symbols of the universe; `undefined` if the log no longer stores it. */
  readonly symbols: readonly string[] | undefined;
  results: number;
}

/**
 * Checks that every run names the universe logged before it, comes after the run before it, and is
 * followed by one result for each instrument of its universe, in their order.
 *
 * Where a method takes `skipped`, entries before this index are no longer stored, so what an entry
 * refers to may be among them.
 */
export class RunVerifier {
  readonly #universes = new Map<AssetClass, Covered>();
  /** Close of the last run of each class, Unix milliseconds. */
  readonly #lastCloses = new Map<AssetClass, number>();
  #open: OpenRun | undefined;
  #runs = 0;

  /** Number of runs added. */
  get runs(): number {
    return this.#runs;
  }

  /** Asset class of the run whose results are being read; `undefined` if there is none. */
  get openClass(): AssetClass | undefined {
    return this.#open?.run.assetClass;
  }

  /**
   * Adds a part of a universe.
   *
   * @throws {CheckFailure} If the part before it is missing.
   */
  addUniverse(index: number, leaf: LeafOf<"universe">, skipped: number): void {
    const { assetClass, part, parts, symbols } = leaf;
    const before = this.#universes.get(assetClass);
    if (part === 1) {
      this.#universes.set(assetClass, { index, parts, read: 1, symbols: [...symbols] });
    } else if (before === undefined && skipped > 0) {
      return;
    } else if (before?.read === part - 1 && before.parts === parts) {
      before.read = part;
      before.symbols.push(...symbols);
    } else {
      throw new CheckFailure(`is part ${part} of a universe whose part before is missing`);
    }
  }

  /**
   * Adds a run, whose results follow even if the run is wrong.
   *
   * @throws {CheckFailure} If it names another universe, announces another number of results, or is
   * not later than the run before it.
   */
  addRun(index: number, run: LeafOf<"run">, skipped: number): void {
    const universe = this.#universes.get(run.assetClass);
    const isKnown = run.universe >= skipped;
    const symbols = isKnown ? (universe?.symbols ?? []) : undefined;
    const lastClose = this.#lastCloses.get(run.assetClass);
    this.#runs += 1;
    this.#open = { index, run, symbols, results: 0 };
    this.#lastCloses.set(run.assetClass, run.close);
    const isWhole = universe?.index === run.universe && universe.read === universe.parts;
    if (isKnown && !isWhole) {
      throw new CheckFailure("names another universe than the last one of its class");
    }
    if (symbols !== undefined && run.results !== symbols.length) {
      throw new CheckFailure(`announces ${run.results} results of ${symbols.length} instruments`);
    }
    if (lastClose !== undefined && run.close <= lastClose) {
      throw new CheckFailure("is of a session that is not after the one before");
    }
  }

  /**
   * Adds a result.
   *
   * @throws {CheckFailure} If it is not the next one that the open run announces.
   */
  addSignal({ run, close, symbol }: LeafOf<"signal">, skipped: number): void {
    const open = this.#open;
    // The first stored results may belong to a run that the log no longer stores.
    if (open === undefined && run < skipped) return;
    if (open === undefined || open.results >= open.run.results) {
      throw new CheckFailure("is a result that no run announces");
    }
    const expected = open.symbols?.[open.results];
    open.results += 1;
    const place = `instrument ${open.results} of its universe`;
    if (run !== open.index || close !== open.run.close) {
      throw new CheckFailure(`is of another run than the one at ${open.index}`);
    }
    if (open.symbols === undefined || symbol === expected) return;
    if (open.symbols.includes(symbol)) {
      throw new CheckFailure(`is a run without the result of ${place}`, open.index);
    }
    throw new CheckFailure(`is not of ${place}`);
  }

  /**
   * Ends the open run.
   *
   * @throws {CheckFailure} If results of the run are missing.
   */
  endRun(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined || open.results === open.run.results) return;
    const missing = open.symbols?.[open.results] ?? "an instrument";
    throw new CheckFailure(`is a run without the result of ${missing}`, open.index);
  }
}
