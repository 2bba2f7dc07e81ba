import { z } from "zod";
import {
  roundFraction,
  roundPointDifference,
  roundRatioOrNull,
  roundToWholePoints,
} from "../answers/rounding.ts";
import {
  briefInstrument,
  fullInstrument,
  InstantAnswer,
  InstrumentAnswer,
  InstrumentAnswerMembers,
  isoInstant,
  isoInstantOrNull,
} from "../answers/shared-members.ts";
import { FactorStatusAnswer, factorStatusAnswer } from "../answers/why.ts";
import { MAX_INDICATOR_BARS, technicalIndicators } from "../factors/indicators.ts";
import { addPrintToDay, type OffExchangeDay } from "../factors/off-exchange.ts";
import { FACTORS, type Factor, type FactorInput, unweightedInput } from "../factors/reading.ts";
import { summarizeReading } from "../factors/summary.ts";
import { Problem } from "../lib/problem.ts";
import type { AssetClass } from "../market/instrument.ts";
import type { SourcesByFeed } from "../market/market.ts";
import { countKnownRecords } from "../market/point-in-time.ts";
import type { Bar, Feed, InstrumentRecords } from "../market/records.ts";
import type { FactorResult, PastSnapshot, Snapshot, StockRanking } from "../score/snapshot.ts";
import { normalCdf } from "../statistics/normal.ts";
import { CandidatesAnswer, candidatesAnswer } from "./candidate.ts";
import { ANALYZER, AnalyzerAnswer, peerTableVersion } from "./method.ts";
import type { ToolContext } from "./tool.ts";

const FactorInputAnswer = z.object({
  name: z.string(),
  value: z.number().nullable().describe("In unit."),
  unit: z.string(),
  z: z.number().nullable(),
  weight: z.number().describe("Share of the factor's z; 0 when only shown."),
  observedAt: InstantAnswer.nullable(),
  relative: z
    .number()
    .optional()
    .describe(
      "What is ranked: the value, or the value less the mean of its sector; of reversal its negative.",
    ),
  rank: z
    .number()
    .optional()
    .describe("Mean rank among the peers, from 1; z is that of (rank - .5)/of."),
  of: z.number().optional().describe("Number of ranked peers."),
  source: z.string().describe("Ids of entries of sources, separated by spaces."),
});

/** A place among the peers. */
const Place = z.object({ rank: z.number(), of: z.number() });

const Ranking = z
  .object({
    close: InstantAnswer.describe("The session whose stocks it is ranked among."),
    peers: z
      .enum(["covered", "reference"])
      .describe(
        "covered: the stocks of that session; reference: too few of them, so the tables of the method, whose evidence was measured among hundreds of peers; an input of 1001 is ranked in them too.",
      ),
    z: z.number().nullable().describe("Z: the weighted evidence."),
    place: Place.nullable().describe("Of z; score is 100 (rank - .5)/of."),
    closeZ: z.number().nullable().describe("Z at the close, left out of the ranking."),
    mean: z
      .object({ value: z.number(), sessions: z.int() })
      .nullable()
      .describe(
        "Exponential mean of Z, whose percentile at the last close it traded is scoreSmoothed.",
      ),
  })
  .describe("Of stocks: by what the score was ranked.");

const FullFactor = z.object({
  score: z.number().min(0).max(100).nullable().describe("Points, 100 Phi(z); null: not measured."),
  z: z.number().nullable().describe("Standard deviations, positive is bullish."),
  confidence: z.number().min(0).max(1),
  weight: z.number().describe("Base weight in the composite, a fraction."),
  contribution: z
    .number()
    .describe("Points of score; the four add up to the unrounded score minus 50."),
  place: Place.optional().describe("Of z among the readings of the peers, by which it counts."),
  status: FactorStatusAnswer,
  asOf: InstantAnswer.nullable().describe("When its newest input became known."),
  staleAfter: InstantAnswer.nullable(),
  inputs: z.array(FactorInputAnswer),
  summary: z.string().describe("One sentence; a brief answer has it of factors without a value."),
});

