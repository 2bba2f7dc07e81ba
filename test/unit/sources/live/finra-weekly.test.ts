import { describe, expect, it } from "vitest";
import { newYorkInstant } from "../../../../src/market/new-york.ts";
import type { WeeklyVolume } from "../../../../src/market/records.ts";
import { ProviderFault } from "../../../../src/sources/live/fault.ts";
import { finraWeekly } from "../../../../src/sources/live/providers/finra-weekly.ts";
import { instrument } from "../../../support/instruments.ts";
import {
  type DrivenPolling,
  type DriveOptions,
  drivePolling,
  type Serve,
} from "../../../support/providers/drive.ts";
import { serveFinraWeekly, weeklyShares } from "../../../support/providers/finra-weekly.ts";

const at = newYorkInstant;

const serve = serveFinraWeekly(
  new Map([
    ["AAPL", 2],
    ["BRK.B", 4],
  ]),
);

/** Options of a run during the night before Thursday 2026-06-11. */
const NIGHT: DriveOptions = {
  instruments: ["AAPL", "BRK-B"].map(instrument),
  feeds: new Set(["weeklyVolumes"]),
  historyFrom: at("2026-04-01", "00:00"),
  settings: {},
  now: at("2026-06-11", "02:00"),
  until: at("2026-06-11", "02:10"),
};

const weeksOf = ({ data }: DrivenPolling, symbol: string) =>
  data.filter((datum) => datum.symbol === symbol).map(({ record }) => record as WeeklyVolume);

const mondays = (driven: DrivenPolling, symbol: string) =>
  weeksOf(driven, symbol).map(({ weekStart }) => weekStart);

/** A server that returns these rows for AAPL. */
const rows =
  (...list: readonly object[]): Serve =>
  () => ({
    status: 200,
    body: JSON.stringify(
      list.map((row) => ({
        issueSymbolIdentifier: "AAPL",
        weekStartDate: "2026-05-04",
        initialPublishedDate: "2026-05-25",
        summaryTypeCode: "ATS_W_SMBL",
        totalWeeklyShareQuantity: 10,
        ...row,
      })),
    ),
  });
const OTC = { summaryTypeCode: "OTC_W_SMBL", totalWeeklyShareQuantity: 30 };

