import { describe, expect, it } from "vitest";
import { type QuarterlyFiling, quarterlyFilings } from "../../../src/factors/next-report.ts";
import { reportWindowsOf } from "../../../src/factors/report-windows.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import type { Fundamental } from "../../../src/market/records.ts";
import {
  detectReportAlert,
  type ReportAlert,
  type ReportState,
  reportReadingAt,
} from "../../../src/score/report-events.ts";

/** Report windows that extend from 24 days before to 24 days after the expected day. */
const WINDOWS = reportWindowsOf({ simulated: true });

/** Filings of 91-day quarters, each with the given lag in days. */
const filedAfter = (...lags: readonly number[]): readonly QuarterlyFiling[] =>
  quarterlyFilings(
    lags.map((lag, index): Fundamental => {
      const end = 91 * (index + 1);
      return {
        metric: "netIncome",
        value: 1,
        periodEnd: end * DAY_MS,
        availableAt: (end + lag) * DAY_MS,
      };
    }),
    DAY_MS,
  );

/** Evaluates one session per day. @returns The events with their days. */
function eventsOf(
  filings: readonly QuarterlyFiling[],
  {
    from,
    to,
    sessions = 5,
  }: { readonly from: number; readonly to: number; readonly sessions?: number },
) {
  let state: ReportState | undefined;
  const events: [number, string, ReportAlert][] = [];
  for (let day = from; day <= to; day++) {
    const at = day * DAY_MS;
    const session = {
      reading: reportReadingAt(filings, at, WINDOWS, DAY_MS),
      sessionsUntil: (instant: number) => Math.max(0, Math.round((instant - at) / DAY_MS)),
      at,
      dayMs: DAY_MS,
    };
    const { state: after, event } = detectReportAlert(state, session, sessions);
    if (event !== undefined) events.push([day, event.reason, event]);
    state = after;
  }
  return events;
}

const named = (events: ReturnType<typeof eventsOf>) =>
  events.map(([day, what]) => `${day} ${what}`);

/**
 * The report expected on day 455 + 30 is filed on day 455 + 33, and the next is expected on day 546
 * + 31.
 */
const USUAL = filedAfter(30, 31, 32, 45, 33);

describe("a report event", () => {
  it("is sent a set number of sessions before the expected date, and again on filing", () => {
    expect(named(eventsOf(USUAL, { from: 420, to: 540 }))).toEqual([
      "480 report_ahead",
      "488 report_filed",
    ]);
    expect(named(eventsOf(USUAL, { from: 420, to: 540, sessions: 1 }))[0]).toBe("484 report_ahead");
    expect(named(eventsOf(USUAL, { from: 420, to: 540, sessions: 21 }))[0]).toBe(
      "464 report_ahead",
    );
  });

  it("contains the expected report and the filing", () => {
    const [ahead, filed] = eventsOf(USUAL, { from: 420, to: 540 }).map(([, , event]) => event);
    expect(ahead).toMatchObject({ sessionsUntil: 5, filing: null });
    expect(ahead?.report?.expected).toBe(485 * DAY_MS);
    expect(filed).toMatchObject({ sessionsUntil: null, report: ahead?.report });
    expect(filed?.filing).toEqual({ periodEnd: 455 * DAY_MS, availableAt: 488 * DAY_MS });
  });

  it("is sent when the report is late, and again when it is finally filed", () => {
    expect(named(eventsOf(filedAfter(30, 31, 32, 45, 70), { from: 420, to: 540 }))).toEqual([
      "480 report_ahead",
      "510 report_late",
      "525 report_filed",
    ]);
  });

  it("is not sent for a state that already existed when the alert was created", () => {
    expect(named(eventsOf(USUAL, { from: 482, to: 500 }))).toEqual(["488 report_filed"]);
    const late = filedAfter(30, 31, 32, 45, 70);
    expect(named(eventsOf(late, { from: 515, to: 530 }))).toEqual(["525 report_filed"]);
  });

  it("is not sent for historical filings that arrive late", () => {
    const state: ReportState = { periodEnd: null, told: "nothing" };
    const at = 520 * DAY_MS;
    const session = {
      reading: reportReadingAt(USUAL, at, WINDOWS, DAY_MS),
      sessionsUntil: () => 50,
      at,
      dayMs: DAY_MS,
    };
    const after = detectReportAlert(state, session, 5);
    expect(after).toEqual({ state: { periodEnd: 455 * DAY_MS, told: "nothing" } });
    expect(detectReportAlert(after.state, session, 5).state).toBe(after.state);
  });
});
