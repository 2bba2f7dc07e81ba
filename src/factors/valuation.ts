import { type EcdfTable, ecdfZ, freezeEcdfTable } from "./ecdf.ts";
import type { FilingFigures } from "./filings.ts";
import {
  type FactorInput,
  type FactorReading,
  missingReading,
  unweightedInput,
} from "./reading.ts";
import { type YieldNorms, yieldZAgainstHistory } from "./yield-history.ts";
import {
  MAX_FIGURE_AGE_DAYS,
  type ValuationMeasurement,
  YIELD_NAMES,
  type YieldName,
} from "./yields.ts";

/** Constants of the valuation of stocks. */
export const VALUATION_RULES = {
  /**
   * Minimum number of a stock's yields that have a peer table; with fewer, the stock is not valued.
   */
  minYields: 2,
  /** Minimum number of instruments in a sector; with fewer, the whole class is the peer group. */
  minSectorPeers: 8,
  /** Weights of the comparison with peers and of the comparison with the stock's own past. */
  relativeWeight: 0.7,
  ownWeight: 0.3,
  /**
   * Weight of the book yield in sectors with mostly intangible assets, relative to the other
   * yields.
   */
  bookWeightIntangible: 0.5,
  /** Days since the last filing up to which confidence is full, and at which it reaches zero. */
  freshFilingDays: 100,
  maxFilingAgeDays: MAX_FIGURE_AGE_DAYS.filing,
} as const;

/** GICS sectors with mostly intangible assets. */
export const INTANGIBLE_ASSET_SECTORS: ReadonlySet<string> = new Set([
  "Information Technology",
  "Health Care",
  "Communication Services",
  "Telecommunications Services",
]);

/**
 * Distributions over the peers: of each yield by sector (`""` is the whole class), and of the
 * combined z.
 */
export interface ValuationTables {
  readonly yields: Readonly<Partial<Record<YieldName, ReadonlyMap<string, EcdfTable>>>>;
  readonly combined?: EcdfTable;
}

/** Key of the table for the whole class. */
const WHOLE_CLASS = "";

/** A stock's current yields, with the mean and deviation of its past yields. */
export interface ValuedStock {
  readonly measurement: ValuationMeasurement;
  readonly norms: YieldNorms;
}

/**
 * Computes the distributions over a peer group: first of each yield by sector and for the whole
 * class, then of the combined z that results from these distributions.
 */
export function freezeValuationTables(group: readonly ValuedStock[]): ValuationTables {
  const yields: Partial<Record<YieldName, ReadonlyMap<string, EcdfTable>>> = {};
  for (const name of YIELD_NAMES) {
    const tables = freezeYield(group, name);
    if (tables.size > 0) yields[name] = tables;
  }
  const mixtures: number[] = [];
  const tables = { yields };
  for (const stock of group) {
    const mixed = mixture(stock, tables);
    if (mixed !== undefined) mixtures.push(mixed);
  }
  const combined = freezeEcdfTable(mixtures);
  return { yields, ...(combined && { combined }) };
}

/** Computes the distributions of one yield, by sector and for the whole class. */
function freezeYield(
  group: readonly ValuedStock[],
  name: YieldName,
): ReadonlyMap<string, EcdfTable> {
  const all: number[] = [];
  const bySector = new Map<string, number[]>();
  for (const { measurement } of group) {
    const { sector } = measurement;
    const value = measurement.yields[name];
    if (value === undefined) continue;
    all.push(value);
    if (sector === null) continue;
    const peers = bySector.get(sector);
    if (peers === undefined) bySector.set(sector, [value]);
    else peers.push(value);
  }
  const tables = new Map<string, EcdfTable>();
  const add = (key: string, values: readonly number[], minPeers?: number) => {
    const table = freezeEcdfTable(values, minPeers);
    if (table !== undefined) tables.set(key, table);
  };
  add(WHOLE_CLASS, all);
  for (const [sector, values] of bySector) add(sector, values, VALUATION_RULES.minSectorPeers);
  return tables;
}

/** The z of one yield, compared with the peers or with the stock's own past. */
interface Evidence {
  readonly name: YieldName;
  readonly with: "peers" | "own past";
  readonly z: number;
  /** Weight in the combined z, in [0, 1]. */
  readonly weight: number;
}

/**
 * Receives a piece of evidence as separate arguments, since allocating an object for every stock
 * and session would dominate the cost.
 */
type Visit = (...evidence: [Evidence["name"], Evidence["with"], z: number, weight: number]) => void;

/**
 * Visits the parts of z = 0.7 z_rel + 0.3 z_own: the weighted mean of the yields' z against the
 * sector, and the mean of the yields' z against the stock's own past months. Without past months, z
 * = z_rel. Nothing is visited unless at least two yields can be compared with peers.
 */
function compare({ measurement, norms }: ValuedStock, tables: ValuationTables, visit: Visit): void {
  const { sector, yields } = measurement;
  let peerYields = 0;
  let peerWeights = 0;
  let ownYields = 0;
  for (const name of YIELD_NAMES) {
    if (yieldZAgainstHistory(name, yields, norms) !== undefined) ownYields++;
    if (tableOf(name, measurement, tables) === undefined) continue;
    peerYields++;
    peerWeights += weightOf(name, sector);
  }
  if (peerYields < VALUATION_RULES.minYields) return;
  const peerShare = ownYields === 0 ? 1 : VALUATION_RULES.relativeWeight;
  for (const name of YIELD_NAMES) {
    const table = tableOf(name, measurement, tables);
    if (table === undefined) continue;
    const weight = (weightOf(name, sector) / peerWeights) * peerShare;
    visit(name, "peers", ecdfZ(table, yields[name] as number), weight);
  }
  if (ownYields === 0) return;
  const ownWeight = (1 / ownYields) * VALUATION_RULES.ownWeight;
  for (const name of YIELD_NAMES) {
    const z = yieldZAgainstHistory(name, yields, norms);
    if (z !== undefined) visit(name, "own past", z, ownWeight);
  }
}

