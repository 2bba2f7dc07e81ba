import { describe, expect, it } from "vitest";
import {
  createBarsDue,
  createPublicationCalendar,
} from "../../../src/sources/files/publication-calendar.ts";

const utc = (text: string) => Date.parse(text);
const iso = (at: number) => new Date(at).toISOString();
const barsDue = createBarsDue(createPublicationCalendar());
const due = (after: string, until: string, assetClass: "stock" | "etf" | "crypto") =>
  barsDue(utc(after), utc(until), assetClass).map(iso);

describe("the bars that are due in a market folder", () => {
  it("are one per session for listed securities, and none on weekends and holidays", () => {
    const sessions = ["2014-07-02", "2014-07-03", "2014-07-07"];
    const expected = sessions.map((date) => `${date}T20:15:00.000Z`);
    expect(due("2014-07-01T20:15:00Z", "2014-07-08T20:14:59Z", "stock")).toEqual(expected);
    expect(due("2014-07-01T20:15:00Z", "2014-07-08T20:14:59Z", "etf")).toEqual(expected);
    expect(due("2012-10-26T20:15:00Z", "2012-10-31T20:00:00Z", "stock")).toEqual([]);
  });

  it("are those due after the start and up to and including the end", () => {
    expect(due("2014-06-09T20:14:59Z", "2014-06-09T20:15:00Z", "stock")).toHaveLength(1);
    expect(due("2014-06-09T20:15:00Z", "2014-06-09T20:15:00Z", "stock")).toEqual([]);
    expect(due("2014-06-09T23:59:59.999Z", "2014-06-10T00:00:00Z", "crypto")).toHaveLength(1);
    expect(due("2014-06-10T00:00:00Z", "2014-06-10T00:00:00Z", "crypto")).toEqual([]);
  });

  it("follow New York time throughout the year", () => {
    expect(due("2015-03-06T12:00:00Z", "2015-03-09T23:00:00Z", "stock")).toEqual([
      "2015-03-06T21:15:00.000Z",
      "2015-03-09T20:15:00.000Z",
    ]);
  });

  it("are one per UTC day for a coin, at the end of the day", () => {
    expect(due("2014-07-03T12:00:00Z", "2014-07-06T12:00:00Z", "crypto")).toEqual([
      "2014-07-04T00:00:00.000Z",
      "2014-07-05T00:00:00.000Z",
      "2014-07-06T00:00:00.000Z",
    ]);
  });

  it("are none when the end precedes the start", () => {
    expect(due("2014-07-08T12:00:00Z", "2014-07-01T12:00:00Z", "stock")).toEqual([]);
    expect(due("2014-07-08T12:00:00Z", "2014-07-01T12:00:00Z", "crypto")).toEqual([]);
  });
});
