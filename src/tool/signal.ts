import { z } from "zod";
import { noProbabilityReason, SCORE_MEANING } from "../answers/meaning.ts";
import { NextReportFields, nextReportAnswer } from "../answers/next-report.ts";
import { RiskAnswer, rangesAt80Percent, riskAnswer } from "../answers/risk.ts";
import {
  AnswerOrigin,
  briefInstrument,
  type DetailLevel,
  DirectionAnswer,
  fullInstrument,
  InstantAnswer,
  InstrumentAnswer,
  InstrumentAnswerMembers,
  isoInstant,
  snapshotId,
} from "../answers/shared-members.ts";
import { exactSignal, roundedSignal, sessionOfSnapshot } from "../answers/signal-point.ts";
import {
  STEADINESS_MEANING,
  SteadinessAnswer,
  steadinessAnswer,
  steadinessPoints,
} from "../answers/steadiness.ts";
import {
  FactorContributionsAnswer,
  factorContributionsAnswer,
  ScoreAttribution,
} from "../answers/why.ts";
import { FACTORS } from "../factors/reading.ts";
import { AssetClass } from "../market/instrument.ts";
import {
  BACKTEST_VERDICTS,
  DIRECTION_EVIDENCE,
  scoreHorizonText,
} from "../score/backtest-verdicts.ts";
import { FORCED_WAIT_REASONS, SIGNAL_THRESHOLDS } from "../score/signal-hysteresis.ts";
import type { PastSnapshot } from "../score/snapshot.ts";
import { FieldTable } from "./fields.ts";
import { SignalItem, SignalSeries } from "./signal-row.ts";
import type { ToolContext } from "./tool.ts";

const Points = z.number().min(0).max(100);
const Fraction = z.number().min(0).max(1);

const Interval = z.object({ low: z.number(), high: z.number() });

/** How predictive the directions of an asset class were in the backtest. */
const Evidence = z.object({
  assetClass: AssetClass,
  verdict: z
    .enum(BACKTEST_VERDICTS)
    .describe("By the rule of the backtest report; no_evidence: indistinguishable from chance."),
  ic: z.number().nullable().describe("Mean rank correlation of score and later return."),
  interval: Interval.nullable().describe("95 % interval of ic."),
  horizon: z.string(),
  period: z.string().describe("ISO 8601 interval of months."),
  universe: z.string().describe("What was graded."),
});

/**
 * `Evidence` in which all but the first two members are optional, because a brief answer omits
 * them.
 */
const BriefEvidence = Evidence.partial({
  ic: true,
  interval: true,
  horizon: true,
  period: true,
  universe: true,
}).describe("Measured value of directions in this class.");

const Price = z.object({ value: z.number(), currency: z.string(), at: InstantAnswer });

/** Reference to the log entry of a signal. */
const Logged = z
  .object({ index: z.int().min(0), at: InstantAnswer })
  .nullable()
  .describe("Log entry of the closed session it rests on, for verify_signal; null: none yet.");

/** The full signal answer for one instrument. */
const FullSignal = z.object({
  ...InstrumentAnswerMembers.shape,
  recordedUntil: InstrumentAnswer.shape.recordedUntil,
  signal: DirectionAnswer.describe(
    "Follows scoreSmoothed through the thresholds, not the score itself.",
  ),
  score: Points.int().nullable().describe(`${SCORE_MEANING} null: a stock without any part.`),
  scoreRaw: Points.nullable().describe("The score before rounding."),
  scoreSmoothed: Points.nullable().describe(
    "The score smoothed over sessions; of a stock, the percentile of its smoothed evidence.",
  ),
  confidence: Fraction.describe("Weight of the evidence."),
  coverage: Fraction.describe("Share of its class's factors with a value, by weight."),
  why: FactorContributionsAnswer.optional(),
  thresholds: z
    .object({
      enterLong: z.number(),
      exitLong: z.number(),
      enterShort: z.number(),
      exitShort: z.number(),
      enterConfidence: z.number().nullable(),
      holdConfidence: z.number().nullable(),
      minCoverage: z.number().nullable(),
    })
    .describe(
      "In points and fractions: LONG begins at enterLong with enterConfidence and ends below exitLong; SHORT alike; both need minCoverage. null: no such gate.",
    ),
  forcedWait: z
    .enum(FORCED_WAIT_REASONS)
    .nullable()
    .describe("Why it is WAIT, independent of the score."),
  since: InstantAnswer.describe("When this signal began, at the earliest when the record begins."),
  previousSignal: DirectionAnswer.nullable(),
  frozen: z.boolean().describe("True while trading pauses; scoreSmoothed is the last session's."),
  missingFactors: z.array(z.enum(FACTORS)),
  evidence: Evidence,
  pOutperform: z
    .number()
    .nullable()
    .describe(
      "Probability of beating the class's median; null unless its measured skill is above 0.",
    ),
  pOutperformReason: z.string().nullable().describe("Why pOutperform is null."),
  horizon: z.string(),
  price: Price.nullable().describe("Newest close as traded, per share or coin."),
  range80: z
    .record(z.string(), z.array(z.number()))
    .nullable()
    .describe("Low and high of the close after so many sessions, with 80 % probability."),
  risk: RiskAnswer.extend({ steadiness: SteadinessAnswer }),
  steadiness: Points.int().nullable().describe(`${STEADINESS_MEANING} null: not ranked.`),
  ...NextReportFields.shape,
  logged: Logged,
  attribution: ScoreAttribution.optional(),
  snapshotId: z.string(),
});

