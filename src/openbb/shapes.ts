import type { z } from "zod";
import {
  DIRECTION_EVIDENCE_TEXT,
  DIRECTION_LIMITS_TEXT,
  SCORE_CAVEAT,
  SCORE_MEANING,
} from "../answers/meaning.ts";
import type { TrackRecordAnswer } from "../answers/track-record.ts";
import type { MarketMode } from "../market/market.ts";
import { escapeMarkdown } from "../outbound/markdown-text.ts";
import type { ColumnHead } from "../tables/table.ts";
import type { FactorsAnswer } from "../tool/factors.ts";
import type { FullSignal, SignalAnswer } from "../tool/signal.ts";

/**
 * Conversions of tool results to the formats of OpenBB Workspace. All figures are taken from the
 * results.
 */

/** The kind of market, in one or two words. */
export const MARKET_WORDS: Readonly<Record<MarketMode, string>> = {
  sandbox: "simulated",
  files: "recorded history",
  replay: "replayed history",
  live: "live",
};

/** A figure in a metric widget. */
interface Figure {
  readonly label: string;
  readonly value: string;
}

/** The signal of an instrument as labeled figures. */
export function signalFigures(answer: z.output<typeof SignalAnswer>): readonly Figure[] {
  const { signal, score, confidence, coverage, price, range80, evidence, market } = answer;
  const ranges = Object.entries(range80 ?? {});
  return [
    { label: `Signal of ${answer.symbol}`, value: signal },
    { label: "Score, 50 is the middle", value: String(score) },
    { label: "Coverage", value: inPercent(coverage) },
    { label: "Confidence", value: inPercent(confidence) },
    { label: "Price", value: price === null ? "not known" : `${price.value} ${price.currency}` },
    ...ranges.map(([sessions, [low, high]]) => ({
      label: `80 % range, ${sessions} sessions`,
      value: `${low} to ${high}`,
    })),
    { label: "Measured value of signals", value: evidence.verdict.replaceAll("_", " ") },
    { label: "Market", value: MARKET_WORDS[market] },
  ];
}

const inPercent = (share: number): string => `${Math.round(100 * share)} %`;

/** The evidence behind a signal, as Markdown. */
export function evidenceText(answer: FullSignal): string {
  const { signal, score, scoreSmoothed, thresholds, missingFactors, forcedWait, sources } = answer;
  const { enterLong, enterShort } = thresholds;
  return [
    `**${escapeMarkdown(answer.symbol)}: ${signal}** since ${answer.since}, ${score === null ? "without a score" : `with a score of ${score} of 100`} (${MARKET_WORDS[answer.market]} market, as of ${answer.asOf}).`,
    `Smoothed over sessions the score is ${scoreSmoothed?.toFixed(2) ?? "not known"}: LONG begins at ${enterLong}, SHORT at ${enterShort}.`,
    ...(forcedWait === null ? [] : [`It is WAIT whatever the score: ${forcedWait}.`]),
    `Coverage ${inPercent(answer.coverage)}, confidence ${inPercent(answer.confidence)}. Missing factors: ${missingFactors.join(", ") || "none"}.`,
    answer.risk.summary,
    `${SCORE_MEANING} ${SCORE_CAVEAT} ${DIRECTION_EVIDENCE_TEXT} ${DIRECTION_LIMITS_TEXT}`,
    ...sources.map(
      ({ name, terms }) => `Source: ${escapeMarkdown(name)}. ${escapeMarkdown(terms)}`,
    ),
  ].join("\n\n");
}

/** Columns of `factorRows`. */
export const factorColumnHeads: readonly ColumnHead[] = [
  { name: "symbol", type: "text" },
  { name: "market", type: "text" },
  { name: "factor", type: "text" },
  { name: "contribution", type: "number", about: "Points of the score." },
  { name: "z", type: "number", about: "Standard deviations; more is bullish. Empty: missing." },
  { name: "confidence", type: "number", about: "Fraction." },
  { name: "weight", type: "number", about: "Fraction." },
  { name: "status", type: "text" },
  { name: "summary", type: "text" },
];

/** The factors of an instrument as rows, the largest contribution first. */
export function factorRows({
  symbol,
  market,
  factors,
}: z.output<typeof FactorsAnswer>): readonly object[] {
  return Object.entries(factors)
    .map(([factor, { contribution, z, confidence, weight, status, summary = "" }]) => ({
      symbol,
      market,
      factor,
      contribution,
      z,
      confidence,
      weight,
      status,
      summary,
    }))
    .sort((one, other) => Math.abs(other.contribution) - Math.abs(one.contribution));
}

/** Columns of `trackRecordRows`. */
export const trackRecordColumnHeads: readonly ColumnHead[] = [
  { name: "assetClass", type: "text" },
  { name: "horizon", type: "integer", about: "Sessions." },
  { name: "methodHash", type: "text", about: "Each method is graded apart." },
  { name: "runs", type: "integer", about: "Graded sessions." },
  { name: "periods", type: "number", about: "Periods that do not overlap." },
  { name: "long", type: "integer" },
  { name: "short", type: "integer" },
  { name: "wait", type: "integer" },
  {
    name: "meanExcess",
    type: "number",
    about: "Mean log return of LONG and SHORT beyond the mean of all. Empty: nothing yet.",
  },
  { name: "meanExcessLow", type: "number", about: "95 % interval." },
  { name: "meanExcessHigh", type: "number" },
  { name: "alwaysLong", type: "number", about: "Mean return of LONG on everything." },
  { name: "hitRate", type: "number", about: "Fraction." },
  { name: "ic", type: "number", about: "Rank correlation of score and later return." },
  { name: "verdict", type: "text", about: "Empty: none yet." },
  { name: "expectedAt", type: "instant", about: "Empty: there are figures." },
  { name: "isSimulated", type: "boolean" },
];

/** The track record as rows. */
export const trackRecordRows = ({ records, simulated }: TrackRecordAnswer): readonly object[] =>
  records.map(({ calls, meanExcess, ic, verdicts, ...record }) => ({
    assetClass: record.assetClass,
    horizon: record.horizon,
    methodHash: record.methodHash,
    runs: record.runs,
    periods: record.periods,
    ...calls,
    meanExcess: meanExcess?.value ?? null,
    meanExcessLow: meanExcess?.low ?? null,
    meanExcessHigh: meanExcess?.high ?? null,
    alwaysLong: record.alwaysLong,
    hitRate: record.hitRate,
    ic: ic?.value ?? null,
    verdict: verdicts.at(-1)?.verdict ?? null,
    expectedAt: record.expectedAt,
    isSimulated: simulated,
  }));

/** The instruments as options of a selection list. */
export const symbolOptions = (
  rows: readonly { readonly symbol: string; readonly name: string }[],
): readonly object[] =>
  rows.map(({ symbol, name }) => ({ label: `${symbol}: ${name}`, value: symbol }));

/**
 * Reverses rows that are sorted newest first, because the time axis of a chart runs from left to
 * right.
 */
export const reverseToOldestFirst = (rows: readonly object[]): readonly object[] =>
  rows.toReversed();
