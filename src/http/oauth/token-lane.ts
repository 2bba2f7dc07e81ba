import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { RequestHandler } from "express";
import { addressOf } from "../client-address.ts";
import { HARDENED } from "../errors.ts";
import type { Visit } from "../rate-limits.ts";
import { isPlainBody, wholeBody } from "../usual-body.ts";
import { type AskedByForm, withForm } from "./oauth-request.ts";

/** Where tokens are asked for, spelled as clients spell it. */
export const TOKEN_PATH = "/oauth/token";

/** The content type of a form as it is usually written. */
const USUAL_TYPE = /^application\/x-www-form-urlencoded(; ?charset=utf-8)?$/i;

/** What the lane is made from. */
interface LaneOptions {
  /** Answers a request. @throws What Express has to word. */
  readonly answer: (asked: AskedByForm) => Promise<void>;
  /** Largest body, in bytes. */
  readonly maxBytes: number;
  /** Reverse proxies whose word on the caller's address counts. */
  readonly proxyHops: number;
}

/** Token requests on their way. */
export interface TokenLane {
  /** Answers usual token requests before Express does; all else goes on to it.
   *  @param visit Counts each request first. */
  before(express: RequestListener, visit: Visit): RequestListener;
  /** Says, within Express, why one was refused. */
  readonly refuse: RequestHandler;
}

/**
 * Answers token requests without Express, which takes longer to find the route than a token takes.
 * What comes in an unusual form goes on to the same route there, and so does every failure, to be
 * worded.
 */
export function createTokenLane({ answer, maxBytes, proxyHops }: LaneOptions): TokenLane {
  const failures = new WeakMap<IncomingMessage, { readonly error: unknown }>();

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    // What is told of requests is found where Express would leave it.
    Object.assign(req, { route: { path: TOKEN_PATH } });
    const bytes = await wholeBody(req);
    for (const [name, value] of HEADERS) res.setHeader(name, value);
    await answer(withForm({ req, res, ip: addressOf(req, proxyHops), path: TOKEN_PATH, bytes }));
  }
  return {
    before: (express, visit) => (req, res) => {
      if (!isUsual(req, maxBytes)) return express(req, res);
      visit(req, res)
        .then(() => serve(req, res))
        .catch((error) => {
          failures.set(req, { error });
          express(req, res);
        });
    },
    refuse(req, _res, next) {
      next(failures.get(req)?.error);
    },
  };
}

const HEADERS = Object.entries(HARDENED);

/** Whether a request comes in the usual form, with a length that is known and allowed. */
function isUsual({ method, url, headers }: IncomingMessage, maxBytes: number): boolean {
  // What a page of another site may read is said in Express (CORS).
  if (method !== "POST" || url !== TOKEN_PATH || headers.origin !== undefined) return false;
  return USUAL_TYPE.test(headers["content-type"] ?? "") && isPlainBody(headers, maxBytes);
}
