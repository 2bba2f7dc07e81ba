import { describe, expect, it } from "vitest";
import { retryAfterMs } from "../../../src/outbound/retry-after.ts";

/** The instant of the examples in RFC 9110 section 5.6.7. */
const EXAMPLE = Date.UTC(1994, 10, 6, 8, 49, 37);

describe("Retry-After", () => {
  it.each([
    ["0", 0],
    ["120", 120_000],
    [" 120 ", 120_000],
    ["99999999999999999999", Number.MAX_SAFE_INTEGER],
    [`${"9".repeat(400)}`, Number.MAX_SAFE_INTEGER],
  ])("is a number of seconds: %j", (field, expected) => {
    expect(retryAfterMs(field, EXAMPLE)).toBe(expected);
  });

  it.each([
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-94 08:49:37 GMT",
    "Sun Nov  6 08:49:37 1994",
  ])("is a date in one of three forms: %s", (field) => {
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
  ])("is undefined when it cannot be parsed: %j", (field) => {
    expect(retryAfterMs(field, EXAMPLE)).toBeUndefined();
  });
});
