import { Problem, type ProblemCode } from "../lib/problem.ts";

/** Texts of problems that tests cannot easily provoke in the sandbox. */
const sampleTexts: Partial<
  Readonly<Record<ProblemCode, ConstructorParameters<typeof Problem>[1]>>
> = {
  ambiguous_symbol: {
    detail: '"ACME" fits more than one instrument.',
    next: "Did you mean: ACME-A (Acme Class A), ACME-B (Acme Class B)?",
  },
  alert_limit: {
    detail: "You have 100 alerts with all your agents and keys, which is the maximum.",
    next: "Delete one with manage_alert, or add symbols to one that you have.",
  },
  content_too_large: {
    detail: "The body may have at most 16384 bytes.",
    next: "Send less in one request.",
  },
  rate_limited: {
    detail: "The limit calls allows 600 in 60 seconds.",
    next: "Retry in 30 seconds.",
  },
  internal_error: {
    detail: "The failure was logged.",
    next: "Try again later; GET /api/health says how the service is doing.",
  },
  not_ready: {
    detail: "The market is being read.",
    next: "Try again in a moment; GET /readyz answers 200 once the service is ready.",
  },
  overloaded: {
    detail: "More requests wait than can be answered in time.",
    next: "Send the same request again after the time in Retry-After.",
  },
  store_unavailable: {
    detail: "The disk of the store is full.",
    next: "Try again in a moment.",
  },
};

/** A constructed example of a problem for which no response was recorded. */
export function exampleProblem(code: ProblemCode): unknown {
  const saying = sampleTexts[code];
  return saying && new Problem(code, saying).toJSON();
}
