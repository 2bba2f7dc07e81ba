import {
  type ErrorRequestHandler,
  type Request,
  type RequestHandler,
  type Response,
  Router,
} from "express";
import type { Provider } from "oidc-provider";
import { withCallerAddress } from "../../access/auditor.ts";
import type { IssueClientCredentials } from "../../auth/oidc/client-credentials.ts";
import { userInfoOf } from "../../auth/oidc/end-user.ts";
import { requestHooksOf } from "../../auth/oidc/request-state.ts";
import { RESPONSE_MODES } from "../../auth/oidc/response-corrections.ts";
import { revokePresentedToken } from "../../auth/oidc/revocation.ts";
import { paths } from "../../lib/paths.ts";
import { Problem } from "../../lib/problem.ts";
import { partyAt } from "../../limits/address-key.ts";
import type { Limits } from "../../limits/limits.ts";
import { authorizationServerDocuments } from "../../openapi/operations/documents.ts";
import { registrationOperations } from "../../openapi/operations/registration.ts";
import {
  authorizationOperations,
  FORM_MEDIA_TYPE,
  MAX_OPAQUE_CHARACTERS,
  tokenOperation,
  userInfoOperations,
} from "../../openapi/operations/tokens.ts";
import type { ApiKeyService } from "../../principals/keys/api-keys.ts";
import { methodNotAllowedProblem, rejectOtherMethods, serveGetOnly } from "../allowed-methods.ts";
import { internalErrorProblem, isOpenedInBrowser, OAuthError } from "../errors.ts";
import { mountOperations, routeOf } from "../mount.ts";
import { admitRequest, countPublicRequest } from "../rate-limits.ts";
import { queryOf } from "../request-context.ts";
import type { Handler, Route } from "../route-table.ts";
import { sendJson } from "../send-response.ts";
import {
  createTokenAdmission,
  type ForwardRequest,
  limitClientAuthentication,
  limitTokenRequests,
} from "./client-limits.ts";
import { asOAuthError, explainOAuthError, toOAuthError } from "./oauth-errors.ts";
import {
  asBodyProblem,
  createBodyParser,
  type FormRequest,
  hashSecretInBody,
  oauthRequestOf,
  readOAuthForm,
  toProviderRequest,
  withParsedForm,
} from "./oauth-request.ts";

/** Options of `createOAuthEndpoints`. */
interface OAuthOptions {
  /** Returns the current authorization server; it changes when keys are rotated. */
  readonly provider: () => Provider;
  /** Public origin of the service, with which every URL in a response begins. */
  readonly baseUrl: string;
  readonly clientCredentials: IssueClientCredentials;
  readonly keys: ApiKeyService;
  readonly limits: Limits;
}

/** Maximum body size of a client registration or update, in bytes. */
const MAX_REGISTRATION_BYTES = 8 * 1024;

/** Maximum size of a form body, in bytes. */
const MAX_FORM_BYTES = 16 * 1024;

/** Form parameters that identify or authenticate a client (RFC 6749 section 2.3). */
const clientAuthParameters = ["client_id", "client_secret", "client_assertion"];

/**
 * Revokes a token without client authentication, because the API contract allows anyone who has a
 * token to revoke it. Requests with client authentication are passed on. A bearer token in
 * `Authorization` is not client authentication.
 */
function revokeWithoutClient({ provider, keys }: OAuthOptions): RequestHandler {
  return async (req, res, next) => {
    const { form } = withParsedForm(oauthRequestOf(req, res));
    const { authorization } = req.headers;
    const authenticates =
      (authorization !== undefined && !/^bearer /i.test(authorization)) ||
      clientAuthParameters.some((member) => form.has(member));
    if (authenticates) return next();

    const [token, ...others] = form.getAll("token");
    res.set("cache-control", "no-store");
    if (!token || others.length > 0) {
      const error_description = "the parameter token is required, once";
      res.status(400).json({ error: "invalid_request", error_description });
      return;
    }
    await withCallerAddress(req.ip, () =>
      revokePresentedToken({ provider: provider(), keys }, token),
    );
    res.end();
  };
}

type Callback = ReturnType<Provider["callback"]>;

/** Caches the request handler of each authorization server. */
function callbackCache(): (provider: Provider) => Callback {
  const built = new WeakMap<Provider, Callback>();
  return (provider) => {
    const callback = built.get(provider) ?? provider.callback();
    built.set(provider, callback);
    return callback;
  };
}

