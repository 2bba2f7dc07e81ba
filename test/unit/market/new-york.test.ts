import { describe, expect, it } from "vitest";
import {
  createNewYorkDateReader,
  newYorkDate,
  newYorkInstant,
} from "../../../src/market/new-york.ts";

const HOUR_MS = 3_600_000;
const utc = (text: string) => Date.parse(text);

describe("the instant of a New York time", () => {
  it.each([
    ["2014-06-09", "16:15", "2014-06-09T20:15:00Z"],
    ["2014-12-09", "16:15", "2014-12-09T21:15:00Z"],
    ["2015-03-08", "01:59", "2015-03-08T06:59:00Z"],
    ["2015-03-08", "03:00", "2015-03-08T07:00:00Z"],
    ["2015-11-01", "00:00", "2015-11-01T04:00:00Z"],
    ["2015-11-02", "00:00", "2015-11-02T05:00:00Z"],
    ["1999-12-31", "18:00", "1999-12-31T23:00:00Z"],
  ])("given as %s %s is %s", (date, time, instant) => {
    expect(newYorkInstant(date, time)).toBe(utc(instant));
  });

  it("is an hour later for a time skipped by a clock change, and the first of two for a repeated time", () => {
    expect(newYorkInstant("2015-03-08", "02:30")).toBe(utc("2015-03-08T07:30:00Z"));
    expect(newYorkInstant("2015-11-01", "01:30")).toBe(utc("2015-11-01T05:30:00Z"));
  });

  it("throws a RangeError for a date or time that does not exist", () => {
    expect(() => newYorkInstant("2015-02-30", "16:15")).toThrow(RangeError);
    expect(() => newYorkInstant("2015-02-27", "24:30")).toThrow(RangeError);
  });
});

describe("the New York date of an instant", () => {
  it.each([
    ["2013-10-12T03:59:59.999Z", "2013-10-11"],
    ["2013-10-12T04:00:00Z", "2013-10-12"],
    ["2013-12-12T04:59:59.999Z", "2013-12-11"],
    ["2013-12-12T05:00:00Z", "2013-12-12"],
  ])("given as %s is %s", (instant, date) => {
    expect(newYorkDate(utc(instant))).toBe(date);
  });

  it("is the same from createNewYorkDateReader and newYorkDate, in any order and across clock changes", () => {
    const dateOf = createNewYorkDateReader();
    const start = utc("2015-03-07T00:00:00Z");
    const instants = Array.from({ length: 300 * 24 }, (_, hour) => start + hour * HOUR_MS);
    const backAndForth = [...instants, ...instants.toReversed()];
    expect(backAndForth.map(dateOf)).toEqual(backAndForth.map(newYorkDate));
  });
});
