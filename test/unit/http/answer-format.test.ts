import { describe, expect, it } from "vitest";
import { preferredFormat } from "../../../src/http/api/answer-format.ts";

describe("the response format of a table", () => {
  it.each([
    ["no value", undefined, "json"],
    ["any type", "*/*", "json"],
    ["the types of a browser", "text/html,application/xhtml+xml,*/*;q=0.8", "json"],
    ["CSV", "text/csv", "csv"],
    ["CSV before any other type", "text/csv, */*;q=0.1", "csv"],
    ["CSV with a parameter", "text/csv;header=present, application/json;q=0.9", "csv"],
    ["CSV in upper case", "TEXT/CSV", "csv"],
    ["CSV and JSON at the same quality", "application/json, text/csv", "json"],
    ["JSON at a higher quality than CSV", "text/csv;q=0.5, application/json", "json"],
    ["CSV at quality zero", "text/csv;q=0", "json"],
    ["another type that begins with text/csv", "text/csv-schema", "json"],
  ])("is chosen for an Accept header with %s", (_, accept, format) => {
    expect(preferredFormat({ headers: { accept } })).toBe(format);
  });
});
