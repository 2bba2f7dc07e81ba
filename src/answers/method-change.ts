import { z } from "zod";
import { InstantAnswer, isoInstant } from "./shared-members.ts";

/** Payload of the event "another method scores the instruments of the alert". */
export const MethodChangedEvent = z.object({
  type: z.literal("method.changed"),
  timestamp: InstantAnswer.describe("When the service found the change."),
  data: z.object({
    alertId: z.string(),
    eventId: z.string().describe("The same in all deliveries, and equal to webhook-id."),
    previousMethodVersion: z
      .string()
      .describe("Release and first digits of the hash, as methodVersion says them."),
    methodVersion: z.string().describe("From now on; GET /api/method/{version} describes it."),
    change: z.string().describe("What changed, in one sentence."),
  }),
});

/** What each release changed in the method, in one sentence. */
const CHANGE_BY_RELEASE: Readonly<Record<string, string>> = {
  "2.0.0":
    "The score of a stock is now its percentile among the stocks of the session by earnings surprise, residual momentum and one-month reversal; funds and coins are scored as before.",
};

/** What a change says that is not to a later release. */
const CHANGE_WITHIN_RELEASE =
  "The code that computes scores is another, so that equal data can give other scores.";

const releaseOf = (version: string): string => version.split("+")[0] ?? "";

/**
 * Renders the payload for one alert.
 *
 * @param change Versions of the method, as in `runningMethod`.
 * @param ids `at` is the time of the event, Unix milliseconds.
 */
export function methodChangePayload(
  { from, to }: { readonly from: string; readonly to: string },
  { at, ...names }: { readonly alertId: string; readonly eventId: string; readonly at: number },
): z.input<typeof MethodChangedEvent> {
  const release = releaseOf(to);
  const change = release === releaseOf(from) ? undefined : CHANGE_BY_RELEASE[release];
  return {
    type: "method.changed",
    timestamp: isoInstant(at),
    data: {
      ...names,
      previousMethodVersion: from,
      methodVersion: to,
      change: change ?? CHANGE_WITHIN_RELEASE,
    },
  };
}
