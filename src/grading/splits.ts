import type { Direction } from "../score/signal-hysteresis.ts";
import { rankCorrelation } from "../statistics/rank-correlation.ts";
import { mean } from "../statistics/statistics.ts";

/** Directions in the order in which figures list them. */
const SIGNALS = ["LONG", "WAIT", "SHORT"] as const satisfies readonly Direction[];

/** Minimum number of instruments of a sector in a run for a rank correlation. */
const MIN_NAMES = 10;

/** A statement of a run, with its return and its return beyond the mean of the run. */
interface SplitStatement {
  readonly signal: Direction;
  readonly score: number;
  /** `null` if unknown; absent in entries that do not say it, which are in no split. */
  readonly sector?: string | null | undefined;
  /** Log returns as fractions, of which SHORT does not turn the sign. */
  readonly followed: number;
  readonly excess: number;
}

/** Number of statements of a run with one signal, and the sums of their returns. */
interface SignalSums {
  readonly count: number;
  readonly followed: number;
  readonly excess: number;
}

/** Statements of a run about one sector. */
interface SectorSums {
  readonly sector: string | null;
  readonly long: number;
  readonly short: number;
  readonly wait: number;
  /** Sum of the excess returns of LONG, minus that of SHORT. */
  readonly excess: number;
  /** Rank correlation of scores and returns within the sector; `null` with fewer than ten. */
  readonly ic: number | null;
}

/** Sums of a run by signal and by sector. */
export interface RunSplit {
  readonly signals: Readonly<Record<Direction, SignalSums>>;
  /** Empty if no statement names a sector. */
  readonly sectors: readonly SectorSums[];
}

/** Splits the statements of a run; `undefined` if none is of an entry that says its sector. */
export function splitRun(all: readonly SplitStatement[]): RunSplit | undefined {
  const statements = all.filter(({ sector }) => sector !== undefined);
  if (statements.length === 0) return undefined;
  const { LONG = [], WAIT = [], SHORT = [] } = Object.groupBy(statements, ({ signal }) => signal);
  const isNamed = statements.some(({ sector }) => sector !== null);
  const bySector = Map.groupBy(isNamed ? statements : [], ({ sector = null }) => sector);
  return {
    signals: { LONG: sumsOf(LONG), WAIT: sumsOf(WAIT), SHORT: sumsOf(SHORT) },
    sectors: [...bySector].map(([sector, members]) => sectorSums(sector, members)),
  };
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

const sumsOf = (statements: readonly SplitStatement[]): SignalSums => ({
  count: statements.length,
  followed: sumOf(statements.map(({ followed }) => followed)),
  excess: sumOf(statements.map(({ excess }) => excess)),
});

function sectorSums(sector: string | null, members: readonly SplitStatement[]): SectorSums {
  const of = (wanted: Direction) => sumsOf(members.filter(({ signal }) => signal === wanted));
  const [long, short] = [of("LONG"), of("SHORT")];
  const scores = members.map(({ score }) => score);
  const followed = members.map((one) => one.followed);
  return {
    sector,
    long: long.count,
    short: short.count,
    wait: members.length - long.count - short.count,
    excess: long.excess - short.excess,
    ic: members.length < MIN_NAMES ? null : (rankCorrelation(scores, followed) ?? null),
  };
}

/** Mean returns after one signal, averaged within each run and then over the runs with it. */
export interface SignalFigures<Estimate> {
  readonly signal: Direction;
  readonly statements: number;
  /** Mean log return as a fraction; after a right SHORT it is below the mean of the run. */
  readonly meanReturn: number | null;
  readonly meanExcess: Estimate | null;
}

/** The figures of the statements about one sector. */
export interface SectorFigures {
  /** `null`: the sector is not known. */
  readonly sector: string | null;
  readonly long: number;
  readonly short: number;
  readonly wait: number;
  /**
   * As the figure of all sectors: beyond the mean of all instruments, SHORT with its sign turned.
   */
  readonly meanExcess: number | null;
  /** Mean rank correlation within the sector. */
  readonly ic: number | null;
}

/**
 * Figures by signal; empty if no run was split.
 *
 * @param estimate Mean with its interval of values in chronological order.
 */
export function signalFigures<Estimate>(
  splits: readonly RunSplit[],
  estimate: (values: readonly number[]) => Estimate | null,
): readonly SignalFigures<Estimate>[] {
  if (splits.length === 0) return [];
  return SIGNALS.map((signal) => {
    const sums = splits.map(({ signals }) => signals[signal]).filter(({ count }) => count > 0);
    return {
      signal,
      statements: sumOf(sums.map(({ count }) => count)),
      meanReturn: meanOrNull(sums.map(({ followed, count }) => followed / count)),
      meanExcess: estimate(sums.map(({ excess, count }) => excess / count)),
    };
  });
}

/** Figures by sector, in alphabetical order and the unknown sector last. */
export function sectorFigures(splits: readonly RunSplit[]): readonly SectorFigures[] {
  const bySector = Map.groupBy(
    splits.flatMap(({ sectors }) => sectors),
    ({ sector }) => sector,
  );
  return [...bySector]
    .sort(([a], [b]) => compareSectors(a, b))
    .map(([sector, runs]) => {
      const total = (of: (run: SectorSums) => number) => sumOf(runs.map(of));
      const called = runs.filter(({ long, short }) => long + short > 0);
      return {
        sector,
        long: total(({ long }) => long),
        short: total(({ short }) => short),
        wait: total(({ wait }) => wait),
        meanExcess: meanOrNull(called.map(({ excess, long, short }) => excess / (long + short))),
        ic: meanOrNull(runs.flatMap(({ ic }) => ic ?? [])),
      };
    });
}

function compareSectors(a: string | null, b: string | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return a < b ? -1 : 1;
}

const meanOrNull = (values: readonly number[]): number | null =>
  values.length === 0 ? null : mean(values);
