import {
  computeTrackRecordFigures,
  type GradedRun,
  type TrackRecordFigures,
  type TrackRecordTerms,
} from "../../grading/track-record.ts";
import type { RecordOf } from "../graded-runs.ts";

/**
 * The recomputed track record of a method of an asset class over a horizon; runs are sorted oldest
 * first.
 */
export interface VerifiedTrackRecord {
  readonly methodHash: string;
  readonly figures: TrackRecordFigures;
  readonly runs: readonly GradedRun[];
  readonly terms: TrackRecordTerms;
}

/** A grade of a run, and the number of log entries of which it is one. */
interface Grade {
  readonly end: number;
  readonly graded: GradedRun;
}

/** The track records that the outcomes in a log amount to. */
export class VerifiedRecords {
  /**
   * Grades of each run by class, horizon and method, oldest run first. A run has a grade for its
   * settlement and one for each correction; the last one is valid.
   */
  readonly #records = new Map<string, RecordOf & { readonly runs: (readonly Grade[])[] }>();

  /**
   * Adds a grade.
   *
   * @param place Index of the run that it corrects, among the runs of its record; absent for a new
   * run.
   * @returns The index of the run.
   */
  add({ assetClass, horizon, methodHash }: RecordOf, grade: Grade, place?: number): number {
    const key = `${assetClass} ${horizon} ${methodHash}`;
    const { runs } = this.#records.get(key) ?? { runs: [] };
    this.#records.set(key, { assetClass, horizon, methodHash, runs });
    const at = place ?? runs.length;
    runs[at] = [...(runs[at] ?? []), grade];
    return at;
  }

  /** The track record of each class, horizon and method, computed from the first `size` entries. */
  upTo(size: number, terms: TrackRecordTerms): readonly VerifiedTrackRecord[] {
    return [...this.#records.values()].flatMap(({ assetClass, horizon, methodHash, runs: all }) => {
      const runs = all.flatMap((grades) => grades.findLast(({ end }) => end <= size)?.graded ?? []);
      if (runs.length === 0) return [];
      const figures = computeTrackRecordFigures(assetClass, horizon, runs, terms.rules.seed);
      return [{ methodHash, figures, runs, terms }];
    });
  }
}
