import { z } from "zod";
import { Problem as Failure, type ProblemCode } from "../problem.ts";
import type { HeaderName } from "./headers.ts";

/** Codes that callers of the interface meet; others stand on pages for people alone. */
const CODES = [
  "invalid_request",
  "unauthenticated",
  "insufficient_scope",
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

/** The body of a failure (RFC 9457). */
export const Problem = z.object({
  type: z.string().describe("The code as a URN."),
  title: z.string(),
  status: z.int().describe("HTTP status."),
  detail: z.string().describe("What is wrong with this request."),
  code: z.enum(CODES).describe("Stable name of the failure; more may come within 1.x."),
  next: z.string().describe("What to do about it."),
  instance: z.string().optional().describe("Path of the request."),
  requestId: z
    .string()
    .optional()
    .describe("Names the request for the operator; `X-Request-Id` of the answer."),
});

/** Media type of a failure. */
export const PROBLEM_TYPE = "application/problem+json";

/** What can fail wherever a credential is looked at. */
export const GATED_PROBLEMS = [
  "invalid_request",
  "unauthenticated",
  "insufficient_scope",
  "rate_limited",
  "internal_error",
  "not_ready",
  "overloaded",
  "store_unavailable",
] as const satisfies readonly ProblemCode[];

/** What can fail wherever a body is read. */
export const BODY_PROBLEMS = [
  "content_too_large",
  "unsupported_media_type",
] as const satisfies readonly ProblemCode[];

/** What everything can answer for a moment: while the service starts, or has too much to do. */
export const PASSING_PROBLEMS = [
  "not_ready",
  "overloaded",
] as const satisfies readonly ProblemCode[];

/** What everything that is open to everybody can answer. An address that came too often at all is told
 *  so here; under /oauth the quota of an endpoint comes after that, which is a refusal. */
export const OPEN_PROBLEMS = [
  ...PASSING_PROBLEMS,
  "rate_limited",
] as const satisfies readonly ProblemCode[];

/** The same wherever a body is read. */
export const OAUTH_BODY_PROBLEMS = [...BODY_PROBLEMS, ...OPEN_PROBLEMS] as const;

const failureOf = (code: ProblemCode) => new Failure(code, { detail: "", next: "" });

/** HTTP status of a failure. */
export const statusOf = (code: ProblemCode): number => failureOf(code).status;

/** What a failure is, in words. */
export const titleOf = (code: ProblemCode): string => String(failureOf(code).toJSON().title);

/** Header fields that come with a status. */
export const failureHeaders: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ["WWW-Authenticate"],
  403: ["WWW-Authenticate"],
  429: ["Retry-After"],
  503: ["Retry-After"],
};
