import type { ServerResponse } from "node:http";
import type { ErrorRequestHandler, Request, RequestHandler } from "express";
import { Problem } from "../problem.ts";
import { nameRequest, requestIdOn } from "./request-name.ts";

/** Every answer is data: nothing may be sniffed, framed, cached by chance or run. */
export const HARDENED = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
} as const;

/** Media type of a failure. */
export const PROBLEM_TYPE = "application/problem+json; charset=utf-8";

/** Answers with a problem where there is no Express. */
export function sendPlainProblem(res: ServerResponse, problem: Problem): void {
  const requestId = requestIdOn(res) ?? nameRequest(res.req, res);
  const body = JSON.stringify({ ...membersFor(res.req.url ?? "", problem), requestId });
  const own = { "content-type": PROBLEM_TYPE, "content-length": Buffer.byteLength(body) };
  res.writeHead(problem.status, { ...HARDENED, ...problem.headers, ...own }).end(body);
}

/** Everything that no route took. */
export const notFound: RequestHandler = (req) => {
  throw new Problem("not_found", {
    detail: `There is nothing at ${req.method} ${req.path}.`,
    next: "GET /llms.txt lists what there is, and /.well-known/api-catalog does for programs.",
  });
};

/** Whether a person opened an address in a browser. Programs say that they accept anything, and
 *  browsers name HTML. */
export const isOpenedInBrowser = ({
  method,
  headers,
}: Pick<Request, "method" | "headers">): boolean =>
  method === "GET" && headers.accept?.includes("text/html") === true;

/**
 * Shows a page to a person who opened an address that is for programs, or nobody's.
 *
 * @param page Answers with a page.
 */
export function pageForBrowsers(page: ErrorRequestHandler): ErrorRequestHandler {
  return (error, req, res, next) => {
    res.vary("Accept");
    if (isOpenedInBrowser(req) && !req.path.startsWith("/api/")) return page(error, req, res, next);
    return next(error);
  };
}

/**
 * The one place that turns a failure into a REST answer: RFC 9457 for what a caller may know, an
 * opaque 500 for everything else.
 *
 * @param onError Told about every failure that is not the caller's.
 */
export function sendProblem(onError: (error: unknown) => void): ErrorRequestHandler {
  return (error, req, res, next) => {
    const problem = asProblem(error);
    if (problem.status === 500) onError(error);
    if (res.headersSent) return next(error);
    res
      .status(problem.status)
      .set(problem.headers)
      .type(PROBLEM_TYPE)
      .send(
        JSON.stringify({
          ...membersFor(req.path, problem),
          instance: req.path,
          requestId: requestIdOn(res),
        }),
      );
  };
}

/** Callers of OAuth endpoints read the members of RFC 6749 section 5.2, so these stand beside. */
function membersFor(path: string, problem: Problem): object {
  if (!path.startsWith("/oauth/")) return problem.toJSON();
  const { status, detail } = problem;
  const passes = status === 429 || status === 503;
  const error = passes ? "temporarily_unavailable" : "invalid_request";
  return {
    ...{ error: status === 500 ? "server_error" : error, error_description: detail },
    ...problem.toJSON(),
  };
}

/** Failures that Express and its body reader find themselves, in the service's own words. */
function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const { type, status, limit } = error as { type?: string; status?: number; limit?: number };
  switch (type) {
    case "entity.parse.failed":
      return new Problem("invalid_request", {
        detail: "The body is not valid JSON.",
        next: "Send one JSON object (RFC 8259), encoded as UTF-8.",
      });
    case "entity.too.large":
      return new Problem("content_too_large", {
        detail: `A body has at most ${limit} bytes.`,
        next: "Send less in one request.",
      });
    case "encoding.unsupported":
    case "charset.unsupported":
      return new Problem("unsupported_media_type", {
        detail: "The body is compressed, or not encoded as UTF-8.",
        next: "Send it uncompressed, as UTF-8.",
      });
    default:
      return isClientError(status)
        ? new Problem("invalid_request", {
            detail: "The request could not be read.",
            next: "Correct its address, header or body; /docs/api describes each operation.",
          })
        : internalError();
  }
}

/** What a caller is told of a failure that is not theirs. */
export const internalError = (): Problem =>
  new Problem("internal_error", {
    detail: "The failure was logged.",
    next: "Try again later; GET /api/health says how the service is doing.",
  });

const isClientError = (status: number | undefined): boolean =>
  status !== undefined && status >= 400 && status < 500;
