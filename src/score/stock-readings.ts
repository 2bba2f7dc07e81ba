import { EARNINGS_SURPRISE_RULES } from "../factors/earnings-surprise.ts";
import type { ListedMomentum } from "../factors/momentum.ts";
import { PRICE_HISTORY_RULES } from "../factors/price-history.ts";
import {
  type FactorInput,
  type FactorReading,
  missingReading,
  unweightedInput,
} from "../factors/reading.ts";
import { measureValuation, type ValuationContext, YIELD_NAMES } from "../factors/yields.ts";
import { meanOfKnown } from "../statistics/statistics.ts";
import type { InstrumentState } from "./instrument-state.ts";
import type { StockStanding } from "./stock-score.ts";

/** Instant and price age of a reading. */
interface ReadingTime {
  /** Unix milliseconds. */
  readonly at: number;
  readonly dayMs: number;
  /** Sessions of the class since the stock's newest bar; infinite if the price is too old. */
  readonly missedSessions: number;
}

/** Units of the ranked measurements. */
const UNITS = {
  surprise: "standard deviations",
  residualMomentum: "standard deviations",
  reversal: "log return",
} as const;

/** Why a stock has no standing: its price is too old, or no session has closed yet. */
const whyUnranked = (missedSessions: number): "stale" | "insufficient_data" =>
  Number.isFinite(missedSessions) ? "insufficient_data" : "stale";

/** An input with its place among the peers. */
function rankedInput(
  name: keyof typeof UNITS,
  raw: number,
  standing: StockStanding | undefined,
  { weight, observedAt }: Pick<FactorInput, "weight" | "observedAt">,
): FactorInput {
  const value = Number.isNaN(raw) ? null : raw;
  const input = unweightedInput(name, value, UNITS[name], observedAt);
  const ranked = standing?.ranked(name);
  if (ranked === undefined) return input;
  const { value: relative, normal: z, rank, of } = ranked;
  return { ...input, z, weight, relative, rank, of };
}

/**
 * Reads the momentum of a stock: the mean of the normal scores of residual momentum and one-month
 * reversal, both relative to the sector. Confidence is the share of the two that is known, halved
 * if the price is one session late.
 */
export function readStockMomentum(
  state: InstrumentState,
  momentum: ListedMomentum | undefined,
  standing: StockStanding | undefined,
  { missedSessions }: ReadingTime,
): FactorReading {
  // Taken out of the state, which moves on before the inputs are listed.
  const { newestBar, bars } = state;
  const asOf = newestBar?.availableAt ?? null;
  if (standing === undefined) return missingReading(whyUnranked(missedSessions), { asOf });
  const { residualMomentum, reversal } = standing.normals;
  const known = Number(!Number.isNaN(residualMomentum)) + Number(!Number.isNaN(reversal));
  if (known === 0) return missingReading("insufficient_data", { asOf });
  const listInputs = () => {
    const { raw } = standing;
    const input = { weight: 1 / known, observedAt: asOf };
    return [
      rankedInput("residualMomentum", raw.residualMomentum, standing, input),
      rankedInput("reversal", raw.monthReturn, standing, input),
      unweightedInput("return12m1", momentum?.return12m1 ?? null, "log return", asOf),
      unweightedInput("high52w", momentum?.hi52 ?? null, "log ratio", asOf),
      unweightedInput(
        "observations",
        momentum?.observations ?? Math.min(bars, PRICE_HISTORY_RULES.windowReturns),
        "count",
        asOf,
      ),
    ];
  };
  return {
    z: meanOfKnown([residualMomentum, reversal]),
    confidence: (known / 2) * (missedSessions === 0 ? 1 : 0.5),
    status: missedSessions === 0 ? "ok" : "stale",
    asOf,
    staleAfter: null,
    listInputs,
  };
}

/**
 * Reads the valuation of a stock: the normal score of its earnings surprise, which counts for 63
 * sessions after the filing. The yields at the newest price are only shown.
 */
export function readStockValuation(
  state: InstrumentState,
  standing: StockStanding | undefined,
  { at, dayMs, missedSessions }: ReadingTime,
): FactorReading {
  const { instrument, filings, newestBar, shares, surprise, bars } = state;
  if (state.readFigures === undefined || filings.newestAt === undefined) {
    return missingReading("not_observed");
  }
  const asOf = surprise?.availableAt ?? filings.newestAt;
  const context = { filings, newestBar, shares, sector: instrument.sector, at, dayMs };
  const normal = standing?.normals.surprise ?? Number.NaN;
  const age = surprise === undefined ? null : bars - surprise.bars;
  const listInputs = () => [
    rankedInput("surprise", surprise?.value ?? Number.NaN, standing, {
      weight: 1,
      observedAt: asOf,
    }),
    unweightedInput("sessionsSinceFiling", age, "count", asOf),
    ...shownYields(context),
  ];
  if (Number.isNaN(normal)) {
    const isOld = age !== null && age > EARNINGS_SURPRISE_RULES.sessions;
    return missingReading(isOld ? "stale" : whyUnranked(missedSessions), { asOf, listInputs });
  }
  return {
    z: normal,
    confidence: missedSessions === 0 ? 1 : 0.5,
    status: missedSessions === 0 ? "ok" : "stale",
    asOf,
    staleAfter: null,
    listInputs,
  };
}

function shownYields(context: ValuationContext): readonly FactorInput[] {
  const measured = measureValuation(context);
  if (measured === undefined) return [];
  const { yields, marketCapUsd, shares, priceAt, asOf } = measured;
  return [
    ...YIELD_NAMES.map((name) => unweightedInput(name, yields[name] ?? null, "fraction", asOf)),
    unweightedInput("marketCapUsd", marketCapUsd, "USD", priceAt),
    unweightedInput("sharesOutstanding", shares.value, "shares", shares.availableAt),
  ];
}
