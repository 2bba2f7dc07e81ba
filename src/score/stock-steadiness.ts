import { fractionOf } from "../factors/peer-rank.ts";
import {
  type MarketReturns,
  type PriceHistory,
  peakLogDistance,
  readYearSums,
  recentVolatility,
  runningVariances,
} from "../factors/price-history.ts";
import { RISK_RULES } from "../risk/forecast.ts";
import { normalCdf, normalQuantile } from "../statistics/normal.ts";
import {
  type CloseTables,
  isReferenceStage,
  NO_STAGES,
  normalIn,
  placeIn,
  type Stage,
  sortedValues,
} from "./close-tables.ts";
import { EXPOSURE_RULES, exposurePercentiles } from "./exposures.ts";
import { type InstrumentState, lossOnAssets } from "./instrument-state.ts";
import {
  type RankedValue,
  STEADINESS_INPUTS,
  STEADINESS_RULES,
  type SteadinessEvidence,
  type SteadinessInputs,
  type SteadinessReading,
} from "./steadiness.ts";

/** Circumstances of a close. */
interface Close {
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
  /** Returns of the benchmark, by session. */
  readonly market: MarketReturns;
}

/**
 * Ranks the steadiness of the stocks that traded in a session, and their exposures; the others get
 * no reading.
 *
 * @returns The tables of the close with the stages of steadiness.
 */
export function rankStocks(
  states: readonly InstrumentState[],
  tables: CloseTables,
  { market, dayMs }: Close,
): CloseTables {
  const { at } = tables;
  const isTrading = ({ newestBar }: InstrumentState) => newestBar?.availableAt === at;
  const column = () => new Float64Array(states.length).fill(Number.NaN);
  const inputs = {
    volatility: column(),
    yearVolatility: column(),
    beta: column(),
    belowHigh: column(),
    lossOnAssets: column(),
  };
  const exposures = { beta: inputs.beta, volatility: column(), dollarVolume: column() };
  states.forEach((state, index) => {
    const { listed } = state;
    if (listed === undefined || !isTrading(state)) return;
    const { yearVolatility, beta } = yearVolatilityAndBeta(listed, market);
    inputs.volatility[index] = blendedLogVolatility(listed);
    inputs.yearVolatility[index] = yearVolatility;
    inputs.beta[index] = beta;
    inputs.belowHigh[index] = logBelowHigh(listed);
    inputs.lossOnAssets[index] = lossOnAssets(state, at, dayMs);
    const { volatilitySessions, minReturns } = EXPOSURE_RULES;
    exposures.volatility[index] = recentVolatility(listed, volatilitySessions, minReturns);
    exposures.dollarVolume[index] = state.turnover ?? Number.NaN;
  });
  const { sorted, readingAt } = rankSteadiness(inputs, at);
  const percentiles = exposurePercentiles(exposures);
  states.forEach((state, index) => {
    state.steadiness = readingAt(index);
    state.exposures = isTrading(state) ? percentiles[index] : undefined;
  });
  return { ...tables, sorted: { ...tables.sorted, ...sorted } };
}

/** ln(0.4 sqrt(fast) + 0.6 sqrt(slow)); `NaN` before the first return and if the price never moved. */
export function blendedLogVolatility(history: PriceHistory): number {
  const { fast, slow } = runningVariances(history);
  const { fastWeight } = RISK_RULES;
  const sigma = fastWeight * Math.sqrt(fast) + (1 - fastWeight) * Math.sqrt(slow);
  return sigma > 0 ? Math.log(sigma) : Number.NaN;
}

/** ln of the yearly window's standard deviation, and the beta; both `NaN` if they cannot be measured. */
export function yearVolatilityAndBeta(
  history: PriceHistory,
  market: MarketReturns,
): { readonly yearVolatility: number; readonly beta: number } {
  const { n, r, m, rr, mm, rm } = readYearSums(history, market);
  const isKnown = n >= STEADINESS_RULES.minReturns;
  const variance = rr / n - (r / n) ** 2;
  const marketVariance = mm / n - (m / n) ** 2;
  return {
    yearVolatility: isKnown && variance > 0 ? Math.log(variance) / 2 : Number.NaN,
    beta:
      isKnown && marketVariance > 0 ? (rm / n - (r / n) * (m / n)) / marketVariance : Number.NaN,
  };
}

