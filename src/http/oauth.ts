import { type ErrorRequestHandler, type RequestHandler, Router } from "express";
import type { Provider } from "oidc-provider";
import { calledFrom } from "../auth/auditor.ts";
import { unavailableBody } from "../auth/oidc/answers.ts";
import { refuseInteraction } from "../auth/oidc/provider.ts";
import { revokeByPossession } from "../auth/oidc/revocation.ts";
import { Problem } from "../problem.ts";
import { onlyMethods } from "./methods.ts";
import { body, bytesOf, hashSecret, pinned } from "./oauth-request.ts";

interface OAuthOptions {
  /** Gives the authorization server of the moment; it changes with its keys. */
  readonly provider: () => Provider;
  /** Public address of the service; every address in an answer starts with it. */
  readonly baseUrl: string;
}

type Method = "get" | "post" | "put" | "delete";
type Endpoints = Readonly<Record<string, Partial<Record<Method, readonly RequestHandler[]>>>>;

/** Largest body of a registration or update, in bytes. */
const MAX_REGISTRATION_BYTES = 8 * 1024;

/** Largest body of a form, in bytes. */
const MAX_FORM_BYTES = 16 * 1024;

const FORM = "application/x-www-form-urlencoded";

/** Form members that say the caller authenticates as a client (RFC 6749 section 2.3). */
const clientMembers = ["client_id", "client_secret", "client_assertion"];

/** Revocation without client credentials, as spec 4.8 shows it; others are handed on. An access
 *  token in the header is no client authentication. */
function possession(provider: () => Provider): RequestHandler {
  return async (req, res, next) => {
    const form = new URLSearchParams(bytesOf(req).toString());
    const { authorization } = req.headers;
    const authenticates =
      (authorization !== undefined && !/^bearer /i.test(authorization)) ||
      clientMembers.some((member) => form.has(member));
    if (authenticates) return next();

    const [token, ...others] = form.getAll("token");
    res.set("cache-control", "no-store");
    if (!token || others.length > 0) {
      const error_description = "the parameter token is required, once";
      res.status(400).json({ error: "invalid_request", error_description });
      return;
    }
    await calledFrom(req.ip, () => revokeByPossession(provider(), token));
    res.end();
  };
}

type Callback = ReturnType<Provider["callback"]>;

/** Builds what handles the requests of a server once for each. */
function callbacks(): (provider: Provider) => Callback {
  const built = new WeakMap<Provider, Callback>();
  return (provider) => {
    const callback = built.get(provider) ?? provider.callback();
    built.set(provider, callback);
    return callback;
  };
}

function endpoints({ provider, baseUrl }: OAuthOptions): Endpoints {
  const base = new URL(baseUrl);
  const callbackOf = callbacks();
  const handOn: RequestHandler = (req, res) =>
    calledFrom(req.ip, () => callbackOf(provider())(pinned(req, base), res));
  const refuse: RequestHandler = (req, res) => refuseInteraction(provider(), req, res);
  const registration = body("application/json", MAX_REGISTRATION_BYTES);
  const form = body(FORM, MAX_FORM_BYTES);

  return {
    "/.well-known/oauth-authorization-server": { get: [handOn] },
    "/.well-known/openid-configuration": { get: [handOn] },
    "/.well-known/jwks.json": { get: [handOn] },
    "/oauth/authorize": { get: [handOn] },
    "/oauth/authorize/:uid": { get: [handOn] },
    "/oauth/interaction/:uid": { get: [refuse] },
    "/oauth/token": { post: [...form, handOn] },
    "/oauth/revoke": { post: [...form, possession(provider), handOn] },
    "/oauth/register": { post: [...registration, handOn] },
    "/oauth/register/:clientId": {
      get: [handOn],
      put: [...registration, hashSecret, handOn],
      delete: [handOn],
    },
  };
}

/** Failures of the body reader and of an interaction, in the words of the service, and of the
 *  store, in those of OAuth. */
const translate: ErrorRequestHandler = (error, _req, res, next) => {
  if (error instanceof Problem && error.code === "store_unavailable") {
    return res.status(error.status).set(error.headers).json(unavailableBody(error));
  }
  if (error.type === "entity.too.large") {
    return next(new Problem("content_too_large", { detail: `At most ${error.limit} bytes.` }));
  }
  if (error.type === "encoding.unsupported") {
    return next(new Problem("unsupported_media_type", { detail: "The body must not be encoded." }));
  }
  if (error.error === undefined || !error.expose) return next(error);
  const { error: code, error_description } = error;
  return res.status(error.status).json({ error: code, error_description });
};

/**
 * The OAuth endpoints and metadata documents. Only the paths of this list reach the authorization
 * server, which would end every request it gets; anything else falls through. To be mounted at the
 * root and before any body parser, since it reads bodies itself.
 *
 * Failures of the protocol have the body of RFC 6749 section 5.2.
 * A store that cannot answer is 503 with the error `temporarily_unavailable`.
 * @throws {Problem} `method_not_allowed`, `unsupported_media_type`, `content_too_large`.
 */
export function oauthRouter(options: OAuthOptions): Router {
  const router = Router();
  for (const [path, handlers] of Object.entries(endpoints(options))) {
    const route = router.route(path);
    for (const [method, chain] of Object.entries(handlers) as [Method, RequestHandler[]][]) {
      route[method](...chain);
    }
    route.all(onlyMethods(Object.keys(handlers)));
  }
  router.use(translate);
  return router;
}
