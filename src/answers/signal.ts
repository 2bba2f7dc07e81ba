import { z } from "zod";
import { FACTORS } from "../factors/reading.ts";
import { AssetClass } from "../market/instrument.ts";
import { DIRECTION_EVIDENCE, horizonText, VERDICTS } from "../score/evidence.ts";
import { FORCED_WAITS, THRESHOLDS } from "../score/signal-hysteresis.ts";
import { type PastSnapshot, STATUSES } from "../score/snapshot.ts";
import type { ToolContext } from "../tool.ts";
import {
  Common,
  common,
  Direction,
  Identity,
  Instant,
  identityOf,
  isoInstant,
  Provenance,
  snapshotId,
} from "./common.ts";
import { pOutperformReason, SCORE_IS } from "./meaning.ts";
import { NextReportFields, nextReportAnswer } from "./next-report.ts";
import { Risk, riskAnswer } from "./risk.ts";
import { signalFields, signalPoint } from "./signal-point.ts";

const Status = z.enum(STATUSES);
const Points = z.number().min(0).max(100);
const Fraction = z.number().min(0).max(1);

/** Signal members of every answer; `Signal` describes them, and lists do not repeat the descriptions. */
const SignalFields = z.object({
  signal: Direction,
  score: Points.int(),
  scoreRaw: Points,
  scoreSmoothed: Points,
  confidence: Fraction,
  coverage: Fraction,
});

const Interval = z.object({ low: z.number(), high: z.number() });

/** What the directions of a class are worth. */
const Evidence = z
  .object({
    assetClass: AssetClass,
    verdict: z
      .enum(VERDICTS)
      .describe("By the rule of the backtest report; no_evidence: indistinguishable from chance."),
    ic: z.number().nullable().describe("Mean rank correlation of score and later return."),
    interval: Interval.nullable().describe("95 % interval of ic."),
    horizon: z.string(),
    period: z.string().describe("ISO 8601 interval of months."),
    universe: z.string().describe("What was graded."),
  })
  .describe("Measured value of directions in this class.");

/** Log entry of a decision. */
const Logged = z
  .object({ index: z.int().min(0), at: Instant })
  .nullable()
  .describe("Log entry of the closed session it rests on, for verify_signal; null: none yet.");

/** The full answer for one instrument. */
export const Signal = z.object({
  ...Common.shape,
  signal: Direction.describe("Follows scoreSmoothed through the thresholds, not the score itself."),
  score: SignalFields.shape.score.describe(SCORE_IS),
  scoreRaw: Points.describe("The score with two decimals."),
  scoreSmoothed: Points.describe("The score smoothed over sessions."),
  confidence: Fraction.describe("Weight of the evidence."),
  coverage: Fraction.describe("Share of its class's factors with a value, by weight."),
  thresholds: z
    .object({
      enterLong: z.number(),
      exitLong: z.number(),
      enterShort: z.number(),
      exitShort: z.number(),
      enterConfidence: z.number(),
      holdConfidence: z.number(),
      minCoverage: z.number(),
    })
    .describe(
      "In points and fractions: LONG begins at enterLong with enterConfidence and ends below exitLong; SHORT alike; both need minCoverage.",
    ),
  forcedWait: z.enum(FORCED_WAITS).nullable().describe("Why it is WAIT, independent of the score."),
  since: Instant.describe("When this signal began, at the earliest when the record begins."),
  previousSignal: Direction.nullable(),
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
  price: z
    .object({ value: z.number(), currency: z.string(), at: Instant })
    .nullable()
    .describe("Newest close as traded, per share or coin."),
  risk: Risk,
  ...NextReportFields.shape,
  logged: Logged,
  snapshotId: z.string(),
});

/** One instrument in a list. */
const SignalItem = z.object({
  ...Identity.shape,
  asOf: Instant,
  status: Status,
  ...SignalFields.shape,
});

/** A requested symbol without an answer. */
const FailedSymbol = z.object({
  symbol: z.string().describe("The symbol as requested."),
  code: z.string().describe("The stable name of the failure, unknown_symbol for example."),
  detail: z.string(),
  next: z.string().describe("What to do next."),
});
export type FailedSymbol = z.infer<typeof FailedSymbol>;

/** A list of instruments. */
export const SignalPage = z.object({
  ...Provenance.shape,
  items: z.array(SignalItem),
  evidence: z.array(Evidence).describe("One for each asset class among the items."),
  failed: z
    .array(FailedSymbol)
    .optional()
    .describe("With symbols: those without an answer, on every page; the others are in items."),
  nextCursor: z.string().nullable(),
});

/** One instrument over time. */
export const SignalHistory = z.object({
  ...Common.shape,
  evidence: Evidence,
  history: z.array(z.object({ asOf: Instant, status: Status, ...SignalFields.shape })),
  nextCursor: z.string().nullable(),
});

/** What the directions of a class are worth, without what concerns probabilities. */
export function evidenceAnswer(assetClass: AssetClass): z.input<typeof Evidence> {
  const { verdict, ic, interval, horizon, period, universe } = DIRECTION_EVIDENCE[assetClass];
  return { assetClass, verdict, ic, interval, horizon, period, universe };
}

/**
 * Renders the full answer of a snapshot.
 *
 * @param isRiskFull Whether the risk forecast is given number by number.
 */
export function signalAnswer(
  snapshot: PastSnapshot,
  context: ToolContext,
  isRiskFull = false,
): z.input<typeof Signal> {
  const { instrument, price, signal } = snapshot;
  return {
    ...common(context, snapshot),
    ...signalFields(snapshot),
    thresholds: THRESHOLDS,
    forcedWait: signal.forcedWait,
    since: isoInstant(signal.since),
    previousSignal: signal.previous,
    frozen: signal.frozen,
    missingFactors: [...snapshot.missingFactors],
    evidence: evidenceAnswer(instrument.assetClass),
    pOutperform: null,
    pOutperformReason: pOutperformReason(DIRECTION_EVIDENCE[instrument.assetClass]),
    horizon: horizonText(instrument.assetClass),
    price: price && {
      value: price.value,
      currency: instrument.currency,
      at: isoInstant(price.at),
    },
    risk: riskAnswer(snapshot, context.market, isRiskFull),
    ...nextReportAnswer(instrument, snapshot.at, context.market),
    logged: loggedAnswer(snapshot, context),
    snapshotId: snapshotId(snapshot),
  };
}

/** The log entry of the last closed session that a snapshot rests on. */
function loggedAnswer(
  { instrument, at }: PastSnapshot,
  { signalLog, snapshots }: ToolContext,
): z.input<typeof Logged> {
  const close = snapshots.history(instrument.symbol, 0, at).at(-1)?.at;
  const index = close === undefined ? undefined : signalLog?.indexOf(instrument, close);
  return close === undefined || index === undefined ? null : { index, at: isoInstant(close) };
}

/** Renders a snapshot as one of several instruments. */
export const signalItem = (snapshot: PastSnapshot): z.input<typeof SignalItem> => ({
  ...identityOf(snapshot.instrument),
  ...signalPoint(snapshot),
});