const FullFactors = z.object({
  ...InstrumentAnswerMembers.shape,
  recordedUntil: InstrumentAnswer.shape.recordedUntil,
  score: z.number().int().min(0).max(100).nullable(),
  scoreRaw: z.number().min(0).max(100).nullable(),
  confidence: z.number().min(0).max(1),
  sector: z.string().nullable(),
  ranking: Ranking.optional(),
  tableVersion: z
    .string()
    .nullable()
    .describe(
      "GET /api/method/{methodVersion}?tables={tableVersion} has the weights, rules and peer tables to recompute the score.",
    ),
  analyser: AnalyzerAnswer,
  factors: z.record(z.enum(FACTORS), FullFactor),
  candidates: CandidatesAnswer.optional().describe(
    "Registered methods that are recorded beside the score.",
  ),
});

/** The factors of an instrument; the members that a brief answer omits are optional. */
export const FactorsAnswer = FullFactors.partial({
  scoreRaw: true,
  sector: true,
  tableVersion: true,
  analyser: true,
}).extend({
  ...InstrumentAnswer.shape,
  factors: z.record(
    z.enum(FACTORS),
    FullFactor.partial({ score: true, asOf: true, staleAfter: true, summary: true }).extend({
      inputs: z
        .array(
          FactorInputAnswer.partial({ unit: true, weight: true, observedAt: true, source: true }),
        )
        .describe("With detail=full also such as are only shown."),
    }),
  ),
});

/** The full factors of an instrument. */
export type FullFactors = z.input<typeof FullFactors>;

/**
 * Renders the factors of a snapshot in full: computed figures are not rounded.
 *
 * @param include Whether to add the candidate methods.
 * @throws {Problem} `not_available_then` if the factors of the snapshot are no longer stored.
 */
export function fullFactorsAnswer(
  snapshot: PastSnapshot,
  context: ToolContext,
  include: "candidates" | undefined,
): FullFactors {
  const { instrument, score, confidence, tables } = snapshot;
  const factors = storedFactors(snapshot);
  const { market } = context;
  const records = market.records(instrument.symbol);
  const known = countKnownRecords(records.bars, snapshot.at);
  const bars = records.bars.slice(Math.max(0, known - MAX_INDICATOR_BARS), known);
  const traded = () => offExchangeContext(bars.at(-1), records, { at: snapshot.at, ...market });
  const sources = market.sourcesOf?.(instrument.symbol);
  const answer = (name: Factor, beside: readonly FactorInput[] = []) =>
    factorAnswer(factors[name], [...factors[name].inputs, ...beside], {
      source: sources ? sourceIdsOf(name, sources) : market.source.id,
      summary: summarizeReading(name, factors[name], instrument.assetClass),
    });
  return {
    ...fullInstrument(context, snapshot),
    score: roundToWholePoints(score),
    scoreRaw: score,
    confidence,
    sector: instrument.sector,
    ...(snapshot.ranking && { ranking: rankingAnswer(snapshot.ranking, snapshot.signal) }),
    tableVersion: tables === undefined ? null : peerTableVersion(tables).version,
    analyser: ANALYZER,
    factors: {
      momentum: answer("momentum", technicalIndicators(bars)),
      valuation: answer("valuation"),
      social: answer("social"),
      darkpool: answer("darkpool", market.printsAre ? [] : traded()),
    },
    ...(include !== undefined && { candidates: candidatesAnswer(snapshot) }),
  };
}

function rankingAnswer(
  { close, z: evidence, place, closeZ, isReference }: StockRanking,
  { mean }: PastSnapshot["signal"],
): z.input<typeof Ranking> {
  const peers = isReference ? "reference" : "covered";
  return { close: isoInstant(close), peers, z: evidence, place, closeZ, mean: mean ?? null };
}

/**
 * Renders the factors of a snapshot in brief: fewer members than in full, rounded figures, and only
 * the inputs that have a weight.
 *
 * @throws {Problem} `not_available_then` under the same condition as in `fullFactorsAnswer`.
 */
export function briefFactorsAnswer(
  snapshot: PastSnapshot,
  context: ToolContext,
  include: "candidates" | undefined,
): z.input<typeof FactorsAnswer> {
  const factors = storedFactors(snapshot);
  const { assetClass } = snapshot.instrument;
  return {
    ...briefInstrument(context, snapshot),
    score: roundToWholePoints(snapshot.score),
    confidence: roundFraction(snapshot.confidence),
    factors: {
      momentum: briefFactor("momentum", factors, assetClass),
      valuation: briefFactor("valuation", factors, assetClass),
      social: briefFactor("social", factors, assetClass),
      darkpool: briefFactor("darkpool", factors, assetClass),
    },
    ...(include !== undefined && { candidates: candidatesAnswer(snapshot) }),
  };
}

