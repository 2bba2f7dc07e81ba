import { z } from "zod";
import type { Scope } from "../access/scopes.ts";
import { FACTORS } from "../factors/reading.ts";
import type { RangeAlert } from "../risk/range-events.ts";
import { REPORT_ALERT_REASONS, type ReportAlert } from "../score/report-events.ts";
import {
  EVENT_RULES,
  type EventPoint,
  SIGNAL_SHIFT_REASONS,
  type SignalShift,
  VOLATILITY_ALERT_REASONS,
  VOLATILITY_SEVERITIES,
  type VolatilityAlert,
} from "../score/shift-and-volatility-events.ts";
import type { Snapshot } from "../score/snapshot.ts";
import type { SteadinessAlert } from "../score/steadiness-events.ts";
import { SCORE_MEANING } from "./meaning.ts";
import {
  ExpectedReportAnswer,
  expectedReportAnswer,
  filingDay,
  periodEndDay,
  type ReportMarket,
} from "./next-report.ts";
import { RangeAlertFields, rangeAlertAnswer } from "./range-alert.ts";
import { roundFraction, roundPointDifference, roundTo, roundToWholePoints } from "./rounding.ts";
import {
  type AnswerContext,
  DirectionAnswer,
  InstantAnswer,
  InstrumentAnswerMembers,
  instrumentAnswerMembers,
  isoInstant,
  snapshotId,
} from "./shared-members.ts";
import { SteadinessAlertFields, steadinessAlertAnswer } from "./steadiness-alert.ts";

/** Decimals of z values. */
const Z_DECIMALS = 2;
/** Decimals of volatilities and returns, which are tiny for stablecoins. */
const FRACTION_DECIMALS = 8;

const Score = z.number().int().min(0).max(100).nullable().describe(SCORE_MEANING);

/** Members of every event about an instrument. */
export const EventData = z.object({
  alertId: z.string(),
  eventId: z.string().describe("The same in all deliveries, and equal to webhook-id."),
  sequence: z
    .number()
    .int()
    .min(1)
    .describe("Counts this alert's events about this instrument, without a gap."),
  ...InstrumentAnswerMembers.shape,
  signal: DirectionAnswer,
  score: Score,
});

const Point = z.object({
  snapshotId: z.string(),
  asOf: InstantAnswer,
  signal: DirectionAnswer,
  score: Score,
  contributions: z
    .record(z.enum(FACTORS), z.number())
    .optional()
    .describe(
      "Points by factor; they add up to the unrounded score minus 50. Only with factor:read.",
    ),
});

/** Payload of the event "the signal or the score changed". */
export const SignalShiftEvent = z.object({
  type: z.literal("signal.shift"),
  timestamp: InstantAnswer.describe("When it was decided."),
  data: z.object({
    ...EventData.shape,
    reason: z
      .enum(SIGNAL_SHIFT_REASONS)
      .describe("direction: the signal is another; score: it moved far."),
    previousSignal: DirectionAnswer,
    previousScore: Score,
    confidence: z.number().min(0).max(1),
    before: Point.describe("At the last event, or at the start of the alert."),
    after: Point,
  }),
});

/** Payload of the event "volatility became unusual". */
export const VolatilityAlertEvent = z.object({
  type: z.literal("volatility.alert"),
  timestamp: InstantAnswer.describe("When it was decided."),
  data: z.object({
    ...EventData.shape,
    severity: z.enum(VOLATILITY_SEVERITIES),
    reason: z
      .enum(VOLATILITY_ALERT_REASONS)
      .describe(
        `volatility: z reached the threshold; return: the session moved by at least ${EVENT_RULES.extremeSigmas} times dailyVolatility, whatever z is.`,
      ),
    z: z
      .number()
      .nullable()
      .describe("q in standard deviations of its last 252 sessions; null with fewer."),
    q: z.number().describe("ln(volatility of two sessions / volatility of two months)."),
    dailyVolatility: z
      .number()
      .min(0)
      .describe("Standard deviation of a session over two months, as a log return."),
    logReturn: z.number().describe("Log return of the session."),
  }),
});

/** Payload of the event "a quarterly report is near, was filed or is late". */
export const ReportAlertEvent = z.object({
  type: z.literal("report.alert"),
  timestamp: InstantAnswer.describe("When it was decided."),
  data: z.object({
    ...EventData.shape,
    reason: z
      .enum(REPORT_ALERT_REASONS)
      .describe(
        "report_ahead: a filing is expected within reportSessions; report_filed: it was filed; report_late: it is missing after the time by which 95 % of filings came.",
      ),
    report: ExpectedReportAnswer.nullable().describe(
      "When the filing was expected. Results are announced on the day of the filing or a few sessions before. null for a filing that was not expected.",
    ),
    sessionsUntil: z
      .number()
      .int()
      .nullable()
      .describe("Sessions until the expected day, that day included; with report_ahead."),
    filing: z
      .object({
        periodEnd: z.string().describe("End of the quarter."),
        filed: z.string(),
      })
      .nullable()
      .describe("With report_filed; days as in report."),
  }),
});

