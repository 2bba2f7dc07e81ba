import { IncomingMessage, type ServerResponse } from "node:http";
import express, { type RequestHandler } from "express";
import { resourceMeant } from "../../auth/oidc/resources.ts";
import { withHashedSecret } from "../../auth/secrets.ts";
import { Problem } from "../../problem.ts";

/** What a form is sent as (RFC 6749 appendix B). */
export const FORM = "application/x-www-form-urlencoded";

/** Reads a body of one content type, as bytes. @param limit Largest body, in bytes.
 *  @throws {Problem} `unsupported_media_type` */
export function body(type: string, limit: number): readonly RequestHandler[] {
  return [
    (req, _res, next) => {
      if (req.is(type)) return next();
      throw new Problem("unsupported_media_type", {
        detail: `The body must be ${type}.`,
        next: "Send it with that content type.",
      });
    },
    express.raw({ type: () => true, limit, inflate: false }),
  ];
}

/** The body that was read; empty when there is none. */
export function bytesOf(req: express.Request): Buffer {
  return Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0);
}

/** A request to the authorization server. */
export interface Asked {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Network address of the caller; `undefined` when they have gone. */
  readonly ip: string | undefined;
  /** Path of the request target. */
  readonly path: string;
  /** The body as it was read; empty when there is none. */
  readonly bytes: Buffer;
  /** The same, where it is a form. */
  readonly form?: URLSearchParams;
}

/** A request with a form. */
export type AskedByForm = Asked & Required<Pick<Asked, "form">>;

/** A request as Express knows it. */
export function askedOf(req: express.Request, res: ServerResponse): Asked {
  return { req, res, ip: req.ip, path: req.path, bytes: bytesOf(req) };
}

/** The same with the form that was read. */
export function withForm(asked: Asked): AskedByForm {
  return { ...asked, form: new URLSearchParams(asked.bytes.toString()) };
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
export function pinned(asked: Asked, baseUrl: string): IncomingMessage {
  const { req, ip, path } = asked;
  const { url = "" } = req;
  const base = new URL(baseUrl);
  const bytes = withKnownResources(asked, baseUrl);
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

function withKnownResources({ bytes, form }: Asked, baseUrl: string): Buffer {
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