/**
 * If a browser's authorization request is rejected, passes the error to the error handlers, which
 * show a page.
 */
const showErrorsInBrowser: RequestHandler = (req, res, next) => {
  if (isOpenedInBrowser(req)) {
    requestHooksOf(res).onAuthorizationError = (refusal) => {
      if (refusal instanceof Problem) return next(refusal);
      const { error, error_description: description = "no description was given" } = refusal;
      if (error === "server_error") return next(internalErrorProblem());
      next(new OAuthError(error, { status: 400, description }));
    };
  }
  next();
};

/**
 * Returns the user info: the JSON claims about the person (OpenID Connect Core 1.0 section 5.3).
 *
 * @throws {OAuthError}
 */
function userInfo({ provider, baseUrl }: OAuthOptions): RequestHandler {
  return async (req, res) => {
    const [, token] = /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? "") ?? [];
    const found = token === undefined ? "invalid_token" : await userInfoOf(provider(), token);
    if (typeof found !== "string") return void res.set("cache-control", "no-store").json(found);
    const error = token === undefined ? "" : `, error="${found}"`;
    throw new OAuthError(found, {
      ...userInfoErrors[found],
      headers: { "www-authenticate": `Bearer realm="${baseUrl}"${error}` },
    });
  };
}

const userInfoErrors = {
  invalid_token: { status: 401, description: "an access token for a person is required" },
  insufficient_scope: {
    status: 403,
    description: "the person did not allow the scope openid; request it at /oauth/authorize",
  },
} as const;

/**
 * Headers that exclude a token request from the fast path because they change its meaning: client
 * authentication, proof of possession (RFC 9449), and the origin of a web page.
 */
const fastPathExclusions = ["authorization", "dpop", "oauth-client-attestation", "origin"];

/** Answers plain token requests by the fast path and forwards all others. */
function tryFastPath(
  { clientCredentials, limits }: OAuthOptions,
  forward: ForwardRequest,
): ForwardRequest<FormRequest> {
  return async (request) => {
    const { req, res, form } = request;
    const isPlain = fastPathExclusions.every((name) => req.headers[name] === undefined);
    const admitToken = createTokenAdmission(limits, request);
    const token = isPlain ? await clientCredentials(form, admitToken) : undefined;
    if (token === undefined) {
      requestHooksOf(res).admitToken = admitToken;
      return forward(request);
    }
    res.setHeader("Cache-Control", "no-store");
    sendJson(res, JSON.stringify(token));
  };
}

/** Forwards requests to the current authorization server. */
function createForwarder({ provider, baseUrl }: OAuthOptions): ForwardRequest {
  const callbackOf = callbackCache();
  return (request) =>
    withCallerAddress(request.ip, () =>
      callbackOf(provider())(toProviderRequest(request, baseUrl), request.res),
    );
}

/**
 * Counts an authorization request just before it is stored, so that rejected requests do not count.
 */
function countStoredRequest(limits: Limits): RequestHandler {
  return (req, res, next) => {
    requestHooksOf(res).beforeAuthorizationStored = async () =>
      admitRequest(limits, { res }, "authorizations", partyAt(req.ip));
    next();
  };
}

function mountEndpoints(router: Router, options: OAuthOptions, forward: ForwardRequest): void {
  const { limits } = options;
  const registration = createBodyParser("application/json", MAX_REGISTRATION_BYTES);
  const forwardFromExpress = (req: Request, res: Response) => forward(oauthRequestOf(req, res));
  const revokeAsClient = limitClientAuthentication(limits, forward);
  for (const { path } of authorizationServerDocuments) {
    serveGetOnly(router, path, (req, res) => {
      res.set("cache-control", "public, max-age=300");
      return forwardFromExpress(req, res);
    });
  }
  mountOperations(router, userInfoOperations, {
    get_user_info: [userInfo(options)],
    post_user_info: [userInfo(options)],
  });
  mountOperations(
    router,
    authorizationOperations,
    {
      revoke_token: [
        ...createBodyParser(FORM_MEDIA_TYPE, MAX_FORM_BYTES),
        revokeWithoutClient(options),
        (req, res) => revokeAsClient(withParsedForm(oauthRequestOf(req, res))),
      ],
      authorize: [
        requireNavigation,
        limitAuthorizationSize,
        countStoredRequest(limits),
        showErrorsInBrowser,
        forwardFromExpress,
      ],
    },
    limits,
  );
  // Resuming an authorization is not rate limited: it stores nothing new, and other requests must
  // not block it midway.
  router
    .route(`${paths.authorize}/:uid`)
    .get(showErrorsInBrowser, forwardFromExpress)
    .all(rejectOtherMethods(["get"]));
  mountOperations(
    router,
    registrationOperations,
    {
      register_client: [...registration, forwardFromExpress],
      get_client: [forwardFromExpress],
      update_client: [...registration, hashSecretInBody, forwardFromExpress],
      delete_client: [forwardFromExpress],
    },
    limits,
  );
}

