import { z } from "zod";
import { InstantAnswer } from "../../answers/shared-members.ts";
import { paths } from "../../lib/paths.ts";
import { MarketMode } from "../../market/market.ts";
import { jsonContent, jsonResponse, type Operation } from "../operation.ts";
import { TRANSIENT_PROBLEMS } from "../problems.ts";

/** Schema of the health of the service. */
export const HealthBody = z.object({
  status: z
    .enum(["ok", "degraded"])
    .describe("`degraded`: requests are answered, but a component fails its check."),
  reasons: z
    .array(z.string())
    .optional()
    .describe("What is wrong, one entry per component; absent if the status is `ok`."),
  engine: z.string().describe("Name, version with the build that runs, and market."),
  timestamp: InstantAnswer,
  security: z.string().describe("Whether sanitization and rate limiting are active."),
  market: MarketMode,
  simulated: z.boolean(),
  asOf: InstantAnswer.describe("Instant up to which data are complete."),
  instruments: z.int().min(0).describe("Number of covered instruments."),
  methodVersion: z.string(),
});

/** Schema of the readiness of the service. */
export const ReadinessBody = z.object({
  status: z
    .enum(["ready", "degraded", "unavailable"])
    .describe("`degraded`: requests are served, but an optional component fails its check."),
  checks: z
    .record(z.string(), z.object({ ok: z.boolean(), detail: z.string() }))
    .describe("Status of each component."),
});

/** Schema of the liveness of the process. */
export const Liveness = z.object({ status: z.literal("alive") });

const READINESS = [jsonContent(ReadinessBody)] as const;

/** Operations that return the status of the service. */
export const serviceStatusOperations = [
  {
    id: "get_health",
    method: "get",
    path: paths.health,
    tag: "Service",
    summary: "Get the health of the service",
    description:
      "Always 200; `status` is the state of the components, and `reasons` says what is wrong.",
    access: "public",
    allowsAnyOrigin: true,
    answers: {
      200: jsonResponse("The health of the service.", HealthBody),
    },
    problems: TRANSIENT_PROBLEMS,
  },
  {
    id: "get_readiness",
    method: "get",
    path: "/readyz",
    tag: "Service",
    summary: "Get the readiness of the service",
    description: "For load balancers.",
    access: "public",
    answers: {
      200: { description: "Requests can be served.", content: READINESS },
      503: {
        description: "Requests should go elsewhere for now.",
        content: READINESS,
        headers: ["Retry-After"],
      },
    },
    problems: TRANSIENT_PROBLEMS,
  },
  {
    id: "get_liveness",
    method: "get",
    path: "/livez",
    tag: "Service",
    summary: "Get the liveness of the process",
    description: "For supervisors that restart a hanging process; checks no component.",
    access: "public",
    answers: {
      200: jsonResponse("The process is alive.", Liveness),
    },
    problems: TRANSIENT_PROBLEMS,
  },
] as const satisfies readonly Operation[];
