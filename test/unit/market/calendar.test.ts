import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  isTradingDay,
  nextSession,
  previousSession,
  sessionCloseAt,
  sessionOf,
  sessionsBetween,
} from "../../../src/market/calendar.ts";
import { newYorkInstant } from "../../../src/market/new-york.ts";
import { sharedFolder } from "../../support/shared.ts";

const { path: FOLDER, isMissing } = sharedFolder("market", "the trading calendar on real history");

const utc = (text: string) => Date.parse(text);
const closesEarly = (date: string) => sessionCloseAt(date) === newYorkInstant(date, "13:00");

describe("the sessions of the New York exchanges", () => {
  it.each([
    ["New Year's Day", "2014-01-01"],
    ["New Year's Day observed after a Sunday", "2012-01-02"],
    ["Martin Luther King Day", "2016-01-18"],
    ["Washington's Birthday", "2019-02-18"],
    ["Good Friday", "2009-04-10"],
    ["Good Friday", "2018-03-30"],
    ["Good Friday", "2030-04-19"],
    ["Memorial Day", "2022-05-30"],
    ["Juneteenth observed after a Sunday", "2022-06-20"],
    ["Juneteenth observed before a Saturday", "2027-06-18"],
    ["July 4th", "2024-07-04"],
    ["July 4th observed before a Saturday", "2015-07-03"],
    ["July 4th observed after a Sunday", "2021-07-05"],
    ["Labor Day", "2013-09-02"],
    ["Thanksgiving", "2029-11-22"],
    ["Christmas observed after a Sunday", "2016-12-26"],
    ["Christmas observed before a Saturday", "2010-12-24"],
    ["a day of Hurricane Sandy", "2012-10-29"],
    ["a day of Hurricane Sandy", "2012-10-30"],
    ["the funeral of a president", "2018-12-05"],
    ["the funeral of a president", "2025-01-09"],
    ["a Saturday", "2014-06-07"],
    ["a Sunday", "2014-06-08"],
  ])("exclude %s (%s)", (_why, date) => {
    expect(isTradingDay(date)).toBe(false);
  });

  it.each([
    ["the Friday before a New Year's Day that is a Saturday", "2010-12-31"],
    ["the Friday before a New Year's Day that is a Saturday", "2021-12-31"],
    ["Juneteenth in a year before the exchanges observed it", "2021-06-18"],
    ["Columbus Day", "2023-10-09"],
    ["Veterans Day", "2024-11-11"],
    ["the day after Hurricane Sandy", "2012-10-31"],
    ["Easter Monday", "2014-04-21"],
  ])("include %s (%s)", (_which, date) => {
    expect(isTradingDay(date)).toBe(true);
  });

  it.each([
    [2009, 252],
    [2012, 250],
    [2018, 251],
    [2020, 253],
    [2021, 252],
    [2024, 252],
    [2025, 250],
    [2030, 251],
  ])("of the year %i are %i in total", (year, count) => {
    expect(sessionsBetween(`${year}-01-01`, `${year}-12-31`)).toHaveLength(count);
  });

  it("follow each other across weekends, holidays and years, in both directions", () => {
    expect(nextSession("2012-10-26")).toBe("2012-10-31");
    expect(previousSession("2012-10-31")).toBe("2012-10-26");
    expect(nextSession("2013-12-31")).toBe("2014-01-02");
    expect(previousSession("2014-01-02")).toBe("2013-12-31");
    expect(nextSession("2014-06-07")).toBe("2014-06-09");
    const sessions = sessionsBetween("2009-01-01", "2030-12-31");
    for (const [index, session] of sessions.entries()) {
      expect(isTradingDay(session)).toBe(true);
      if (index > 0) expect(nextSession(sessions[index - 1] as string)).toBe(session);
      if (index > 0) expect(previousSession(session)).toBe(sessions[index - 1]);
    }
  });

  it("are listed from one date through another, and not at all when the dates are swapped", () => {
    const week = ["2014-07-01", "2014-07-02", "2014-07-03", "2014-07-07"];
    expect(sessionsBetween("2014-07-01", "2014-07-07")).toEqual(week);
    expect(sessionsBetween("2014-07-05", "2014-07-06")).toEqual([]);
    expect(sessionsBetween("2014-07-07", "2014-07-01")).toEqual([]);
  });
});