/** Converts the errors of the body parser to problems. */
const convertBodyErrors: ErrorRequestHandler = (error, _req, _res, next) =>
  next(asBodyProblem(error));

/** The token endpoint, which receives the most requests after the tools. */
function tokenRoute(options: OAuthOptions, forward: ForwardRequest): Route {
  const { limits } = options;
  const issue = limitClientAuthentication(
    limits,
    limitTokenRequests(limits, tryFastPath(options, forward)),
  );
  const handle: Handler = async (context) => {
    await countPublicRequest(limits, context);
    try {
      await issue(await readOAuthForm(context, MAX_FORM_BYTES));
    } catch (error) {
      throw asOAuthError(error);
    }
  };
  return {
    ...routeOf(tokenOperation, handle),
    isStrict: true,
    async otherMethods(context) {
      await countPublicRequest(limits, context);
      throw methodNotAllowedProblem(context.req.method, "POST");
    },
  };
}

/** The OAuth endpoints: the token endpoint for the route table, the others for Express. */
interface OAuthEndpoints {
  readonly tokenRoute: Route;
  readonly router: Router;
}

/**
 * Creates the OAuth endpoints and metadata documents. Only these paths reach the authorization
 * server, which would answer requests for any path; other paths fall through. Mount the router at
 * the root and before any body parser, since it reads bodies itself.
 *
 * Protocol errors have the body of RFC 6749 section 5.2; for a browser's authorization request,
 * they become a problem, which is shown as an error page. An unavailable store is 503, and an
 * exceeded limit 429, both with `Retry-After` and the error `temporarily_unavailable`.
 *
 * @throws {Problem} `method_not_allowed`, `unsupported_media_type`, `content_too_large`.
 */
export function createOAuthEndpoints(options: OAuthOptions): OAuthEndpoints {
  const forward = createForwarder(options);
  const router = Router({ strict: true });
  mountEndpoints(router, options, forward);
  router.use("/oauth/authorize", explainOAuthError);
  router.use(toOAuthError, convertBodyErrors);
  return { tokenRoute: tokenRoute(options, forward), router };
}

/**
 * Rejects an authorization request whose `Sec-Fetch-Dest` is not `document`, that is, one that is
 * not a top-level navigation. No person could decide on a request for an image, a frame or a
 * script, and a page of another site could use such requests to exhaust the limits of its visitors'
 * addresses. A request without this header is accepted, because programs other than browsers do not
 * send it (Fetch Metadata Request Headers, section 2.1).
 *
 * @throws {OAuthError} `invalid_request`
 */
const requireNavigation: RequestHandler = (req, _res, next) => {
  const destination = req.get("sec-fetch-dest") ?? "document";
  if (destination === "document") return next();
  const description = "open the address of the authorization request in a browser window";
  throw new OAuthError("invalid_request", { status: 400, description });
};

/** Maximum length of the query of an authorization request, in characters; it is stored while the
 *  person decides. */
const MAX_QUERY_CHARACTERS = 4096;

/**
 * Parameters that only the client interprets (RFC 6749 section 4.1.1, OpenID Connect Core section
 * 3.1.2.1).
 */
const opaqueParameters = ["state", "nonce"];

/**
 * Rejects an authorization request that is too long to store, or has an unsupported response mode.
 * It never redirects, because the redirect URI has not been verified (RFC 6749 section 4.1.2.1).
 *
 * @throws {OAuthError} `invalid_request`
 */
const limitAuthorizationSize: RequestHandler = (req, _res, next) => {
  const query = queryOf(req);
  if (req.originalUrl.length - req.path.length > MAX_QUERY_CHARACTERS) {
    throw tooLong("the request", MAX_QUERY_CHARACTERS);
  }
  const long = opaqueParameters.find((name) =>
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
