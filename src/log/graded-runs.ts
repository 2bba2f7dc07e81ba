import { HEADLINE_HORIZONS, RECORD_HORIZONS } from "../grading/run-grade.ts";
import {
  type DatedVerdict,
  type GradedRun,
  type RecordFigures,
  recordFigures,
  recordVerdicts,
} from "../grading/track-record.ts";
import { AssetClass } from "../market/instrument.ts";
import type { LoggedGrade, LogStore } from "./log-store.ts";

/** Grades that are read at once. */
const PAGE = 1_000;

/** The track record of one class over one horizon. */
export interface ClassRecord {
  readonly figures: RecordFigures;
  /** Verdicts that have been due; empty for every horizon but the headline. */
  readonly verdicts: readonly DatedVerdict[];
  /** Oldest first. */
  readonly runs: readonly GradedRun[];
}

/** The graded runs of the log that the last checkpoint covers, in the memory of each process. */
export class GradedRuns {
  readonly #store: LogStore;
  /** Oldest first, by class and horizon. */
  readonly #runs = new Map<string, GradedRun[]>();
  /** Corrections that were read, and the index after the last. */
  readonly #corrections = new Map<string, { readonly count: number; readonly end: number }>();
  /** What was computed of them, with the number of runs, corrections and verdicts that it is of. */
  readonly #records = new Map<string, { readonly of: string; readonly record: ClassRecord }>();
  #id: string | undefined;

  constructor(store: LogStore) {
    this.#store = store;
  }

  /** Reads the grades that checkpoints came to cover since the last call. */
  async reload(): Promise<void> {
    const checkpoint = await this.#store.published();
    if (checkpoint === undefined) return;
    const { id, size } = checkpoint;
    if (id !== this.#id) {
      this.#runs.clear();
      this.#corrections.clear();
    }
    this.#id = id;
    for (const assetClass of AssetClass.options) {
      for (const horizon of RECORD_HORIZONS[assetClass]) {
        await this.#extend(id, { assetClass, horizon }, size);
      }
    }
  }

  async #extend(id: string, of: Pick<LoggedGrade, "assetClass" | "horizon">, size: number) {
    const known = this.#runs.get(keyOf(of)) ?? [];
    this.#runs.set(keyOf(of), known);
    for (;;) {
      const from = (known.at(-1)?.close ?? Number.NEGATIVE_INFINITY) + 1;
      const page = await this.#store.grades(id, of, { from: Math.max(0, from), limit: PAGE });
      const covered = page.filter(({ end }) => end <= size);
      known.push(...covered.map(({ graded }) => graded));
      if (covered.length < PAGE) break;
    }
    await this.#correct(id, of, size);
  }

  async #correct(id: string, of: Pick<LoggedGrade, "assetClass" | "horizon">, size: number) {
    const runs = this.#runs.get(keyOf(of)) ?? [];
    for (;;) {
      const { count = 0, end = 0 } = this.#corrections.get(keyOf(of)) ?? {};
      const page = await this.#store.corrections(id, of, { from: end + 1, limit: PAGE });
      const covered = page.filter((one) => one.end <= size);
      for (const { graded } of covered) {
        const at = runs.findLastIndex(({ close }) => close === graded.close);
        if (at >= 0) runs[at] = graded;
      }
      const last = covered.at(-1);
      if (last === undefined) return;
      this.#corrections.set(keyOf(of), { count: count + covered.length, end: last.end });
    }
  }

  /**
   * The track record of a class over one horizon. Intervals take some 10 ms for each year of runs, so
   * they are computed once for each state of the log.
   *
   * @param verdictDates When verdicts are given, Unix milliseconds.
   * @param now On the market's clock, Unix milliseconds.
   */
  record(
    assetClass: AssetClass,
    horizon: number,
    verdictDates: readonly number[],
    now: number,
  ): ClassRecord {
    const key = keyOf({ assetClass, horizon });
    const runs = this.#runs.get(key) ?? [];
    const isHeadline = HEADLINE_HORIZONS[assetClass] === horizon;
    const due = isHeadline ? verdictDates.filter((at) => at <= now).length : 0;
    const corrected = this.#corrections.get(key)?.count ?? 0;
    const of = `${this.#id} ${runs.length} ${corrected} ${due}`;
    const known = this.#records.get(key);
    if (known?.of === of) return known.record;
    const record = {
      figures: recordFigures(assetClass, horizon, runs),
      verdicts: isHeadline ? recordVerdicts(assetClass, runs, verdictDates, now) : [],
      runs: [...runs],
    };
    this.#records.set(key, { of, record });
    return record;
  }
}

const keyOf = ({ assetClass, horizon }: Pick<LoggedGrade, "assetClass" | "horizon">) =>
  `${assetClass} ${horizon}`;
