import type { ErrorRequestHandler } from "express";
import { unavailableBody } from "../../auth/oidc/response-corrections.ts";
import { Problem } from "../../lib/problem.ts";
import { isOpenedInBrowser, OAuthError } from "../errors.ts";

/**
 * Converts an exceeded limit or an unavailable store to an OAuth error: 429 or 503 with
 * `Retry-After` and `temporarily_unavailable`. RFC 6749 section 5.2 has no suitable code; this code
 * of section 4.1.2.1 tells the client to retry later. `slow_down` (RFC 8628) is reserved for
 * polling in the device flow.
 *
 * @returns The OAuth error; any other error unchanged.
 */
export function asOAuthError(error: unknown): unknown {
  const isTemporary =
    error instanceof Problem &&
    (error.code === "rate_limited" || error.code === "store_unavailable");
  if (!isTemporary) return error;
  const { error: code = "", error_description: description = "" } = unavailableBody(error);
  return new OAuthError(code, { status: error.status, description, headers: error.headers });
}

/**
 * Converts errors of Express routes with `asOAuthError`. For a browser, the error stays unchanged,
 * so that an error page is shown.
 */
export const toOAuthError: ErrorRequestHandler = (error, req, _res, next) =>
  next(isOpenedInBrowser(req) ? error : asOAuthError(error));

/** Explains an error of an authorization request in a browser on the error page. */
export const explainOAuthError: ErrorRequestHandler = (error, req, _res, next) => {
  if (!(error instanceof OAuthError) || !isOpenedInBrowser(req)) return next(error);
  next(
    new Problem("invalid_request", {
      detail: `The application sent you here with a request that cannot be answered (${error.error}: ${error.detail.description}).`,
      next: "Go back to the application and start again from there. If that does not help, report what this page says to its developer.",
    }),
  );
};