/** ln(highest high of 252 sessions / close); `NaN` with fewer than 240 bars. */
export const logBelowHigh = (history: PriceHistory): number =>
  history.bars >= STEADINESS_RULES.minBarsOfHigh ? peakLogDistance(history) : Number.NaN;

/** The steadiness of the stocks of a close. */
export interface SteadinessRanking {
  /** The ranked values of the stages of steadiness. */
  readonly sorted: Readonly<Partial<Record<Stage, Float64Array>>>;
  /** The reading of a stock by position; `undefined` if it was not ranked. */
  readonly readingAt: (position: number) => SteadinessReading | undefined;
}

/**
 * Ranks the stocks of a close by R = sum(weight * N(input)), where N is the normal score and a
 * missing input counts as 0. A stock without a variance is not ranked. Stages of fewer than 30
 * values are ranked in the reference tables.
 */
export function rankSteadiness(inputs: SteadinessInputs, at: number): SteadinessRanking {
  const ofInputs = Object.fromEntries(
    STEADINESS_INPUTS.map((name) => [name, sortedValues(inputs[name])]),
  );
  const ranked = { sorted: { ...NO_STAGES, ...ofInputs } };
  const risks = inputs.volatility.map((volatility, position) => {
    if (Number.isNaN(volatility)) return Number.NaN;
    let risk = 0;
    for (const name of STEADINESS_INPUTS) {
      const value = inputs[name][position] as number;
      if (Number.isNaN(value)) continue;
      risk += STEADINESS_RULES.weights[name] * normalIn(ranked, name, value, value);
    }
    return risk;
  });
  const sorted = { ...ofInputs, risk: sortedValues(risks) };
  const ranking = { at, inputs, risks, sorted: { ...NO_STAGES, ...sorted } };
  return {
    sorted,
    readingAt: (position) =>
      Number.isNaN(risks[position]) ? undefined : new LazyReading(ranking, position),
  };
}

/** The ranked columns of a close. */
interface RankedColumns extends Pick<CloseTables, "at" | "sorted"> {
  readonly inputs: SteadinessInputs;
  /** R by position; `NaN` without a variance. */
  readonly risks: Float64Array;
}

/** A reading that looks up its evidence when it is read, since most readings never are. */
class LazyReading implements SteadinessReading {
  readonly at: number;
  readonly value: number;
  readonly riskZ: number;
  readonly peers: number;
  readonly isReference: boolean;
  readonly #columns: RankedColumns;
  readonly #position: number;

  constructor(columns: RankedColumns, position: number) {
    this.#columns = columns;
    this.#position = position;
    this.at = columns.at;
    const risk = columns.risks[position] as number;
    const place = placeIn(columns, "risk", risk, risk);
    this.riskZ = normalQuantile(fractionOf(place));
    this.value = 100 * normalCdf(-this.riskZ);
    this.peers = place.of;
    this.isReference = isReferenceStage(columns, "risk");
  }

  get evidence(): SteadinessEvidence {
    const { inputs, risks } = this.#columns;
    const place = (stage: Stage, column: Float64Array): RankedValue | null => {
      const value = column[this.#position] as number;
      return Number.isNaN(value) ? null : { value, ...placeIn(this.#columns, stage, value, value) };
    };
    const ranked = STEADINESS_INPUTS.map((name) => [name, place(name, inputs[name])] as const);
    return {
      risk: place("risk", risks) as RankedValue,
      inputs: Object.fromEntries(ranked) as SteadinessEvidence["inputs"],
    };
  }

  toJSON(): SteadinessReading {
    return { ...this, evidence: this.evidence };
  }
}
