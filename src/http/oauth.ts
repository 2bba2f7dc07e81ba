import {
  type ErrorRequestHandler,
  type Request,
  type RequestHandler,
  type Response,
  Router,
} from "express";
import type { Provider } from "oidc-provider";
import { calledFrom } from "../auth/auditor.ts";
import type { ApiKeys } from "../auth/keys/api-keys.ts";
import { unavailableBody } from "../auth/oidc/answers.ts";
import type { IssuePlainToken } from "../auth/oidc/plain-tokens.ts";
import { revokeByPossession } from "../auth/oidc/revocation.ts";
import { addressKey } from "../limits/address-key.ts";
import type { Limits } from "../limits/limits.ts";
import { Problem } from "../problem.ts";
import { guardProofs, limitTokens } from "./client-limits.ts";
import { answerOAuthLimit, limitBy } from "./limited.ts";
import { onlyMethods } from "./methods.ts";
import { body, FORM, formOf, hashSecret, pinned } from "./oauth-request.ts";

interface OAuthOptions {
  /** Gives the authorization server of the moment; it changes with its keys. */
  readonly provider: () => Provider;
  /** Public address of the service; every address in an answer starts with it. */
  readonly baseUrl: string;
  readonly plainTokens: IssuePlainToken;
  readonly keys: Pick<ApiKeys, "find" | "revoke">;
  readonly limits: Limits;
}

type Method = "get" | "post" | "put" | "delete";
type Endpoints = Readonly<Record<string, Partial<Record<Method, readonly RequestHandler[]>>>>;

/** Largest body of a registration or update, in bytes. */
const MAX_REGISTRATION_BYTES = 8 * 1024;

/** Largest body of a form, in bytes. */
const MAX_FORM_BYTES = 16 * 1024;

/** Form members that say the caller authenticates as a client (RFC 6749 section 2.3). */
const clientMembers = ["client_id", "client_secret", "client_assertion"];

/** Revocation without client credentials, as spec 4.8 shows it; others are handed on. An access
 *  token in the header is no client authentication. */
function possession({ provider, keys }: OAuthOptions): RequestHandler {
  return async (req, res, next) => {
    const form = formOf(req);
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
    await calledFrom(req.ip, () => revokeByPossession({ provider: provider(), keys }, token));
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

/** Headers with which a token request means more than its form says: another proof, a proof of
 *  possession (RFC 9449), a web page. */
const meaningful = ["authorization", "dpop", "oauth-client-attestation", "origin"];

/** Tries the short way for the plainest token requests. */
function plainFirst({ plainTokens }: OAuthOptions, handOn: HandOn): HandOn {
  return async (req, res) => {
    const isPlain = meaningful.every((name) => req.headers[name] === undefined);
    const token = isPlain ? await plainTokens(formOf(req)) : undefined;
    if (token === undefined) return handOn(req, res);
    res.set("cache-control", "no-store").json(token);
  };
}

type HandOn = (req: Request, res: Response) => Promise<void>;

function endpoints(options: OAuthOptions): Endpoints {
  const { provider, baseUrl, limits } = options;
  const callbackOf = callbacks();
  const handOn: HandOn = (req, res) =>
    calledFrom(req.ip, () => callbackOf(provider())(pinned(req, baseUrl), res));
  const registration = body("application/json", MAX_REGISTRATION_BYTES);
  const form = body(FORM, MAX_FORM_BYTES);
  const limitRegistrations = [
    limitBy(limits, "register", ({ ip }) => addressKey(ip)),
    limitBy(limits, "register-all", () => "all"),
  ];

  return {
    "/.well-known/oauth-authorization-server": { get: [handOn] },
    "/.well-known/openid-configuration": { get: [handOn] },
    "/.well-known/jwks.json": { get: [handOn] },
    "/oauth/authorize": { get: [handOn] },
    "/oauth/authorize/:uid": { get: [handOn] },
    "/oauth/token": {
      post: [...form, limitTokens(limits), guardProofs(limits, plainFirst(options, handOn))],
    },
    "/oauth/revoke": { post: [...form, possession(options), guardProofs(limits, handOn)] },
    "/oauth/register": { post: [...limitRegistrations, ...registration, handOn] },
    "/oauth/register/:clientId": {
      get: [handOn],
      put: [...registration, hashSecret, handOn],
      delete: [handOn],
    },
  };
}

/** Failures of the body reader, in the words of the service, and of the store, in those of OAuth. */
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
  return next(error);
};

/**
 * The OAuth endpoints and metadata documents. Only the paths of this list reach the authorization
 * server, which would end every request it gets; anything else falls through. To be mounted at the
 * root and before any body parser, since it reads bodies itself.
 *
 * Failures of the protocol have the body of RFC 6749 section 5.2.
 * A store that cannot answer is 503, and who came too often 429, both with `Retry-After` and the error
 * `temporarily_unavailable`.
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
  router.use(answerOAuthLimit, translate);
  return router;
}
