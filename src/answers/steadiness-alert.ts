import { z } from "zod";
import { STEADINESS_ALERT_REASONS, type SteadinessAlert } from "../score/steadiness-events.ts";
import { STEADINESS_MEANING } from "./steadiness.ts";

/** Members of a steadiness event. */
export const SteadinessAlertFields = z.object({
  reason: z
    .enum(STEADINESS_ALERT_REASONS)
    .describe("The side of level on which steadiness is now; at level it is above."),
  level: z.int().describe("The steadinessLevel of the alert."),
  steadiness: z.int().min(0).max(100).describe(STEADINESS_MEANING),
  rank: z.number().describe("1 is the steadiest."),
  peers: z.int().describe("Number of stocks or coins ranked."),
});

/** Renders a steadiness event. */
export const steadinessAlertAnswer = ({
  reason,
  level,
  reading: { value, peers, evidence },
}: SteadinessAlert): z.input<typeof SteadinessAlertFields> => ({
  reason,
  level,
  peers,
  steadiness: Math.round(value),
  rank: evidence.risk.rank,
});