/**
 * The peer table for a yield: of the sector, else of the whole class; `undefined` if the yield is
 * unknown.
 */
function tableOf(
  name: YieldName,
  { sector, yields }: ValuationMeasurement,
  tables: ValuationTables,
): EcdfTable | undefined {
  if (yields[name] === undefined) return undefined;
  const bySector = tables.yields[name];
  return (sector === null ? undefined : bySector?.get(sector)) ?? bySector?.get(WHOLE_CLASS);
}

const weightOf = (name: YieldName, sector: string | null): number =>
  name === "bookYield" && sector !== null && INTANGIBLE_ASSET_SECTORS.has(sector)
    ? VALUATION_RULES.bookWeightIntangible
    : 1;

function evidence(stock: ValuedStock, tables: ValuationTables): readonly Evidence[] {
  const found: Evidence[] = [];
  compare(stock, tables, (name, comparedWith, z, weight) => {
    found.push({ name, with: comparedWith, z, weight });
  });
  return found;
}

/** The combined z; `undefined` without evidence. */
function mixture(stock: ValuedStock, tables: ValuationTables): number | undefined {
  let sum: number | undefined;
  compare(stock, tables, (_name, _with, z, weight) => {
    sum = (sum ?? 0) + weight * z;
  });
  return sum;
}

/** Context of a valuation reading. */
interface ReadingTime {
  readonly filings: FilingFigures;
  /** Instant of the reading, Unix milliseconds. */
  readonly at: number;
  readonly dayMs: number;
  /** Sessions of the class since the instrument's newest bar; 0 if the price is current. */
  readonly missedSessions: number;
}

/**
 * Reads the valuation of a stock. Confidence is the number of present yields divided by the number
 * of possible yields, multiplied by the freshness of the last filing: 1 up to 100 days after the
 * filing, then falling linearly to 0 at 200 days. Confidence is halved if the price is one session
 * late, and 0 if the price is older.
 */
export function computeValuationReading(
  stock: ValuedStock | undefined,
  tables: ValuationTables,
  { filings, at, dayMs, missedSessions }: ReadingTime,
): FactorReading {
  if (stock === undefined) return missingReading(whyUnmeasured(filings, at, dayMs));
  const { asOf, yields } = stock.measurement;
  const staleAfter = asOf + VALUATION_RULES.freshFilingDays * dayMs;
  // Recomputed on demand, because storing the inputs of every instrument would cost more.
  const listInputs = () => stockInputs(stock.measurement, evidence(stock, tables));
  const mixed = mixture(stock, tables);
  if (mixed === undefined)
    return missingReading("insufficient_data", { asOf, staleAfter, listInputs });

  const { freshFilingDays, maxFilingAgeDays } = VALUATION_RULES;
  const freshness = Math.min(1, (maxFilingAgeDays - (at - asOf) / dayMs) / freshFilingDays);
  if (freshness <= 0 || missedSessions > 1)
    return missingReading("stale", { asOf, staleAfter, listInputs });
  const present = Object.keys(yields).length / possibleYields(yields, tables);
  return {
    z: tables.combined === undefined ? mixed : ecdfZ(tables.combined, mixed),
    confidence: present * freshness * (missedSessions === 0 ? 1 : 0.5),
    status: at > staleAfter || missedSessions > 0 ? "stale" : "ok",
    asOf,
    staleAfter,
    listInputs,
  };
}

/**
 * Number of yields that the source of filings can supply. Three are always possible. The EBITDA
 * yield counts only if the stock or a peer has it, so that stocks are not penalized for a source
 * without EBITDA, debt or cash.
 */
function possibleYields(yields: ValuationMeasurement["yields"], tables: ValuationTables): number {
  const hasEbitda = yields.ebitdaYield !== undefined || tables.yields.ebitdaYield !== undefined;
  return hasEbitda ? YIELD_NAMES.length : YIELD_NAMES.length - 1;
}

function whyUnmeasured({ newestAt, shareCounts }: FilingFigures, at: number, dayMs: number) {
  if (newestAt === undefined) return "not_observed";
  const countedAt = shareCounts.at(-1)?.availableAt ?? at;
  const isOld =
    at - newestAt > MAX_FIGURE_AGE_DAYS.filing * dayMs ||
    at - countedAt > MAX_FIGURE_AGE_DAYS.shareCount * dayMs;
  return isOld ? "stale" : "insufficient_data";
}

function stockInputs(
  { yields, marketCapUsd, shares, priceAt, asOf }: ValuationMeasurement,
  compared: readonly Evidence[],
): readonly FactorInput[] {
  const unit = "fraction";
  const relative = YIELD_NAMES.map((name): FactorInput => {
    const found = compared.find((one) => one.name === name && one.with === "peers");
    const [z, weight] = [found?.z ?? null, found?.weight ?? 0];
    return { name, value: yields[name] ?? null, unit, z, weight, observedAt: asOf };
  });
  const own = compared
    .filter((one) => one.with === "own past")
    .map(({ name, z, weight }): FactorInput => {
      const value = yields[name] ?? null;
      return { name: `${name}OwnPast`, value, unit, z, weight, observedAt: asOf };
    });
  return [
    ...relative,
    ...own,
    unweightedInput("marketCapUsd", marketCapUsd, "USD", priceAt),
    unweightedInput("sharesOutstanding", shares.value, "shares", shares.availableAt),
  ];
}