/**
 * The factors of a snapshot.
 *
 * @throws {Problem} `not_available_then` if the factors are no longer stored.
 */
function storedFactors({ factors, instrument, at }: PastSnapshot): Snapshot["factors"] {
  if (factors !== undefined) return factors;
  throw new Problem("not_available_then", {
    detail: `The factors of ${instrument.symbol} at ${isoInstant(at)} are no longer stored.`,
    next: "Ask for a later asOf, or get_signal for the score of that time and the points of each factor.",
  });
}

/** The feeds that each factor reads. */
const FEEDS_BY_FACTOR: Readonly<Record<Factor, readonly Feed[]>> = {
  momentum: ["bars"],
  valuation: ["fundamentals", "onChain", "bars"],
  social: ["mentions"],
  darkpool: ["prints", "shortVolumes"],
};

/** Ids of the data sources of a factor's feeds, separated by spaces. */
function sourceIdsOf(name: Factor, givers: SourcesByFeed): string {
  const ids = FEEDS_BY_FACTOR[name].flatMap((feed) => (givers.get(feed) ?? []).map(({ id }) => id));
  return [...new Set(ids)].join(" ");
}

/**
 * Two inputs from the newest session's off-exchange prints, shown without weight because they do
 * not indicate a direction: the prints' share of the session's volume, and the VWAP of blocks
 * divided by the VWAP of all prints.
 */
function offExchangeContext(
  bar: Bar | undefined,
  { prints = [] }: Pick<InstrumentRecords, "prints">,
  { at, dayMs }: { readonly at: number; readonly dayMs: number },
): readonly FactorInput[] {
  if (bar === undefined) return [];
  // No print of a session becomes known earlier than one market day before the UTC start of the
  // session's date.
  const before = countKnownRecords(prints, Date.parse(bar.session) - dayMs);
  const session = prints
    .slice(before, countKnownRecords(prints, at))
    .filter((print) => print.session === bar.session);
  const days = new Map<string, OffExchangeDay>();
  for (const print of session) addPrintToDay(days, print);
  const [day] = days.values();
  if (day === undefined) return [];
  const { shares, notionalUsd, blockShares, blockNotionalUsd } = day;
  const observedAt = Math.max(bar.availableAt, session.at(-1)?.availableAt ?? 0);
  const blocks = blockShares === 0 ? null : blockNotionalUsd / blockShares / (notionalUsd / shares);
  return [
    unweightedInput(
      "offExchangeShare",
      bar.volume > 0 ? shares / bar.volume : null,
      "fraction",
      observedAt,
    ),
    unweightedInput("blockVwapOverVwap", blocks, "ratio", observedAt),
  ];
}

function factorAnswer(
  result: FactorResult,
  inputs: readonly FactorInput[],
  { source, summary }: { readonly source: string; readonly summary: string },
): z.input<typeof FullFactor> {
  const { z: evidence, asOf, staleAfter } = result;
  return {
    score: evidence === null ? null : 100 * normalCdf(evidence),
    z: evidence,
    confidence: result.confidence,
    weight: result.weight,
    contribution: result.contribution,
    ...(result.place && { place: { rank: result.place.rank, of: result.place.of } }),
    status: factorStatusAnswer(result),
    asOf: isoInstantOrNull(asOf),
    staleAfter: isoInstantOrNull(staleAfter),
    inputs: inputs.map(({ observedAt, ...input }) => ({
      ...input,
      observedAt: isoInstantOrNull(observedAt),
      source,
    })),
    summary,
  };
}

function briefFactor(
  name: Factor,
  { [name]: result }: Snapshot["factors"],
  assetClass: AssetClass,
) {
  const { z: evidence, confidence, weight, contribution, inputs } = result;
  return {
    z: roundRatioOrNull(evidence),
    confidence: roundFraction(confidence),
    weight,
    contribution: roundPointDifference(contribution),
    status: factorStatusAnswer(result),
    ...(evidence === null && { summary: summarizeReading(name, result, assetClass) }),
    inputs: inputs
      .filter((input) => input.weight !== 0)
      .map(({ name, value, unit, z: own }) => ({
        name,
        value: EXACT_UNITS.has(unit) ? value : roundRatioOrNull(value),
        z: roundRatioOrNull(own),
      })),
  };
}

/** Units whose values are not rounded. */
const EXACT_UNITS: ReadonlySet<string> = new Set(["price", "USD", "shares", "count"]);
