import { IncomingMessage, type ServerResponse } from "node:http";
import express, { type RequestHandler } from "express";
import { resourceMeant } from "../../auth/audience.ts";
import { withHashedSecret } from "../../auth/secrets.ts";
import { Problem } from "../../problem.ts";
import { hasType, isPlainBody, parseBody, readPlainBody } from "../request-body.ts";
import type { RequestContext } from "../request-context.ts";

/** What a form is sent as (RFC 6749 appendix B). */
export const FORM = "application/x-www-form-urlencoded";

/** Reads a body of one content type, as bytes. @param limit Largest body, in bytes.
 *  @throws {Problem} `unsupported_media_type` */
export function body(type: string, limit: number): readonly RequestHandler[] {
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

/** Errors of the body parser, in the words of the service; others as they are. */
export function asBodyProblem(error: {
  readonly type?: unknown;
  readonly limit?: unknown;
}): unknown {
  if (error.type === "entity.too.large") {
    return new Problem("content_too_large", {
      detail: `A body has at most ${error.limit} bytes.`,
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

/** The content type of a form as it is usually written. */
const USUAL_FORM = /^application\/x-www-form-urlencoded(; ?charset=utf-8)?$/i;

/**
 * Reads a form outside of Express, whose parser gets only what is not in the usual form.
 *
 * @param limit Largest body, in bytes.
 * @throws {Problem} `unsupported_media_type`, `content_too_large`
 */
export async function readForm(context: RequestContext, limit: number): Promise<FormRequest> {
  const { req, res, ip, path } = context;
  const { headers } = req;
  if (USUAL_FORM.test(headers["content-type"] ?? "") && isPlainBody(headers, limit)) {
    return withForm({ req, res, ip, path, bytes: await readPlainBody(req) });
  }
  if (!hasType(req, FORM)) throw wrongType(FORM);
  const bytes = await parseBody(rawBody(limit), context).catch((error) => {
    throw asBodyProblem(error);
  });
  return withForm({ req, res, ip, path, bytes: Buffer.isBuffer(bytes) ? bytes : Buffer.alloc(0) });
}

/** The body that was read; empty when there is none. */
export function bytesOf(req: express.Request): Buffer {
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
  /** The body as it was read; empty when there is none. */
  readonly bytes: Buffer;
  /** The same, where it is a form. */
  readonly form?: URLSearchParams;
}

/** A request with a form. */
export interface FormRequest extends OAuthRequest {
  readonly form: URLSearchParams;
}

/** A request as Express knows it. */
export function oauthRequestOf(req: express.Request, res: ServerResponse): OAuthRequest {
  return { req, res, ip: req.ip, path: req.path, bytes: bytesOf(req) };
}

/** The same with the form that was read. */
export function withForm(request: OAuthRequest): FormRequest {
  return { ...request, form: new URLSearchParams(request.bytes.toString()) };
}

/** Hashes the client secret in an update that was read. */
export const hashSecret: RequestHandler = (req, _res, next) => {
  req.body = withHashedSecret(bytesOf(req));
  next();
};

/**
 * The request as the authorization server may see it. It builds addresses from the request target
 * and takes them and the caller's from the forwarded headers, which a stranger can write, so all of
 * those are replaced; it compares resources as text, so those are written as they are known here; and
 * it reads the body as a stream, which here has been read already.
 *
 * @param baseUrl Public origin, without a trailing slash.
 */
export function pinned(request: OAuthRequest, baseUrl: string): IncomingMessage {
  const { req, ip, path } = request;
  const { url = "" } = req;
  const base = new URL(baseUrl);
  const bytes = withKnownResources(request, baseUrl);
  const copy = new IncomingMessage(req.socket);
  const query = url.indexOf("?");

  copy.method = req.method;
  copy.url = path;
  if (query !== -1) copy.url += `?${knownResources(url.slice(query + 1), baseUrl)}`;
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

function withKnownResources({ bytes, form }: OAuthRequest, baseUrl: string): Buffer {
  if (form?.has("resource") !== true) return bytes;
  return Buffer.from(knownResources(bytes.toString(), baseUrl));
}

/** A query or form in which each resource that is known here has the name that it has here. */
function knownResources(text: string, baseUrl: string): string {
  const named = new URLSearchParams(text).getAll("resource");
  const known = named.map((indicator) => resourceMeant(indicator, baseUrl) ?? indicator);
  if (known.every((resource, at) => resource === named[at])) return text;
  const parameters = [...new URLSearchParams(text)].filter(([name]) => name !== "resource");
  return new URLSearchParams([
    ...parameters,
    ...known.map((resource) => ["resource", resource]),
  ] as [string, string][]).toString();
}
