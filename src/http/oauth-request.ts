import { IncomingMessage } from "node:http";
import express, { type RequestHandler } from "express";
import { withHashedSecret } from "../auth/secrets.ts";
import { Problem } from "../problem.ts";

/** Reads a body of one content type, as bytes. @param limit Largest body, in bytes.
 *  @throws {Problem} `unsupported_media_type` */
export function body(type: string, limit: number): readonly RequestHandler[] {
  return [
    (req, _res, next) => {
      if (req.is(type)) return next();
      throw new Problem("unsupported_media_type", { detail: `The body must be ${type}.` });
    },
    express.raw({ type: () => true, limit, inflate: false }),
  ];
}

/** The body that was read; empty when there is none. */
export function bytesOf(req: express.Request): Buffer {
  return Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0);
}

/** Hashes the client secret in an update that was read. */
export const hashSecret: RequestHandler = (req, _res, next) => {
  req.body = withHashedSecret(bytesOf(req));
  next();
};

/**
 * The request as the authorization server may see it. It builds addresses from the request target
 * and the forwarded headers, which a stranger can write, so both are replaced; and it reads the
 * body as a stream, which here has been read already.
 */
export function pinned(req: express.Request, base: URL): IncomingMessage {
  const bytes = bytesOf(req);
  const copy = new IncomingMessage(req.socket);
  const query = req.originalUrl.indexOf("?");

  copy.method = req.method;
  copy.url = req.path + (query === -1 ? "" : req.originalUrl.slice(query));
  copy.headers = {
    ...req.headers,
    "content-length": String(bytes.length),
    "x-forwarded-host": base.host,
    "x-forwarded-proto": base.protocol.slice(0, -1),
  };
  copy.push(bytes);
  copy.push(null);
  copy.complete = true;
  return copy;
}
