import { expect } from "vitest";
import { OutboundError } from "../../../src/outbound/guarded-fetch.ts";

/** Returns the internal reason why a request failed; the error that callers see is always the same. */
export async function refusal(sent: Promise<unknown>): Promise<string> {
  const error: unknown = await sent.then(
    () => new Error("it was answered"),
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(OutboundError);
  expect(String(error)).toBe("OutboundError: The address could not be fetched.");
  const reasons: string[] = [];
  for (let at = (error as Error).cause; at instanceof Error; at = at.cause)
    reasons.push(at.message);
  return reasons.join("; ");
}
