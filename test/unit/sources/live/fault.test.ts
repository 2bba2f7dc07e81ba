import { expect, it } from "vitest";
import { z } from "zod";
import { ProviderFault } from "../../../../src/sources/live/fault.ts";
import { parseJsonText } from "../../../../src/sources/live/provider-response.ts";

const faultFor = (key: string): string => {
  try {
    parseJsonText(JSON.stringify({ [key]: 1 }), z.record(z.string(), z.string()));
  } catch (error) {
    if (error instanceof ProviderFault) return error.message;
  }
  return "no fault";
};

it("a fault contains the provider's message on one line without control characters", () => {
  expect(faultFor("\u001b]0;owned\u0007\u001b[31m\u202eX\r\nY")).toMatch(
    /^\ufffd\]0;owned\ufffd\ufffd\[31m\ufffdX Y: Invalid input/,
  );
});

it("the message of a fault has at most 300 characters", () => {
  expect(faultFor("x".repeat(100_000))).toHaveLength(300);
});