describe("the closing time of a session", () => {
  it.each([
    ["2014-06-09", "2014-06-09T20:00:00Z"],
    ["2014-12-09", "2014-12-09T21:00:00Z"],
    ["2015-03-06", "2015-03-06T21:00:00Z"],
    ["2015-03-09", "2015-03-09T20:00:00Z"],
    ["2015-10-30", "2015-10-30T20:00:00Z"],
    ["2015-11-02", "2015-11-02T21:00:00Z"],
    ["2014-07-03", "2014-07-03T17:00:00Z"],
    ["2014-11-28", "2014-11-28T18:00:00Z"],
  ])("on %s is %s", (session, instant) => {
    expect(sessionCloseAt(session)).toBe(utc(instant));
  });

  it("is 13:00 in New York on the day after Thanksgiving, and on each July 3rd and December 24th that is a session", () => {
    const early = sessionsBetween("2009-01-01", "2030-12-31").filter(closesEarly);
    const perYear = Map.groupBy(early, (date) => Number(date.slice(0, 4)));
    const days = (year: number) => perYear.get(year)?.map((date) => date.slice(5));
    expect(days(2009)).toEqual(["11-27", "12-24"]); // July 4th on a Saturday: July 2nd is whole.
    expect(days(2010)).toEqual(["11-26"]); // A Sunday, and Christmas on a Saturday.
    expect(days(2011)).toEqual(["11-25"]); // A Monday, and Christmas on a Sunday.
    expect(days(2012)).toEqual(["07-03", "11-23", "12-24"]);
    expect(days(2013)).toEqual(["07-03", "11-29", "12-24"]); // July 4th on a Thursday.
    expect(days(2014)).toEqual(["07-03", "11-28", "12-24"]); // A Friday.
    expect(days(2015)).toEqual(["11-27", "12-24"]);
    expect(days(2016)).toEqual(["11-25"]);
    expect(days(2017)).toEqual(["07-03", "11-24"]);
    expect(days(2018)).toEqual(["07-03", "11-23", "12-24"]);
    expect(days(2019)).toEqual(["07-03", "11-29", "12-24"]);
    expect(days(2020)).toEqual(["11-27", "12-24"]);
    expect(days(2021)).toEqual(["11-26"]);
    expect(days(2022)).toEqual(["11-25"]);
    expect(days(2023)).toEqual(["07-03", "11-24"]);
    expect(days(2024)).toEqual(["07-03", "11-29", "12-24"]);
    expect(days(2025)).toEqual(["07-03", "11-28", "12-24"]);
    expect(days(2026)).toEqual(["11-27", "12-24"]);
    expect(days(2027)).toEqual(["11-26"]);
    expect(days(2028)).toEqual(["07-03", "11-24"]);
    expect(days(2030)).toEqual(["07-03", "11-29", "12-24"]);
  });

  it("is undefined on days without a session and throws a RangeError", () => {
    expect(() => sessionCloseAt("2014-07-04")).toThrow(RangeError);
    expect(() => sessionCloseAt("2014-07-05")).toThrow(RangeError);
  });
});

describe("the trading session of an instant", () => {
  it.each([
    ["before trading", "2014-06-09T05:00:00Z", "2014-06-09"],
    ["during trading", "2014-06-09T15:00:00Z", "2014-06-09"],
    ["after trading, the next day in UTC", "2014-06-10T03:59:59Z", "2014-06-09"],
    ["at night", "2014-06-10T04:00:00Z", "2014-06-10"],
    ["on a Saturday", "2014-06-07T15:00:00Z", "2014-06-09"],
    ["on a holiday before a weekend", "2014-07-04T15:00:00Z", "2014-07-07"],
    ["on New Year's Day", "2014-01-01T15:00:00Z", "2014-01-02"],
  ])("is determined correctly %s", (_when, instant, session) => {
    expect(sessionOf(utc(instant))).toBe(session);
  });
});

describe.skipIf(isMissing)("the exchange calendar on real history", () => {
  const linesOf = (...path: readonly string[]): readonly string[] =>
    readFileSync(join(FOLDER, ...path), "utf8")
      .trimEnd()
      .split(/\r?\n/)
      .slice(1);

  it("contains exactly the dates on which each of 375 securities traded", () => {
    const listed = linesOf("instruments.csv").filter((line) => !line.includes(",crypto,"));
    const symbols = listed.map((line) => line.slice(0, line.indexOf(",")));
    expect(symbols).toHaveLength(375);
    for (const symbol of symbols) {
      const dates = linesOf("bars", `${symbol}.csv`).map((line) => line.slice(0, 10));
      const [first = "", last = ""] = [dates[0], dates.at(-1)];
      expect(sessionsBetween(first, last), symbol).toEqual(dates);
    }
  });
});
