import type { RequestHandler } from "express";
import { RESPONSE_MODES } from "../../auth/oidc/responses.ts";
import { OAuthError } from "../errors.ts";
import { queryOf } from "../query.ts";

/** Longest query of an authorization request, in characters: it is kept while a person is asked. */
const MAX_QUERY_CHARACTERS = 4096;

/** Longest value that means something to the client alone, in characters. */
const MAX_OPAQUE_CHARACTERS = 1024;

/** Parameters that mean something to the client alone (RFC 6749 section 4.1.1, OpenID Connect Core
 *  section 3.1.2.1). */
const opaque = ["state", "nonce"];

/** Refuses an authorization request that is too long to be kept, or wants its answer in a way that is
 *  not announced. Never as a redirect: where it would
 *  lead has not been checked (RFC 6749 section 4.1.2.1). @throws {OAuthError} `invalid_request` */
export const boundAuthorization: RequestHandler = (req, _res, next) => {
  const query = queryOf(req);
  if (req.originalUrl.length - req.path.length > MAX_QUERY_CHARACTERS) {
    throw tooLong("the request", MAX_QUERY_CHARACTERS);
  }
  const long = opaque.find((name) =>
    query.getAll(name).some((value) => value.length > MAX_OPAQUE_CHARACTERS),
  );
  if (long !== undefined) throw tooLong(long, MAX_OPAQUE_CHARACTERS);
  if (!query.getAll("response_mode").every((mode) => RESPONSE_MODES.includes(mode))) {
    const description = `response_mode is ${RESPONSE_MODES.join(" or ")}`;
    throw new OAuthError("invalid_request", { status: 400, description });
  }
  next();
};

function tooLong(what: string, most: number): OAuthError {
  const description = `${what} has at most ${most} characters`;
  return new OAuthError("invalid_request", { status: 400, description });
}