/** Payload of the event "a close left the expected range". */
export const RangeAlertEvent = z.object({
  type: z.literal("range.alert"),
  timestamp: InstantAnswer.describe("When it was decided."),
  data: z.object({ ...EventData.shape, ...RangeAlertFields.shape }),
});

/** Payload of the event "the steadiness of a stock or coin crossed a level". */
export const SteadinessAlertEvent = z.object({
  type: z.literal("steadiness.alert"),
  timestamp: InstantAnswer.describe("When it was decided."),
  data: z.object({ ...EventData.shape, ...SteadinessAlertFields.shape }),
});

/** Identifiers of an event. */
interface EventIdentifiers {
  readonly alertId: string;
  readonly eventId: string;
  /**
   * Number of the event, counted from 1 over the events that one alert has had about one
   * instrument.
   */
  readonly sequence: number;
}

/** An event with the snapshot in which it was detected. */
export interface MarketEvent {
  readonly event: SignalShift | VolatilityAlert | ReportAlert | RangeAlert | SteadinessAlert;
  readonly snapshot: Snapshot;
}

/**
 * Renders the payload of an event for one alert.
 *
 * @param at When the alert was evaluated, Unix milliseconds.
 */
export function eventPayload(
  { event, snapshot }: MarketEvent,
  { at, ...names }: EventIdentifiers & { readonly at: number },
  origin: AnswerContext & { readonly market: ReportMarket },
): EventPayload {
  const timestamp = isoInstant(at);
  const about = {
    ...names,
    ...instrumentAnswerMembers(origin, snapshot),
    signal: snapshot.signal.direction,
    score: roundToWholePoints(snapshot.score),
  };
  switch (event.kind) {
    case "signal.shift":
      return { type: event.kind, timestamp, data: { ...about, ...shiftOf(event, snapshot) } };
    case "volatility.alert":
      return { type: event.kind, timestamp, data: { ...about, ...volatilityOf(event) } };
    case "report.alert":
      return { type: event.kind, timestamp, data: { ...about, ...reportOf(event, origin.market) } };
    case "range.alert":
      return { type: event.kind, timestamp, data: { ...about, ...rangeAlertAnswer(event) } };
    case "steadiness.alert":
      return { type: event.kind, timestamp, data: { ...about, ...steadinessAlertAnswer(event) } };
  }
}

/** The payload of any event about an instrument. */
export type EventPayload =
  | z.input<typeof SignalShiftEvent>
  | z.input<typeof VolatilityAlertEvent>
  | z.input<typeof ReportAlertEvent>
  | z.input<typeof RangeAlertEvent>
  | z.input<typeof SteadinessAlertEvent>;

/**
 * Removes the members of a payload that the reader's scopes do not permit.
 *
 * @param body The recorded payload, as JSON.
 * @param scopes The scopes that the reader has now.
 * @returns `body` itself if the reader may see all of it.
 */
export function redactEventBody(body: string, scopes: ReadonlySet<Scope>): string {
  if (scopes.has("factor:read")) return body;
  const payload = JSON.parse(body) as { readonly data: object };
  const { before, after } = payload.data as Partial<Record<"before" | "after", object>>;
  if (before === undefined || after === undefined) return body;
  const data = { ...payload.data, before: withoutFactors(before), after: withoutFactors(after) };
  return JSON.stringify({ ...payload, data });
}

const withoutFactors = (point: object): object => ({ ...point, contributions: undefined });

function shiftOf({ reason, before, after }: SignalShift, { instrument, confidence }: Snapshot) {
  const point = ({ at, series, direction, score, contributions }: EventPoint) => ({
    snapshotId: snapshotId({ instrument, at, series }),
    asOf: isoInstant(at),
    signal: direction,
    score: roundToWholePoints(score),
    contributions: {
      momentum: roundPointDifference(contributions.momentum),
      valuation: roundPointDifference(contributions.valuation),
      social: roundPointDifference(contributions.social),
      darkpool: roundPointDifference(contributions.darkpool),
    },
  });
  return {
    reason,
    previousSignal: before.direction,
    previousScore: roundToWholePoints(before.score),
    confidence: roundFraction(confidence),
    before: point(before),
    after: point(after),
  };
}

function volatilityOf({
  severity,
  reason,
  reading: { z, q, slowSigma, logReturn },
}: VolatilityAlert) {
  return {
    severity,
    reason,
    z: z === null ? null : roundTo(z, Z_DECIMALS),
    q: roundTo(q, FRACTION_DECIMALS),
    dailyVolatility: roundTo(slowSigma, FRACTION_DECIMALS),
    logReturn: roundTo(logReturn, FRACTION_DECIMALS),
  };
}

function reportOf({ reason, report, sessionsUntil, filing }: ReportAlert, market: ReportMarket) {
  return {
    reason,
    report: report && expectedReportAnswer(report, market),
    sessionsUntil,
    filing: filing && {
      periodEnd: periodEndDay(filing.periodEnd, market),
      filed: filingDay(filing.availableAt, market),
    },
  };
}
