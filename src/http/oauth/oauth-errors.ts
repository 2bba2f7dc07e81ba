import type { ErrorRequestHandler } from "express";
import { unavailableBody } from "../../auth/oidc/responses.ts";
import { Problem } from "../../problem.ts";
import { isOpenedInBrowser, OAuthError } from "../errors.ts";

/**
 * Words a limit that was reached, or a store that cannot answer, as an error of OAuth: 429 or 503 with
 * `Retry-After` and `temporarily_unavailable`. No code of RFC 6749 section 5.2 fits; this one of
 * section 4.1.2.1 says what is true, that the same request will do later. `slow_down` (RFC 8628)
 * means the polling of the device flow alone.
 *
 * @returns Every other error as it is.
 */
export function asOAuthError(error: unknown): unknown {
  const isPassing =
    error instanceof Problem &&
    (error.code === "rate_limited" || error.code === "store_unavailable");
  if (!isPassing) return error;
  const { error: code = "", error_description: description = "" } = unavailableBody(error);
  return new OAuthError(code, { status: error.status, description, headers: error.headers });
}

/** The same for routes of Express. A person at a browser gets the error page of the problem. */
export const toOAuthError: ErrorRequestHandler = (error, req, _res, next) =>
  next(isOpenedInBrowser(req) ? error : asOAuthError(error));

/** Words an error of an authorization request that a person opened as a problem, for the error page. */
export const toPageProblem: ErrorRequestHandler = (error, req, _res, next) => {
  if (!(error instanceof OAuthError) || !isOpenedInBrowser(req)) return next(error);
  next(
    new Problem("invalid_request", {
      detail: `The application sent you here with a request that cannot be answered (${error.error}: ${error.detail.description}).`,
      next: "Go back to the application and start again from there. If that does not help, tell whoever made it what this page says.",
    }),
  );
};
