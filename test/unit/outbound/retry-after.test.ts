import { describe, expect, it } from "vitest";
import { retryAfterMs } from "../../../src/outbound/retry-after.ts";

/** Timestamp of the date examples in RFC 9110 section 5.6.7, Unix milliseconds. */
const EXAMPLE = Date.UTC(1994, 10, 6, 8, 49, 37);

describe("a Retry-After header", () => {
  it.each([
    ["0", 0],
    ["120", 120_000],
    [" 120 ", 120_000],
    ["99999999999999999999", Number.MAX_SAFE_INTEGER],
    [`${"9".repeat(400)}`, Number.MAX_SAFE_INTEGER],
  ])("may contain a number of seconds: %j", (field, expected) => {
    expect(retryAfterMs(field, EXAMPLE)).toBe(expected);
  });

  it.each([
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-94 08:49:37 GMT",
    "Sun Nov  6 08:49:37 1994",
  ])("may contain a date in one of three formats: %s", (field) => {
    expect(retryAfterMs(field, EXAMPLE - 5_000)).toBe(5_000);
    expect(retryAfterMs(field, EXAMPLE + 5_000)).toBe(0);
  });

  it.each([
    undefined,
    "",
    "soon",
    "-1",
    "1.5",
    "1e3",
    "0x10",
    "GMT",
    "Sun, 99 Nov 1994 08:49:37 GMT",
    ["1", "2"],
  ])("is ignored when it cannot be parsed: %j", (field) => {
    expect(retryAfterMs(field, EXAMPLE)).toBeUndefined();
  });
});
