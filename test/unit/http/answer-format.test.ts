import { describe, expect, it } from "vitest";
import { preferredFormat } from "../../../src/http/api/answer-format.ts";

describe("the response format of a table", () => {
  it.each([
    ["nothing", undefined, "json"],
    ["anything", "*/*", "json"],
    ["what browsers accept", "text/html,application/xhtml+xml,*/*;q=0.8", "json"],
    ["CSV", "text/csv", "csv"],
    ["CSV before the rest", "text/csv, */*;q=0.1", "csv"],
    ["CSV with a parameter", "text/csv;header=present, application/json;q=0.9", "csv"],
    ["CSV in capitals", "TEXT/CSV", "csv"],
    ["both alike", "application/json, text/csv", "json"],
    ["JSON more", "text/csv;q=0.5, application/json", "json"],
    ["no CSV", "text/csv;q=0", "json"],
    ["another type of that beginning", "text/csv-schema", "json"],
  ])("is chosen for an Accept header with %s", (_, accept, format) => {
    expect(preferredFormat({ headers: { accept } })).toBe(format);
  });
});
