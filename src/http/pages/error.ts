import type { ErrorRequestHandler } from "express";
import { Problem, type ProblemCode } from "../../lib/problem.ts";
import { retryText } from "../../limits/rate-limit-problem.ts";
import { type Html, html } from "../../markup/html.ts";
import type { SendErrorPage } from "../errors.ts";
import { timeElement } from "./elements.ts";
import type { PageAnswer, SendPage } from "./page-answer.ts";

/**
 * Headings of error pages by problem code. The titles of problems are written for programs, not for
 * people.
 */
const headings: Partial<Readonly<Record<ProblemCode, string>>> = {
  invalid_request: "This did not work",
  forbidden_origin: "Open the page again",
  not_found: "Page not found",
  method_not_allowed: "This page cannot do that",
  content_too_large: "This form is too large",
  unsupported_media_type: "This form cannot be read",
  rate_limited: "Too many requests",
  internal_error: "Something went wrong here",
  provider_unavailable: "Temporarily unavailable",
  store_unavailable: "Temporarily unavailable",
};

/** Dependencies of the error pages. */
export interface ErrorPageOptions {
  readonly show: SendPage;
  readonly now: () => Date;
  /** Called with every error that the person did not cause. */
  readonly onError: (error: unknown) => void;
}

/**
 * Handles every error of a page with an error page. It shows the text of the problem and no other
 * part of the error.
 */
export function createErrorPageHandler({
  show,
  now,
  onError,
}: ErrorPageOptions): ErrorRequestHandler {
  return (error, _req, res, next) => {
    const problem = toPageProblem(error);
    // A `Problem` with status 500 was already reported where it was created.
    if (problem.status === 500 && problem !== error) onError(error);
    if (res.headersSent) return next(error);
    show(res, errorPage(problem, now().getTime()));
  };
}

/**
 * What a person reads at an address that no route serves; programs read which documents list them.
 */
const NO_PAGE = new Problem("not_found", {
  detail: "There is no page at this address.",
  next: "The address may be mistyped, or the page may be gone.",
});

/** Creates the function that responds with an error page to requests that no page handles. */
export function createErrorPageSender(show: SendPage, now: () => Date): SendErrorPage {
  return (res, error) => {
    const problem = toPageProblem(error);
    show(res, errorPage(problem.code === "not_found" ? NO_PAGE : problem, now().getTime()));
  };
}

/** Converts an error to a problem; an error without a status is a bug. */
function toPageProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const { status = 500 } = error as { status?: number };
  if (status === 413) {
    return new Problem("content_too_large", {
      detail: "The form is too large.",
      next: "Go back and shorten your text.",
    });
  }
  return status >= 400 && status < 500
    ? new Problem("invalid_request", {
        detail: "The form could not be read.",
        next: "Open the page again, and send the form from there.",
      })
    : new Problem("internal_error", { detail: "The failure was logged.", next: "Try it again." });
}

/** Renders a problem as a page. A problem with a `location` becomes a redirect to that URL. */
function errorPage(problem: Problem, now: number): PageAnswer {
  const { code, status, detail, next, headers } = problem;
  return {
    status: headers.location === undefined ? status : 303,
    headers,
    heading: headings[code] ?? String(problem.toJSON().title),
    body:
      code === "rate_limited"
        ? waitText(problem, now)
        : html`<p class="lead">${detail}</p><p>${next}</p>
<p class="buttons"><a class="main" href="/">Go to the home page</a></p>`,
  };
}

const MINUTE_MS = 60_000;

/** Text that says when to try again, as a time and as a duration, and what else helps. */
function waitText({ headers, next }: Problem, now: number): Html {
  const seconds = Number(headers["Retry-After"]);
  const at = Math.ceil((now + seconds * 1000) / MINUTE_MS) * MINUTE_MS;
  const minutes = Math.ceil(seconds / 60);
  const wait = minutes === 1 ? "a minute" : `${minutes} minutes`;
  return html`<p class="lead">There were too many attempts.</p>
<p>Try again after ${timeElement(at)}, in ${wait}.</p>${
    next !== retryText(seconds) &&
    html`
<p>${next}</p>`
  }`;
}
