import { fractionOf, type PeerRank, rankAmong } from "../factors/peer-rank.ts";
import { type EcdfTable, MIN_PEER_GROUP_SIZE, probabilityOf } from "../statistics/ecdf.ts";
import { normalQuantile } from "../statistics/normal.ts";
import reference from "./reference-tables.json" with { type: "json" };
import { STEADINESS_INPUTS } from "./steadiness.ts";

/** The five measurements of a stock that are ranked for its score. */
const RANKED_MEASURES = ["surprise", "residualMomentum", "reversal", "social", "darkpool"] as const;
/** Name of a measurement from `RANKED_MEASURES`. */
export type RankedMeasure = (typeof RANKED_MEASURES)[number];

/**
 * The values that are ranked at a close: the measurements, then the weighted evidence Z that they
 * give (`composite`), and its exponential mean over sessions (`mean`); the inputs of steadiness, and
 * the risk R that they give (`risk`), in sessions whose scores are stored.
 */
export const STAGES = [
  ...RANKED_MEASURES,
  "composite",
  "mean",
  ...STEADINESS_INPUTS,
  "risk",
] as const;
/** Name of a ranked value from `STAGES`. */
export type Stage = (typeof STAGES)[number];

/** A record with one member for each stage. */
export const byStage = <T>(of: (stage: Stage) => T): Readonly<Record<Stage, T>> =>
  Object.fromEntries(STAGES.map((stage) => [stage, of(stage)])) as Record<Stage, T>;

/** Mean of a measurement in a group of stocks, and the number of stocks measured. */
interface GroupMean {
  readonly mean: number;
  readonly count: number;
}

/** Means of a measurement over the stocks of a close: of all, and by sector. */
export interface GroupMeans {
  readonly all: GroupMean;
  readonly bySector: ReadonlyMap<string, GroupMean>;
}

/** The measurements that are compared with the mean of the sector before they are ranked. */
export const RELATIVE_MEASURES = ["residualMomentum", "monthReturn"] as const;
type RelativeMeasure = (typeof RELATIVE_MEASURES)[number];

/**
 * What the stocks that traded in a session are compared with, exact and final: every ranked value,
 * so that anyone can recompute every score from its answer.
 */
export interface CloseTables {
  /** Close of the session, Unix milliseconds. */
  readonly at: number;
  /** The values of each stage, ascending. */
  readonly sorted: Readonly<Record<Stage, Float64Array>>;
  readonly means: Readonly<Record<RelativeMeasure, GroupMeans>>;
}

/** The values of stages that were not ranked at a close. */
export const NO_STAGES = byStage(() => new Float64Array(0));

/**
 * The tables that rank a stage with fewer than `MIN_PEER_GROUP_SIZE` values, by stage: 1,001
 * quantiles at the probabilities (i + 0.5) / 1,001 (see `reference-tables.json` for their origin).
 */
export const REFERENCE_TABLES = {
  /** SHA-256 of the canonical JSON (RFC 8785) of the quantiles. */
  sha256: reference.sha256,
  origin: reference.origin,
  of: reference.quantiles.surprise.length,
} as const;

/** Mean residual momentum of the stocks behind the reference tables, in standard deviations. */
export const REFERENCE_RESIDUAL_MOMENTUM: number = reference.residualMomentum;

/** The quantiles of the reference tables, by stage. */
export const REFERENCE_QUANTILES: Readonly<Record<Stage, readonly number[]>> = reference.quantiles;

const PROBABILITIES = Array.from(
  { length: REFERENCE_TABLES.of },
  (_, index) => (index + 0.5) / REFERENCE_TABLES.of,
);

const REFERENCE = byStage(
  (stage): EcdfTable => ({ probabilities: PROBABILITIES, values: reference.quantiles[stage] }),
);

/** Whether a stage of a close has too few values and is ranked in the reference table. */
export const isReferenceStage = ({ sorted }: Pick<CloseTables, "sorted">, stage: Stage): boolean =>
  sorted[stage].length < MIN_PEER_GROUP_SIZE;

/**
 * The place of a value in a stage of a close.
 *
 * @param own The value with which the same stock is in the tables; `NaN` if it is not.
 */
export function placeIn(
  tables: Pick<CloseTables, "sorted">,
  stage: Stage,
  value: number,
  own: number,
): PeerRank {
  if (!isReferenceStage(tables, stage)) return rankAmong(tables.sorted[stage], value, own);
  const { of } = REFERENCE_TABLES;
  return { rank: probabilityOf(REFERENCE[stage], value) * of + 0.5, of };
}

/** The normal score of the place of a value (see `placeIn`); `NaN` if the value is `NaN`. */
export const normalIn = (
  tables: Pick<CloseTables, "sorted">,
  stage: Stage,
  value: number,
  own: number,
): number =>
  Number.isNaN(value) ? Number.NaN : normalQuantile(fractionOf(placeIn(tables, stage, value, own)));

/** The known values, ascending. */
export function sortedValues(values: Float64Array): Float64Array {
  // The missing ones are sorted to the end.
  const sorted = values.toSorted();
  let known = sorted.length;
  while (known > 0 && Number.isNaN(sorted[known - 1])) known--;
  return sorted.slice(0, known);
}

/** The means of a measurement; stocks without a value (`NaN`) are left out. */
export function groupMeans(values: Float64Array, sectors: readonly (string | null)[]): GroupMeans {
  const all = { sum: 0, count: 0 };
  const bySector = new Map<string, Total>();
  sectors.forEach((sector, position) => {
    const value = values[position] as number;
    if (Number.isNaN(value)) return;
    add(all, value);
    if (sector === null) return;
    const own = bySector.get(sector) ?? { sum: 0, count: 0 };
    bySector.set(sector, own);
    add(own, value);
  });
  return {
    all: meanOf(all),
    bySector: new Map([...bySector].map(([sector, total]) => [sector, meanOf(total)])),
  };
}

/** Running total of the known values of a group. */
interface Total {
  sum: number;
  count: number;
}

function add(total: Total, value: number): void {
  total.sum += value;
  total.count++;
}

const meanOf = ({ sum, count }: Total): GroupMean => ({ mean: sum / count, count });

/**
 * The means of a close, where the mean of all stocks is replaced by a standard from outside if fewer
 * than `MIN_PEER_GROUP_SIZE` stocks are measured: a few stocks are no market.
 */
export const orStandard = (means: GroupMeans, standard: number): GroupMeans =>
  means.all.count >= MIN_PEER_GROUP_SIZE
    ? means
    : { ...means, all: { mean: standard, count: means.all.count } };

/**
 * The mean with which a stock is compared: of its sector, or of all stocks if the sector is unknown
 * or has fewer than `minSector` measured stocks.
 */
export function peerMean(
  { all, bySector }: GroupMeans,
  sector: string | null,
  minSector: number,
): number {
  const own = sector === null ? undefined : bySector.get(sector);
  return own !== undefined && own.count >= minSector ? own.mean : all.mean;
}
