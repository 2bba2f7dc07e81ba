import type { ClassTrackRecord } from "../grading/log-record.ts";
import {
  computeTrackRecordFigures,
  type GradedRun,
  type TrackRecordTerms,
  trackRecordVerdicts,
} from "../grading/track-record.ts";
import { AssetClass } from "../market/instrument.ts";
import type { LoggedGrade, LogStore } from "./log-store.ts";

/** A graded run and the hash of its method. */
interface MethodGrade {
  readonly methodHash: string;
  readonly graded: GradedRun;
}

/** The graded runs of an asset class over one horizon. */
interface Grades {
  /** Graded runs of all methods, oldest first. */
  readonly runs: MethodGrade[];
  /** Number of corrections read so far. */
  corrections: number;
}

type GradesOf = Pick<LoggedGrade, "assetClass" | "horizon">;

/** The runs of which a track record consists. */
export interface RecordOf extends GradesOf {
  readonly methodHash: string;
}

/** Grades that checkpoints have covered since the last read. */
interface NewGrades {
  readonly of: GradesOf;
  readonly grades: readonly (MethodGrade & Pick<LoggedGrade, "isCorrection">)[];
}

/** In-memory copy of the graded runs that the last checkpoint covers; each process has its own. */
export class GradedRuns {
  readonly #store: LogStore;
  /** Grades by asset class and horizon. */
  readonly #grades = new Map<string, Grades>();
  /**
   * Computed track records, each with the number of runs, corrections and verdicts that it was
   * computed from.
   */
  readonly #records = new Map<string, { readonly of: string; readonly record: ClassTrackRecord }>();
  #id: string | undefined;
  #size = 0;

  constructor(store: LogStore) {
    this.#store = store;
  }

  /** Number of log entries from which the grades are computed. */
  get size(): number {
    return this.#size;
  }

  /**
   * Reads the grades that checkpoints have covered since the last call. All of them become visible
   * at once.
   */
  async reload(): Promise<void> {
    const state = (await this.#store.state())?.value;
    const checkpoint = await this.#store.published();
    // A new log has no checkpoint yet; the stored one belongs to the log that it replaces.
    if (checkpoint === undefined || state?.id !== checkpoint.id) return;
    const { id, size } = checkpoint;
    const found: NewGrades[] = [];
    for (const assetClass of AssetClass.options) {
      for (const horizon of state.record.horizons[assetClass] ?? []) {
        found.push(await this.#readNew(id, { assetClass, horizon }, size));
      }
    }
    if (id !== this.#id) this.#grades.clear();
    this.#id = id;
    this.#size = size;
    for (const one of found) this.#show(one);
  }

  async #readNew(id: string, of: GradesOf, size: number): Promise<NewGrades> {
    const isKnown = id === this.#id;
    const runs = isKnown ? this.#grades.get(keyOf(of))?.runs : undefined;
    const close = runs?.at(-1)?.graded.close ?? -1;
    const read = { close, size: isKnown ? this.#size : 0 };
    const grades = await this.#store.grades(id, of, read, size);
    return { of, grades: await this.#withMethods(id, grades) };
  }

  /** Adds the method of each run where an earlier version did not record it. */
  async #withMethods(id: string, grades: readonly LoggedGrade[]) {
    const found: (LoggedGrade & MethodGrade)[] = [];
    for (const grade of grades) {
      const { assetClass, graded } = grade;
      const methodHash =
        grade.methodHash ?? (await this.#store.methodHashAt(id, assetClass, graded.close));
      found.push({ ...grade, methodHash });
    }
    return found;
  }

  #show({ of, grades }: NewGrades): void {
    const known = this.#grades.get(keyOf(of)) ?? { runs: [], corrections: 0 };
    this.#grades.set(keyOf(of), known);
    for (const { isCorrection = false, methodHash, graded } of grades) {
      if (!isCorrection) {
        known.runs.push({ methodHash, graded });
        continue;
      }
      // The earlier grade of the run may be pruned.
      const at = known.runs.findLastIndex((one) => one.graded.close === graded.close);
      if (at >= 0) known.runs[at] = { methodHash, graded };
      known.corrections += 1;
    }
  }

  /** Hashes of the methods that have graded runs of a class over one horizon, the newest first. */
  methodsOf(of: GradesOf): readonly string[] {
    const { runs } = this.#grades.get(keyOf(of)) ?? { runs: [] };
    return [...new Set(runs.toReversed().map(({ methodHash }) => methodHash))];
  }

  /** The graded runs of a method over one horizon, oldest first. */
  runsOf(of: RecordOf): readonly GradedRun[] {
    const { runs } = this.#grades.get(keyOf(of)) ?? { runs: [] };
    return runs.flatMap(({ methodHash, graded }) => (methodHash === of.methodHash ? graded : []));
  }

  /**
   * The track record of a method over one horizon. Computing its intervals takes some 10 ms per
   * year of runs, so a track record is computed once for each state of the log.
   *
   * @param terms The terms by which the log is graded.
   * @param now Time on the market's clock, Unix milliseconds.
   */
  record(of: RecordOf, terms: TrackRecordTerms, now: number): ClassTrackRecord {
    const { assetClass, horizon, methodHash } = of;
    const runs = this.runsOf(of);
    const { corrections } = this.#grades.get(keyOf(of)) ?? { corrections: 0 };
    const isHeadline = terms.headline[assetClass] === horizon;
    const due = isHeadline ? terms.verdictDates.filter((at) => at <= now).length : 0;
    const key = `${keyOf(of)} ${methodHash}`;
    const version = `${this.#id} ${runs.length} ${corrections} ${due}`;
    const known = this.#records.get(key);
    if (known?.of === version) return known.record;
    const record = {
      methodHash,
      figures: computeTrackRecordFigures(assetClass, horizon, runs, terms.rules.seed),
      verdicts: isHeadline ? trackRecordVerdicts(horizon, runs, terms, now) : [],
      runs,
    };
    this.#records.set(key, { of: version, record });
    return record;
  }
}

const keyOf = ({ assetClass, horizon }: GradesOf) => `${assetClass} ${horizon}`;