describe("the provider for FINRA's weekly off-exchange volume", () => {
  const driven = drivePolling(finraWeekly, serve, NIGHT);

  it("reads both kinds of venue for every published week, including class shares", () => {
    expect(driven.requests).toHaveLength(2);
    expect(driven.rejected).toEqual([]);
    expect(mondays(driven, "AAPL")).toEqual([
      ...["2026-04-06", "2026-04-13", "2026-04-20", "2026-04-27", "2026-05-04", "2026-05-11"],
      "2026-05-18",
    ]);
    expect(mondays(driven, "BRK-B").at(-1)).toBe("2026-05-04");
    expect(weeksOf(driven, "BRK-B").at(-1)).toEqual({
      weekStart: "2026-05-04",
      availableAt: at("2026-06-09", "00:00"),
      atsShares: weeklyShares("BRK.B", "ATS_W_SMBL", "2026-05-04"),
      otcShares: weeklyShares("BRK.B", "OTC_W_SMBL", "2026-05-04"),
    });
  });

  it("polls every night, and reads a week's data on the night after publication", () => {
    const onward = drivePolling(finraWeekly, serve, {
      ...NIGHT,
      instruments: [instrument("AAPL")],
      cursors: driven.cursors,
      now: at("2026-06-12", "01:00"),
      until: at("2026-06-16", "12:00"),
    });
    const nights = ["2026-06-12", "2026-06-13", "2026-06-14", "2026-06-15", "2026-06-16"];
    expect(onward.requests.map((sent) => sent.at)).toEqual(nights.map((day) => at(day, "01:00")));
    expect(mondays(onward, "AAPL").at(-1)).toBe("2026-05-25");
    expect(onward.requests[0]?.post?.body).toContain('"startDate":"2026-04-06"');
  });

  it("requests at most one year, and nothing before the requested history", () => {
    const old = { ...NIGHT, historyFrom: at("2020-01-01", "00:00") };
    const { requests } = drivePolling(finraWeekly, serve, old);
    expect(requests[0]?.post?.body).toContain('"startDate":"2025-06-05"');
    expect(driven.requests[0]?.post?.body).toContain('"startDate":"2026-04-01"');
  });

  it("returns no data for a security that FINRA does not list", () => {
    const unknown = drivePolling(finraWeekly, serve, {
      ...NIGHT,
      instruments: [instrument("NEWCO")],
    });
    expect(unknown.data).toEqual([]);
    expect(unknown.requests).toHaveLength(1);
  });

  it("does not store a week with only one kind of venue until the other kind is published", () => {
    const half = drivePolling(finraWeekly, rows({}), {
      ...NIGHT,
      instruments: [instrument("AAPL")],
    });
    expect(half.data).toEqual([]);
    const whole = drivePolling(finraWeekly, rows({}, OTC), {
      ...NIGHT,
      instruments: [instrument("AAPL")],
      cursors: half.cursors,
    });
    expect(weeksOf(whole, "AAPL")).toMatchObject([{ atsShares: 10, otcShares: 30 }]);
  });

  it("dates a week to the later of its two publications, at the latest five weeks after its start", () => {
    const published = (...dates: readonly (string | null)[]) => {
      const [ats, otc] = dates.map((initialPublishedDate) => ({ initialPublishedDate }));
      const given = drivePolling(finraWeekly, rows({ ...ats }, { ...OTC, ...otc }), NIGHT);
      return weeksOf(given, "AAPL")[0]?.availableAt;
    };
    expect(published("2026-05-26", "2026-05-25")).toBe(at("2026-05-27", "00:00"));
    expect(published(null, "2026-05-25")).toBe(at("2026-06-09", "00:00"));
  });

  it.each([
    ["a negative volume", { totalWeeklyShareQuantity: -1 }],
    ["a week that was published before it ended", { initialPublishedDate: "2026-05-08" }],
    ["a week whose publication date is in the future", { initialPublishedDate: "9999-12-31" }],
  ])("quarantines %s and stores the rest", (_, wrong) => {
    const next = { weekStartDate: "2026-05-11" };
    const given = rows({ ...wrong }, OTC, next, { ...OTC, ...next });
    const { data, rejected } = drivePolling(finraWeekly, given, {
      ...NIGHT,
      instruments: [instrument("AAPL")],
    });
    expect(data.map((datum) => datum.at)).toEqual([Date.parse("2026-05-11")]);
    expect(rejected).toMatchObject([{ feed: "weeklyVolumes", at: Date.parse("2026-05-04") }]);
  });

  it("reads earlier weeks even if one week is dated in the future", () => {
    const week = { weekStartDate: "2027-01-04", initialPublishedDate: null };
    const given = drivePolling(finraWeekly, rows(week, { ...OTC, ...week }), NIGHT);
    expect(given.data).toEqual([]);
    expect(given.rejected.map(({ reason }) => reason)).toContain('"2027-01-04" has not come yet');
    const after = drivePolling(finraWeekly, serve, { ...NIGHT, cursors: given.cursors });
    expect(mondays(after, "AAPL")).toEqual(mondays(driven, "AAPL"));
  });

  it("ignores rows of other securities", () => {
    const given = rows({ issueSymbolIdentifier: "AAP" }, { ...OTC, issueSymbolIdentifier: "AAP" });
    expect(drivePolling(finraWeekly, given, NIGHT).data).toEqual([]);
  });

  it.each([
    ["comma-separated values", "issueSymbolIdentifier,weekStartDate\nAAPL,2026-05-04"],
    ["an object", '{"message":"maintenance"}'],
    [
      "strings instead of numbers",
      '[{"issueSymbolIdentifier":"AAPL","totalWeeklyShareQuantity":"1"}]',
    ],
  ])("rejects a malformed response: %s", (_, body) => {
    const wrong: Serve = () => ({ status: 200, body });
    expect(() => drivePolling(finraWeekly, wrong, NIGHT)).toThrow(ProviderFault);
  });

  it("restarts when it cannot parse its cursor", () => {
    const cursors = { AAPL: "2026-05-04", "BRK-B": '{"newest":3}' };
    expect(drivePolling(finraWeekly, serve, { ...NIGHT, cursors }).data).toEqual(driven.data);
  });
});