/** The answer for one instrument; the members that a brief answer omits are optional. */
export const SignalAnswer = FullSignal.partial({
  scoreRaw: true,
  scoreSmoothed: true,
  thresholds: true,
  frozen: true,
  pOutperform: true,
  pOutperformReason: true,
  horizon: true,
  risk: true,
  nextReportReason: true,
  snapshotId: true,
}).extend({
  ...InstrumentAnswer.shape,
  evidence: BriefEvidence,
  price: Price.partial({ at: true }).nullable().describe("Newest close as traded."),
  logged: Logged.unwrap()
    .partial({ at: true })
    .nullable()
    .describe(FullSignal.shape.logged.description ?? ""),
});

/** The full signal answer for one instrument. */
export type FullSignal = z.input<typeof FullSignal>;

/** A requested symbol for which there is no result. */
const FailedSymbol = z.object({
  symbol: z.string().describe("The symbol as requested."),
  code: z.string().describe("The stable name of the failure, unknown_symbol for example."),
  detail: z.string(),
  next: z.string().describe("What to do next."),
});
export type FailedSymbol = z.infer<typeof FailedSymbol>;

/** A page of signals of several instruments. */
export const SignalPage = z.object({
  ...AnswerOrigin.shape,
  counts: z
    .object({
      LONG: z.int(),
      WAIT: z.int(),
      SHORT: z.int(),
      insufficientData: z.int().describe("Not among WAIT."),
    })
    .describe("Of all that match, on this page or not."),
  total: z.int().describe("How many match, insufficientData included."),
  items: z.array(SignalItem).optional(),
  ...FieldTable.shape,
  evidence: z.array(BriefEvidence).describe("One for each asset class among the items."),
  failed: z
    .array(FailedSymbol)
    .optional()
    .describe("With symbols: those without an answer, on every page; the others are in items."),
  nextCursor: z.string().nullable(),
});

/** The signals of one instrument over time. */
export const SignalHistory = z.object({
  ...InstrumentAnswer.shape,
  evidence: BriefEvidence,
  history: SignalSeries.partial()
    .loose()
    .describe("Columns, oldest first: session, score and price; all with detail=full; or fields."),
  signals: z
    .array(z.object({ session: z.string(), signal: DirectionAnswer }))
    .describe("The signal at the first session here, and each change."),
  nextCursor: z.string().nullable(),
});

/** Renders how predictive the directions of an asset class were in the backtest. */
export function directionEvidenceAnswer(
  assetClass: AssetClass,
  detail: "full",
): z.input<typeof Evidence>;
export function directionEvidenceAnswer(
  assetClass: AssetClass,
  detail: DetailLevel,
): z.input<typeof BriefEvidence>;
export function directionEvidenceAnswer(assetClass: AssetClass, detail: DetailLevel) {
  const evidence = DIRECTION_EVIDENCE[assetClass];
  const { verdict, ic, interval, basis, period, universe } = evidence;
  if (detail === "brief") return { assetClass, verdict };
  const net = basis === "neutral" ? ", net of beta, volatility, size and sector" : "";
  const horizon = `${evidence.horizon}${net}`;
  return { assetClass, verdict, ic, interval, horizon, period, universe };
}

