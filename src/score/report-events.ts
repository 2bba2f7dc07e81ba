import {
  type ExpectedReport,
  expectReport,
  type NextReport,
  nextReport,
  type QuarterlyFiling,
  type ReportWindow,
} from "../factors/next-report.ts";
import { countKnown } from "../market/point-in-time.ts";

/** Default number of sessions before an expected report at which an event is sent. */
export const REPORT_SESSIONS = 5;

/** Maximum age in market days at which a filing triggers an event; older ones are backfilled history. */
const NEWS_DAYS = 7;

/** `report_ahead`: a filing is expected soon; `report_filed`: it was filed; `report_late`: it is missing
 *  after the time by which 95 % of earlier filings came. */
export const REPORT_REASONS = ["report_ahead", "report_filed", "report_late"] as const;
type ReportReason = (typeof REPORT_REASONS)[number];

/** Reports of a company as known at the close of a session. */
export interface ReportReading {
  /** The newest filing, `undefined` before the first. */
  readonly filing: QuarterlyFiling | undefined;
  /** When that filing was expected. */
  readonly filingExpected: ExpectedReport | undefined;
  readonly next: NextReport;
}

/** A report is near, was filed or is late. */
export interface ReportAlert {
  readonly kind: "report.alert";
  readonly reason: ReportReason;
  /** The expected report; `null` for a filing that was not expected. */
  readonly report: ExpectedReport | null;
  readonly filing: QuarterlyFiling | null;
  /** Sessions until the expected day, that day included. */
  readonly sessionsUntil: number | null;
}

/** State between two closed sessions of one company. */
export interface ReportState {
  /** End of the quarter of the newest filing, Unix milliseconds. */
  readonly periodEnd: number | null;
  /** The last event sent about the report after it. */
  readonly told: "nothing" | "ahead" | "late";
}

/** A closed session of a company. */
export interface ReportSession {
  readonly reading: ReportReading;
  /** Close of the session, Unix milliseconds. */
  readonly at: number;
  readonly dayMs: number;
  /** Sessions after this one that close by an instant. */
  readonly sessionsUntil: (instant: number) => number;
}

/** Reads the filings of a company at an instant. */
export function readReports(
  filings: readonly QuarterlyFiling[],
  at: number,
  windows: readonly ReportWindow[],
  dayMs: number,
): ReportReading {
  const known = countKnown(filings, at);
  return {
    filing: filings[known - 1],
    filingExpected: expectReport(filings.slice(0, Math.max(0, known - 1)), windows, dayMs),
    next: nextReport(filings, at, windows, dayMs),
  };
}

/**
 * Whether a closed session triggers a `report.alert` event: once when the expected report is at most
 * `sessionsBefore` sessions away, once when it is late, and once when it is filed.
 *
 * @param state After the session before, `undefined` for the first, which is never an event.
 * @param sessionsBefore At least 1.
 * @returns The same state when nothing of it changes.
 */
export function reportAlert(
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

/** The event of the newest filing, unless it is backfilled history. */
function filedEvent({ reading, at, dayMs }: ReportSession): ReportAlert | undefined {
  const { filing, filingExpected = null } = reading;
  if (filing === undefined || at - filing.availableAt > NEWS_DAYS * dayMs) return undefined;
  return reportEvent("report_filed", { report: filingExpected, filing, sessionsUntil: null });
}

const reportEvent = (
  reason: ReportReason,
  about: Pick<ReportAlert, "report" | "filing" | "sessionsUntil">,
): ReportAlert => ({ kind: "report.alert", reason, ...about });

/** Sessions until the expected report; `null` while there are more than requested, from the close of the
 *  expected day on, and when none is expected. */
function sessionsAhead(
  { reading: { next }, at, dayMs, sessionsUntil }: ReportSession,
  most: number,
): number | null {
  if (next.is !== "expected") return null;
  const { expected } = next.report;
  // Weekends and holidays never remove half the days of two weeks, so most days need no calendar lookup.
  if (expected - at > (2 * most + NEWS_DAYS) * dayMs) return null;
  const sessions = sessionsUntil(expected);
  return sessions >= 1 && sessions <= most ? sessions : null;
}
