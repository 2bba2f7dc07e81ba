import {
  type ExpectedReport,
  expectReportAfterNewest,
  type NextReport,
  predictNextReport,
  type QuarterlyFiling,
  type ReportWindows,
} from "../factors/next-report.ts";
import { countKnownRecords } from "../market/point-in-time.ts";

/**
 * Default lead of an event about an expected report: the number of sessions from the event to the
 * report.
 */
export const DEFAULT_SESSIONS_BEFORE_REPORT = 5;

/**
 * Maximum age, in market days, of a filing that causes an event; older filings are backfilled
 * history.
 */
const NEWS_DAYS = 7;

/**
 * Reasons of a report event:
 * - `report_ahead`: a filing is expected soon
 * - `report_filed`: the report was filed
 * - `report_late`: the report is missing after the end of the window that contains 95 % of earlier
 * filings
 */
export const REPORT_ALERT_REASONS = ["report_ahead", "report_filed", "report_late"] as const;
type ReportReason = (typeof REPORT_ALERT_REASONS)[number];

/** Filings of a company as known at the close of a session. */
interface ReportReading {
  /** The newest filing; `undefined` before the first filing. */
  readonly filing: QuarterlyFiling | undefined;
  /** The prediction for `filing` as it was before the filing; `undefined` if there was none. */
  readonly filingExpected: ExpectedReport | undefined;
  readonly next: NextReport;
}

/** The event that a report is near, was filed or is late. */
export interface ReportAlert {
  readonly kind: "report.alert";
  readonly reason: ReportReason;
  /** The expected report; `null` if the filing was not expected. */
  readonly report: ExpectedReport | null;
  readonly filing: QuarterlyFiling | null;
  /**
   * Number of sessions until the expected day, including that day; `null` unless the reason is
   * `report_ahead`.
   */
  readonly sessionsUntil: number | null;
}

/** State of the report events of one company after a closed session. */
export interface ReportState {
  /** End of the quarter of the newest filing, Unix milliseconds; `null` before the first filing. */
  readonly periodEnd: number | null;
  /** The last event that was sent about the report after the newest filing. */
  readonly told: "nothing" | "ahead" | "late";
}

/** A closed session of a company. */
export interface ReportSession {
  readonly reading: ReportReading;
  /** Close of the session, Unix milliseconds. */
  readonly at: number;
  readonly dayMs: number;
  /** Number of later sessions that close by an instant. */
  readonly sessionsUntil: (instant: number) => number;
}

/** Reads the filings of a company as known at an instant. */
export function reportReadingAt(
  filings: readonly QuarterlyFiling[],
  at: number,
  windows: readonly ReportWindows[],
  dayMs: number,
): ReportReading {
  const known = countKnownRecords(filings, at);
  return {
    filing: filings[known - 1],
    filingExpected: expectReportAfterNewest(
      filings.slice(0, Math.max(0, known - 1)),
      windows,
      dayMs,
    ),
    next: predictNextReport(filings, at, windows, dayMs),
  };
}

/**
 * Finds the `report.alert` event of a closed session. There is one when the expected report is at
 * most `sessionsBefore` sessions away, one when the report is late, and one when the report is
 * filed.
 *
 * @param state State after the previous session; `undefined` for the first session, which never
 * causes an event.
 * @param sessionsBefore At least 1.
 * @returns The state after the session, which is the same object if nothing changed.
 */
export function detectReportAlert(
  state: ReportState | undefined,
  session: ReportSession,
  sessionsBefore: number,
): { readonly state: ReportState; readonly event?: ReportAlert } {
  const { filing, next } = session.reading;
  const periodEnd = filing?.periodEnd ?? null;
  const ahead = sessionsAhead(session, sessionsBefore);
  const stage = next.is === "late" ? "late" : ahead === null ? "nothing" : "ahead";
  if (state === undefined) return { state: { periodEnd, told: stage } };
  if (periodEnd !== state.periodEnd) {
    const event = filedEvent(session);
    return event === undefined
      ? { state: { periodEnd, told: stage } }
      : { state: { periodEnd, told: "nothing" }, event };
  }
  const wasSent = stage === "nothing" || state.told === stage || state.told === "late";
  if (next.is === "unknown" || wasSent) return { state };
  const reason = stage === "late" ? "report_late" : "report_ahead";
  const event = reportEvent(reason, { report: next.report, filing: null, sessionsUntil: ahead });
  return { state: { periodEnd, told: stage }, event };
}

/** The event for the newest filing; `undefined` if the filing is backfilled history. */
function filedEvent({ reading, at, dayMs }: ReportSession): ReportAlert | undefined {
  const { filing, filingExpected = null } = reading;
  if (filing === undefined || at - filing.availableAt > NEWS_DAYS * dayMs) return undefined;
  return reportEvent("report_filed", { report: filingExpected, filing, sessionsUntil: null });
}

const reportEvent = (
  reason: ReportReason,
  about: Pick<ReportAlert, "report" | "filing" | "sessionsUntil">,
): ReportAlert => ({ kind: "report.alert", reason, ...about });

/**
 * Number of sessions until the expected report; `null` if it is more than `most`, if the session of
 * the expected day has closed, or if no report is expected.
 */
function sessionsAhead(
  { reading: { next }, at, dayMs, sessionsUntil }: ReportSession,
  most: number,
): number | null {
  if (next.is !== "expected") return null;
  const { expected } = next.report;
  // More than half of the days of any two weeks are sessions, so a report that is further away than
  // this needs no calendar lookup.
  if (expected - at > (2 * most + NEWS_DAYS) * dayMs) return null;
  const sessions = sessionsUntil(expected);
  return sessions >= 1 && sessions <= most ? sessions : null;
}
