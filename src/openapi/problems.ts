import { z } from "zod";
import { Problem as Failure, type ProblemCode } from "../lib/problem.ts";
import type { HeaderName } from "./headers.ts";

/** Problem codes that the API can return; other codes occur only on pages. */
const CODES = [
  "invalid_request",
  "unauthenticated",
  "insufficient_scope",
  "claim_required",
  "forbidden_origin",
  "not_found",
  "unknown_symbol",
  "ambiguous_symbol",
  "method_not_allowed",
  "alert_limit",
  "wrong_state",
  "content_too_large",
  "unsupported_media_type",
  "idempotency_key_reused",
  "not_available_then",
  "rate_limited",
  "internal_error",
  "not_ready",
  "overloaded",
  "store_unavailable",
] as const satisfies readonly ProblemCode[];

/** Schema of a problem (RFC 9457). */
export const ProblemBody = z.object({
  type: z.string().describe("The code as a URN."),
  title: z.string(),
  status: z.int().describe("HTTP status."),
  detail: z.string().describe("What is wrong with this request."),
  code: z.enum(CODES).describe("Stable name of the failure; more may be added within 1.x."),
  next: z.string().describe("The next step."),
  instance: z.string().optional().describe("Path of the request."),
  requestId: z
    .string()
    .optional()
    .describe("Identifies the request for the operator; equals `X-Request-Id` of the response."),
});

/** Media type of a problem. */
export const PROBLEM_MEDIA_TYPE = "application/problem+json";

/** Problems of every operation that reads a body. */
export const BODY_PROBLEMS = [
  "content_too_large",
  "unsupported_media_type",
] as const satisfies readonly ProblemCode[];

/**
 * Transient problems that every operation can return: while the service is starting or is
 * overloaded.
 */
export const TRANSIENT_PROBLEMS = [
  "not_ready",
  "overloaded",
] as const satisfies readonly ProblemCode[];

/**
 * Problems of every public operation. Exceeding the general quota of an address is reported as a
 * problem; under /oauth, exceeding the quota of the endpoint is an OAuth error.
 */
export const PUBLIC_PROBLEMS = [
  ...TRANSIENT_PROBLEMS,
  "rate_limited",
] as const satisfies readonly ProblemCode[];

/** Problems of every operation that requires a credential. */
export const PROTECTED_PROBLEMS = [
  "invalid_request",
  "unauthenticated",
  "insufficient_scope",
  ...PUBLIC_PROBLEMS,
  "internal_error",
  "store_unavailable",
] as const satisfies readonly ProblemCode[];

/** Problems of every public operation under /oauth that reads a body. */
export const OAUTH_BODY_PROBLEMS = [...BODY_PROBLEMS, ...PUBLIC_PROBLEMS] as const;

const failureOf = (code: ProblemCode) => new Failure(code, { detail: "", next: "" });

/** HTTP status of a problem. */
export const problemStatus = (code: ProblemCode): number => failureOf(code).status;

/** Title of a problem. */
export const problemTitle = (code: ProblemCode): string => String(failureOf(code).toJSON().title);

/** Additional response headers of errors, by status. */
export const failureHeaders: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ["WWW-Authenticate"],
  403: ["WWW-Authenticate"],
  429: ["Retry-After"],
  503: ["Retry-After"],
};
