import type { ErrorRequestHandler } from "express";
import { unavailableBody } from "../../auth/oidc/responses.ts";
import { Problem } from "../../problem.ts";
import { isOpenedInBrowser } from "../errors.ts";

/** What a caller of an OAuth endpoint is told. */
interface Refusal {
  /** HTTP status code. */
  readonly status: number;
  /** As RFC 6749 section 5.2 has it; printable ASCII without quotes and backslashes. */
  readonly description: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Addresses that lead on, by the names that the answer to a registration has for them. */
  readonly links?: Readonly<Record<string, string>>;
}

/** A refusal in the words of OAuth, where `Problem` has those of the service. */
export class OAuthRefusal extends Error {
  override readonly name = "OAuthRefusal";
  readonly error: string;
  readonly refusal: Refusal;

  constructor(error: string, refusal: Refusal) {
    super(`${error}: ${refusal.description}`);
    this.error = error;
    this.refusal = refusal;
  }
}

/** Hands a refusal on as a problem where a person opened an authorization request: the error pages
 *  show it. */
export const refuseOnPage: ErrorRequestHandler = (error, req, _res, next) => {
  if (!(error instanceof OAuthRefusal) || !isOpenedInBrowser(req)) return next(error);
  const { error: code, refusal } = error;
  next(
    new Problem("invalid_request", {
      detail: `The application sent you here with a request that cannot be answered (${code}: ${refusal.description}).`,
      next: "Go back to the application and start again from there. If that does not help, tell whoever made it what this page says.",
    }),
  );
};

/** Answers refusals, and a store that cannot answer, with the body of RFC 6749 section 5.2. A person
 *  at a browser is left to the error pages when the store cannot answer. */
export const answerOAuthRefusal: ErrorRequestHandler = (error, req, res, next) => {
  const isStore = error instanceof Problem && error.code === "store_unavailable";
  if (isStore && !isOpenedInBrowser(req)) {
    return res.status(error.status).set(error.headers).json(unavailableBody(error));
  }
  if (!(error instanceof OAuthRefusal)) return next(error);
  const { status, description, headers = {}, links = {} } = error.refusal;
  return res
    .status(status)
    .set(headers)
    .json({
      error: error.error,
      error_description: description,
      ...links,
    });
};
