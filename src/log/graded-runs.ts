import {
  computeTrackRecordFigures,
  type DatedVerdict,
  type GradedRun,
  type TrackRecordFigures,
  type TrackRecordTerms,
  trackRecordVerdicts,
} from "../grading/track-record.ts";
import { AssetClass } from "../market/instrument.ts";
import type { LoggedGrade, LogStore } from "./log-store.ts";

/** Number of grades per read. */
const PAGE = 1_000;

/** The track record of one asset class over one horizon. */
export interface ClassTrackRecord {
  readonly figures: TrackRecordFigures;
  /** Verdicts due so far; empty for every horizon except the headline one. */
  readonly verdicts: readonly DatedVerdict[];
  /** Graded runs, oldest first. */
  readonly runs: readonly GradedRun[];
}

/** The graded runs of an asset class over one horizon. */
interface Grades {
  /** Graded runs, oldest first. */
  readonly runs: GradedRun[];
  /**
   * Number of corrections read so far; `correctedUntil` is the index after the last outcome of the
   * newest correction.
   */
  corrections: number;
  correctedUntil: number;
}

type GradesOf = Pick<LoggedGrade, "assetClass" | "horizon">;

/** Grades that checkpoints have covered since the last read. */
interface NewGrades {
  readonly of: GradesOf;
  readonly graded: readonly LoggedGrade[];
  readonly corrections: readonly LoggedGrade[];
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
    const known = id === this.#id ? this.#grades.get(keyOf(of)) : undefined;
    const { runs = [], correctedUntil = 0 } = known ?? {};
    const after = runs.at(-1)?.close;
    const graded = await pagesOf(
      size,
      after === undefined ? 0 : after + 1,
      (from) => this.#store.grades(id, of, { from, limit: PAGE }),
      (last) => last.graded.close + 1,
    );
    const corrections = await pagesOf(
      size,
      correctedUntil + 1,
      (from) => this.#store.corrections(id, of, { from, limit: PAGE }),
      (last) => last.end + 1,
    );
    return { of, graded, corrections };
  }

  #show({ of, graded, corrections }: NewGrades): void {
    const known = this.#grades.get(keyOf(of)) ?? { runs: [], corrections: 0, correctedUntil: 0 };
    this.#grades.set(keyOf(of), known);
    known.runs.push(...graded.map((one) => one.graded));
    for (const { end, graded } of corrections) {
      const at = known.runs.findLastIndex(({ close }) => close === graded.close);
      if (at >= 0) known.runs[at] = graded;
      known.corrections += 1;
      known.correctedUntil = end;
    }
  }

  /**
   * The track record of an asset class over one horizon. Computing its intervals takes some 10 ms
   * per year of runs, so a track record is computed once for each state of the log.
   *
   * @param terms The terms by which the log is graded.
   * @param now Time on the market's clock, Unix milliseconds.
   */
  record(
    assetClass: AssetClass,
    horizon: number,
    terms: TrackRecordTerms,
    now: number,
  ): ClassTrackRecord {
    const key = keyOf({ assetClass, horizon });
    const { runs, corrections } = this.#grades.get(key) ?? { runs: [], corrections: 0 };
    const isHeadline = terms.headline[assetClass] === horizon;
    const due = isHeadline ? terms.verdictDates.filter((at) => at <= now).length : 0;
    const of = `${this.#id} ${runs.length} ${corrections} ${due}`;
    const known = this.#records.get(key);
    if (known?.of === of) return known.record;
    const record = {
      figures: computeTrackRecordFigures(assetClass, horizon, runs, terms.rules.seed),
      verdicts: isHeadline ? trackRecordVerdicts(horizon, runs, terms, now) : [],
      runs: [...runs],
    };
    this.#records.set(key, { of, record });
    return record;
  }
}

const keyOf = ({ assetClass, horizon }: GradesOf) => `${assetClass} ${horizon}`;

/** All grades that the first `size` entries cover, page by page. */
async function pagesOf(
  size: number,
  from: number,
  read: (from: number) => Promise<readonly LoggedGrade[]>,
  next: (last: LoggedGrade) => number,
): Promise<readonly LoggedGrade[]> {
  const found: LoggedGrade[] = [];
  for (let first = from; ; ) {
    const page = await read(first);
    const covered = page.filter(({ end }) => end <= size);
    found.push(...covered);
    const last = covered.at(-1);
    if (last === undefined || covered.length < PAGE) return found;
    first = next(last);
  }
}
