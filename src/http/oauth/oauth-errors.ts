import type { ErrorRequestHandler } from "express";
import { unavailableBody } from "../../auth/oidc/response-corrections.ts";
import { Problem } from "../../problem.ts";
import { isOpenedInBrowser, OAuthError } from "../errors.ts";

/**
 * Converts an exceeded limit, or an unavailable store, to an OAuth error: 429 or 503 with
 * `Retry-After` and `temporarily_unavailable`. No code of RFC 6749 section 5.2 fits; this one of
 * section 4.1.2.1 correctly advises to retry later. `slow_down` (RFC 8628) is reserved for polling
 * in the device flow.
 *
 * @returns Other errors unchanged.
 */
export function asOAuthError(error: unknown): unknown {
  const isTemporary =
    error instanceof Problem &&
    (error.code === "rate_limited" || error.code === "store_unavailable");
  if (!isTemporary) return error;
  const { error: code = "", error_description: description = "" } = unavailableBody(error);
  return new OAuthError(code, { status: error.status, description, headers: error.headers });
}

/** Converts the errors of Express routes like `asOAuthError`. A browser gets the error page of the
 *  problem. */
export const toOAuthError: ErrorRequestHandler = (error, req, _res, next) =>
  next(isOpenedInBrowser(req) ? error : asOAuthError(error));

/** Converts an error of an authorization request in a browser to a problem, for the error page. */
export const toPageProblem: ErrorRequestHandler = (error, req, _res, next) => {
  if (!(error instanceof OAuthError) || !isOpenedInBrowser(req)) return next(error);
  next(
    new Problem("invalid_request", {
      detail: `The application sent you here with a request that cannot be answered (${error.error}: ${error.detail.description}).`,
      next: "Go back to the application and start again from there. If that does not help, report what this page says to its developer.",
    }),
  );
};
