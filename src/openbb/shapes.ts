import { z } from "zod";
import {
  DIRECTION_EVIDENCE_TEXT,
  DIRECTION_LIMITS_TEXT,
  SCORE_CAVEAT,
  SCORE_MEANING,
} from "../answers/meaning.ts";
import { InstantAnswer } from "../answers/shared-members.ts";
import type { TrackRecordAnswer } from "../answers/track-record.ts";
import type { Factor } from "../factors/reading.ts";
import { AssetClass } from "../market/instrument.ts";
import { MarketMode } from "../market/market.ts";
import { escapeMarkdown } from "../outbound/markdown-text.ts";
import { columnOf, membersOf, namesOf } from "../tables/row.ts";
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

/** The signal of an instrument as labeled figures. */
export function signalFigures(answer: z.output<typeof SignalAnswer>) {
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

/** A factor of an instrument. */
interface FactorRecord extends Pick<z.output<typeof FactorsAnswer>, "symbol" | "market"> {
  readonly factor: string;
  readonly reading: z.output<typeof FactorsAnswer>["factors"][Factor];
}

const factorColumn = columnOf<FactorRecord>();

/** The columns of the factors of an instrument. */
export const factorRow = {
  symbol: factorColumn(z.string(), ({ symbol }) => symbol, { display: { header: "Symbol" } }),
  market: factorColumn(MarketMode, ({ market }) => market, {
    display: { header: "Market", isHidden: true },
  }),
  factor: factorColumn(z.string(), ({ factor }) => factor, { display: { header: "Factor" } }),
  contribution: factorColumn(z.number(), ({ reading }) => reading.contribution, {
    about: "Points of the score.",
    display: { header: "Points", decimals: 2, isSigned: true },
  }),
  z: factorColumn(z.number().nullable(), ({ reading }) => reading.z, {
    about: "Standard deviations; more is bullish. Empty: missing.",
    display: { header: "z", decimals: 2 },
  }),
  confidence: factorColumn(z.number(), ({ reading }) => reading.confidence, {
    about: "Fraction.",
    display: { header: "Confidence", format: "percent", decimals: 0 },
  }),
  weight: factorColumn(z.number(), ({ reading }) => reading.weight, {
    about: "Fraction.",
    display: { header: "Weight", decimals: 2 },
  }),
  status: factorColumn(z.string(), ({ reading }) => reading.status, {
    display: { header: "Status" },
  }),
  summary: factorColumn(z.string(), ({ reading }) => reading.summary ?? "", {
    display: { header: "Summary" },
  }),
};

/** The factors of an instrument as rows, the largest contribution first. */
export const factorRows = ({
  symbol,
  market,
  factors,
}: z.output<typeof FactorsAnswer>): readonly object[] =>
  Object.entries(factors)
    .sort(([, one], [, other]) => Math.abs(other.contribution) - Math.abs(one.contribution))
    .map(([factor, reading]) =>
      membersOf(factorRow, namesOf(factorRow), { symbol, market, factor, reading }, "full"),
    );

/** A column of the record of a method in an asset class. */
const classColumn = columnOf<{
  readonly record: TrackRecordAnswer["records"][number];
  readonly simulated: boolean;
}>();

/** The columns of the track record. */
export const trackRecordRow = {
  assetClass: classColumn(AssetClass, ({ record }) => record.assetClass, {
    display: { header: "Class" },
  }),
  horizon: classColumn(z.int(), ({ record }) => record.horizon, {
    about: "Sessions.",
    display: { header: "Sessions", format: "int" },
  }),
  methodHash: classColumn(z.string(), ({ record }) => record.methodHash, {
    about: "Each method is graded apart.",
  }),
  runs: classColumn(z.int(), ({ record }) => record.runs, {
    about: "Graded sessions.",
    display: { header: "Graded", format: "int" },
  }),
  periods: classColumn(z.number(), ({ record }) => record.periods, {
    about: "Periods that do not overlap.",
    display: { header: "Independent periods", decimals: 1 },
  }),
  long: classColumn(z.int(), ({ record }) => record.calls.long, {
    display: { header: "LONG", format: "int" },
  }),
  short: classColumn(z.int(), ({ record }) => record.calls.short, {
    display: { header: "SHORT", format: "int" },
  }),
  wait: classColumn(z.int(), ({ record }) => record.calls.wait, {
    display: { header: "WAIT", format: "int" },
  }),
  meanExcess: classColumn(z.number().nullable(), ({ record }) => record.meanExcess?.value ?? null, {
    about: "Mean log return of LONG and SHORT beyond the mean of all. Empty: nothing yet.",
    display: { header: "Mean excess", format: "percent", decimals: 2 },
  }),
  meanExcessLow: classColumn(
    z.number().nullable(),
    ({ record }) => record.meanExcess?.low ?? null,
    {
      about: "95 % interval.",
      display: { header: "95 % from", format: "percent", decimals: 2 },
    },
  ),
  meanExcessHigh: classColumn(
    z.number().nullable(),
    ({ record }) => record.meanExcess?.high ?? null,
    {
      display: { header: "to", format: "percent", decimals: 2 },
    },
  ),
  alwaysLong: classColumn(z.number().nullable(), ({ record }) => record.alwaysLong, {
    about: "Mean return of LONG on everything.",
    display: { header: "LONG on all", format: "percent", decimals: 2 },
  }),
  hitRate: classColumn(z.number().nullable(), ({ record }) => record.hitRate, {
    about: "Fraction.",
    display: { header: "Hit rate", format: "percent", decimals: 1 },
  }),
  ic: classColumn(z.number().nullable(), ({ record }) => record.ic?.value ?? null, {
    about: "Rank correlation of score and later return.",
    display: { header: "Rank correlation", decimals: 4 },
  }),
  verdict: classColumn(
    z.string().nullable(),
    ({ record }) => record.verdicts.at(-1)?.verdict ?? null,
    {
      about: "Empty: none yet.",
      display: { header: "Newest verdict" },
    },
  ),
  expectedAt: classColumn(InstantAnswer.nullable(), ({ record }) => record.expectedAt, {
    about: "Empty: there are figures.",
    display: { header: "First figures at" },
  }),
  isSimulated: classColumn(z.boolean(), ({ simulated }) => simulated, {
    display: { header: "Simulated" },
  }),
};

/** The track record as rows. */
export const trackRecordRows = ({ records, simulated }: TrackRecordAnswer): readonly object[] =>
  records.map((record) =>
    membersOf(trackRecordRow, namesOf(trackRecordRow), { record, simulated }, "full"),
  );

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