/** Options of an answer about one instrument. */
interface SignalAnswerOptions {
  /** Whether the caller may see the contributions of the factors. */
  readonly showsFactors: boolean;
  /** Whether to include all figures of the risk forecast. */
  readonly isRiskFull?: boolean;
}

/** Renders the full answer of a snapshot: computed figures are not rounded. */
export function fullSignalAnswer(
  snapshot: PastSnapshot,
  context: ToolContext,
  { showsFactors, isRiskFull = false }: SignalAnswerOptions,
): FullSignal {
  const { instrument, price, signal } = snapshot;
  const why = showsFactors ? factorContributionsAnswer(snapshot, "full") : undefined;
  return {
    ...fullInstrument(context, snapshot),
    ...exactSignal(snapshot),
    ...(why && { why }),
    thresholds: SIGNAL_THRESHOLDS[instrument.assetClass],
    forcedWait: signal.forcedWait,
    since: isoInstant(signal.since),
    previousSignal: signal.previous,
    frozen: signal.frozen,
    missingFactors: [...snapshot.missingFactors],
    evidence: directionEvidenceAnswer(instrument.assetClass, "full"),
    pOutperform: null,
    pOutperformReason: noProbabilityReason(DIRECTION_EVIDENCE[instrument.assetClass]),
    horizon: scoreHorizonText(instrument.assetClass),
    price: price && {
      value: price.value,
      currency: instrument.currency,
      at: isoInstant(price.at),
    },
    range80: rangesAt80Percent(snapshot, context.market),
    risk: {
      ...riskAnswer(snapshot, context.market, isRiskFull),
      steadiness: steadinessAnswer(snapshot),
    },
    steadiness: steadinessPoints(snapshot),
    ...nextReportAnswer(instrument, snapshot.at, context.market),
    logged: loggedAnswer(snapshot, context),
    snapshotId: snapshotId(snapshot),
  };
}

/** The log entry of the last close at or before a snapshot. */
function loggedAnswer(
  { instrument, at }: PastSnapshot,
  { signalLog, snapshots }: ToolContext,
): z.input<typeof Logged> {
  const close = snapshots.history(instrument.symbol, 0, at).at(-1)?.at;
  const index = close === undefined ? undefined : signalLog?.indexOf(instrument, close);
  return close === undefined || index === undefined ? null : { index, at: isoInstant(close) };
}

/** Renders the brief answer of a snapshot: fewer members than the full answer, rounded figures. */
export function briefSignalAnswer(
  snapshot: PastSnapshot,
  context: ToolContext,
  { showsFactors }: SignalAnswerOptions,
): z.input<typeof SignalAnswer> {
  const { instrument, price, signal: state } = snapshot;
  const { signal, score, confidence, coverage } = roundedSignal(snapshot);
  const { nextReport } = nextReportAnswer(instrument, snapshot.at, context.market);
  const logged = loggedAnswer(snapshot, context);
  const why = showsFactors ? factorContributionsAnswer(snapshot, "brief") : undefined;
  return {
    ...briefInstrument(context, snapshot),
    signal,
    score,
    confidence,
    coverage,
    ...(why && { why }),
    forcedWait: state.forcedWait,
    since: isoInstant(state.since),
    previousSignal: state.previous,
    missingFactors: [...snapshot.missingFactors],
    evidence: directionEvidenceAnswer(instrument.assetClass, "brief"),
    price: price && { value: price.value, currency: instrument.currency },
    range80: rangesAt80Percent(snapshot, context.market),
    steadiness: steadinessPoints(snapshot),
    nextReport,
    logged: logged && { index: logged.index },
  };
}

/** The sessions in which the signal of a history changed, and the first session of the history. */
export const signalChanges = (
  list: readonly PastSnapshot[],
  context: Pick<ToolContext, "market" | "snapshots">,
): z.input<typeof SignalHistory>["signals"] =>
  list
    .filter(({ signal }, index) => signal.direction !== list[index - 1]?.signal.direction)
    .map((snapshot) => ({
      session: sessionOfSnapshot(snapshot, context),
      signal: snapshot.signal.direction,
    }));

/** Counts the instruments by signal; instruments with insufficient data are counted separately. */
export function signalCounts(list: readonly PastSnapshot[]): z.input<typeof SignalPage>["counts"] {
  const counts = { LONG: 0, WAIT: 0, SHORT: 0, insufficientData: 0 };
  for (const { status, signal } of list) {
    counts[status === "insufficient_data" ? "insufficientData" : signal.direction]++;
  }
  return counts;
}
