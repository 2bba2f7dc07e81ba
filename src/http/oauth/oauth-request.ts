import { IncomingMessage, type ServerResponse } from "node:http";
import express, { type RequestHandler } from "express";
import { resolveResource } from "../../access/audience.ts";
import { withHashedSecret } from "../../access/secrets.ts";
import { Problem } from "../../lib/problem.ts";
import { FORM_MEDIA_TYPE } from "../../openapi/operations/tokens.ts";
import { hasMediaType, isUncodedBodyWithin, parseBody, readUncodedBody } from "../body-readers.ts";
import type { RequestContext } from "../request-context.ts";

/**
 * Reads a body of one content type as bytes.
 *
 * @param limit Maximum size of the body, in bytes.
 * @throws {Problem} `unsupported_media_type`
 */
export function createBodyParser(type: string, limit: number): readonly RequestHandler[] {
  return [
    (req, _res, next) => {
      if (req.is(type)) return next();
      throw wrongType(type);
    },
    rawBody(limit),
  ];
}

const rawBody = (limit: number): RequestHandler =>
  express.raw({ type: () => true, limit, inflate: false });

const wrongType = (type: string): Problem =>
  new Problem("unsupported_media_type", {
    detail: `The body must be ${type}.`,
    next: "Send it with that content type.",
  });

/** Converts the errors of the body parser to problems; other errors are unchanged. */
export function asBodyProblem(error: {
  readonly type?: unknown;
  readonly limit?: unknown;
}): unknown {
  if (error.type === "entity.too.large") {
    return new Problem("content_too_large", {
      detail: `The body may have at most ${error.limit} bytes.`,
      next: "Send less in one request.",
    });
  }
  if (error.type === "encoding.unsupported") {
    return new Problem("unsupported_media_type", {
      detail: "The body must not be encoded.",
      next: "Send it uncompressed.",
    });
  }
  return error;
}

/** Matches the common spellings of the form content type. */
const COMMON_FORM_TYPE = /^application\/x-www-form-urlencoded(; ?charset=utf-8)?$/i;

/**
 * Reads a form outside of Express; the Express parser is used only for unusual bodies.
 *
 * @param limit Maximum size of the body, in bytes.
 * @throws {Problem} `unsupported_media_type`, `content_too_large`
 */
export async function readOAuthForm(context: RequestContext, limit: number): Promise<FormRequest> {
  const { req, res, ip, path } = context;
  const { headers } = req;
  if (COMMON_FORM_TYPE.test(headers["content-type"] ?? "") && isUncodedBodyWithin(headers, limit)) {
    return withParsedForm({ req, res, ip, path, bytes: await readUncodedBody(req) });
  }
  if (!hasMediaType(req, FORM_MEDIA_TYPE)) throw wrongType(FORM_MEDIA_TYPE);
  const bytes = await parseBody(rawBody(limit), context).catch((error) => {
    throw asBodyProblem(error);
  });
  return withParsedForm({
    req,
    res,
    ip,
    path,
    bytes: Buffer.isBuffer(bytes) ? bytes : Buffer.alloc(0),
  });
}

/** The bytes of an already read body; empty if there is none. */
export function bodyBytes(req: express.Request): Buffer {
  return Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0);
}

/** A request to the authorization server. */
export interface OAuthRequest {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Network address of the client; `undefined` after the connection has closed. */
  readonly ip: string | undefined;
  /** Path of the request target. */
  readonly path: string;
  /** The bytes of the body; empty if there is none. */
  readonly bytes: Buffer;
  /** The parsed body, if it is a form. */
  readonly form?: URLSearchParams;
}

/** A request with a form. */
export interface FormRequest extends OAuthRequest {
  readonly form: URLSearchParams;
}

/** Converts an Express request to a request for the authorization server. */
export function oauthRequestOf(req: express.Request, res: ServerResponse): OAuthRequest {
  return { req, res, ip: req.ip, path: req.path, bytes: bodyBytes(req) };
}

/** Adds the parsed form to a request. */
export function withParsedForm(request: OAuthRequest): FormRequest {
  return { ...request, form: new URLSearchParams(request.bytes.toString()) };
}

/** Hashes the client secret in the body of an update. */
export const hashSecretInBody: RequestHandler = (req, _res, next) => {
  req.body = withHashedSecret(bodyBytes(req));
  next();
};

/**
 * Copies a request for the authorization server. The server builds URLs from the request target and
 * from forwarded headers, which clients can forge, so the copy replaces both. The server compares
 * resource URLs as text, so they are normalized. The server reads the body as a stream, which has
 * already been consumed, so the body is replayed.
 *
 * @param baseUrl Public origin, without a trailing slash.
 */
export function toProviderRequest(request: OAuthRequest, baseUrl: string): IncomingMessage {
  const { req, ip, path } = request;
  const { url = "" } = req;
  const base = new URL(baseUrl);
  const bytes = withCanonicalResources(request, baseUrl);
  const copy = new IncomingMessage(req.socket);
  const query = url.indexOf("?");

  copy.method = req.method;
  copy.url = path;
  if (query !== -1) copy.url += `?${canonicalResources(url.slice(query + 1), baseUrl)}`;
  copy.headers = {
    ...req.headers,
    "content-length": String(bytes.length),
    "x-forwarded-for": ip,
    "x-forwarded-host": base.host,
    "x-forwarded-proto": base.protocol.slice(0, -1),
  };
  copy.push(bytes);
  copy.push(null);
  copy.complete = true;
  return copy;
}

function withCanonicalResources({ bytes, form }: OAuthRequest, baseUrl: string): Buffer {
  if (form?.has("resource") !== true) return bytes;
  return Buffer.from(canonicalResources(bytes.toString(), baseUrl));
}

/** Rewrites each known resource URL in a query or form to its canonical spelling. */
function canonicalResources(text: string, baseUrl: string): string {
  const named = new URLSearchParams(text).getAll("resource");
  const known = named.map((indicator) => resolveResource(indicator, baseUrl) ?? indicator);
  if (known.every((resource, at) => resource === named[at])) return text;
  const parameters = [...new URLSearchParams(text)].filter(([name]) => name !== "resource");
  return new URLSearchParams([
    ...parameters,
    ...known.map((resource) => ["resource", resource]),
  ] as [string, string][]).toString();
}
