import type { IncomingMessage, ServerResponse } from "node:http";
import type { ErrorRequestHandler, RequestHandler } from "express";
import { Problem } from "../lib/problem.ts";
import { pathOf, requestIdOn, setRequestId } from "./request-context.ts";

/**
 * Headers of every data response. They forbid MIME sniffing, framing, referrers and script
 * execution, and disable caching by default.
 */
export const SECURITY_HEADERS = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
} as const;

/** Media type of a problem (RFC 9457). */
export const PROBLEM_CONTENT_TYPE = "application/problem+json; charset=utf-8";

/** Members of an `OAuthError` other than its code. */
interface OAuthErrorDetail {
  /** HTTP status code. */
  readonly status: number;
  /**
   * `error_description` of RFC 6749 section 5.2: printable ASCII without quotes and backslashes.
   */
  readonly description: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** What the caller, or the person behind it, can do. */
  readonly next?: string;
  /**
   * Additional URLs in the body, keyed by member name; the names are those of the registration
   * response.
   */
  readonly links?: Readonly<Record<string, string>>;
}

/**
 * An error of an OAuth endpoint, sent in the response format of OAuth; all errors of other
 * endpoints are of type `Problem`.
 */
export class OAuthError extends Error {
  override readonly name = "OAuthError";
  /** Error code of OAuth, such as `invalid_request`. */
  readonly error: string;
  readonly detail: OAuthErrorDetail;

  constructor(error: string, detail: OAuthErrorDetail) {
    super(`${error}: ${detail.description}`);
    this.error = error;
    this.detail = detail;
  }
}

/** Writes the response for a thrown value. */
export type WriteError = (req: IncomingMessage, res: ServerResponse, error: unknown) => void;

/** Responds with an error page. */
export type SendErrorPage = (res: ServerResponse, error: unknown) => void;

/**
 * Creates the writer of error responses, which the route table and Express share. It sends the body
 * of RFC 6749 for OAuth errors, a page for browser navigation, an RFC 9457 document for other
 * problems, and a 500 without details for unexpected errors.
 *
 * @param onError Called with every error that the caller did not cause.
 * @param sendErrorPage Absent if the application has no pages.
 */
export function createErrorWriter(
  onError: (error: unknown) => void,
  sendErrorPage?: SendErrorPage,
): WriteError {
  return (req, res, error) => {
    if (error instanceof OAuthError && !res.headersSent) return sendOAuthError(res, error);
    const problem = toProblem(error);
    // A thrown `Problem` with status 500 was reported where it was created.
    if (problem.status === 500 && problem !== error) onError(error);
    if (res.headersSent) return resetConnection(res);
    const path = pathOf(req.url ?? "");
    res.setHeader("Vary", "Accept");
    if (sendErrorPage !== undefined && isOpenedInBrowser(req) && !FOR_PROGRAMS.test(path)) {
      return sendErrorPage(res, error);
    }
    sendProblem(res, problem, path);
  };
}

/**
 * Resets the connection of a response that cannot be completed. If the response has neither a
 * length nor chunks, an orderly close would make it look complete.
 */
export function resetConnection(res: ServerResponse): void {
  res.socket?.resetAndDestroy();
  res.destroy();
}

/** Wraps the error writer as the last handler of an Express application. */
export const errorHandler =
  (writeError: WriteError): ErrorRequestHandler =>
  (error, req, res, _next) =>
    writeError(req, res, error);

/**
 * Sends a problem.
 *
 * @param instance Path of the request; absent if the request is rejected before routing.
 */
export function sendProblem(res: ServerResponse, problem: Problem, instance?: string): void {
  const requestId = requestIdOn(res) ?? setRequestId(res.req, res);
  const path = instance ?? res.req.url ?? "";
  sendJsonAs(res, PROBLEM_CONTENT_TYPE, {
    status: problem.status,
    headers: { ...SECURITY_HEADERS, ...problem.headers },
    body: { ...problemMembers(path, problem), instance, requestId },
  });
}

/** Sends the body of RFC 6749 section 5.2. */
function sendOAuthError(res: ServerResponse, { error, detail }: OAuthError): void {
  const { status, description, headers = {}, next, links } = detail;
  const body = { error, error_description: description, next, ...links };
  sendJsonAs(res, "application/json; charset=utf-8", { status, headers, body });
}

interface JsonAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

function sendJsonAs(res: ServerResponse, type: string, { status, headers, body }: JsonAnswer) {
  const json = JSON.stringify(body);
  res.statusCode = status;
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  res.setHeader("Content-Type", type);
  res.setHeader("Content-Length", Buffer.byteLength(json));
  res.end(json);
}

/** Handles requests that match no route. */
export const notFoundHandler: RequestHandler = (req) => {
  throw new Problem("not_found", {
    detail: `There is nothing at ${req.method} ${req.path}.`,
    next: "GET /llms.txt or, for programs, /.well-known/api-catalog lists the endpoints.",
  });
};

/** Matches paths whose errors are problem documents even for browsers. */
const FOR_PROGRAMS = /^\/(?:api|log)\//;

/** Whether a person opened the URL in a browser. Browsers accept `text/html` explicitly; programs
 *  accept anything. */
export const isOpenedInBrowser = ({
  method,
  headers,
}: Pick<IncomingMessage, "method" | "headers">): boolean =>
  method === "GET" && headers.accept?.includes("text/html") === true;

/**
 * The members of a problem's response body. On OAuth paths, it also has the members of RFC 6749
 * section 5.2, which OAuth clients read.
 */
function problemMembers(path: string, problem: Problem): object {
  if (!path.startsWith("/oauth/")) return problem.toJSON();
  const { status, detail } = problem;
  const isTemporary = status === 429 || status === 503;
  const error = isTemporary ? "temporarily_unavailable" : "invalid_request";
  return {
    error: status === 500 ? "server_error" : error,
    error_description: detail,
    ...problem.toJSON(),
  };
}

/** Converts the errors of Express and its body parser to problems. */
function toProblem(error: unknown): Problem {
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
        detail: `The body may have at most ${limit} bytes.`,
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
            next: "Correct its URL, header or body; /docs/api describes each operation.",
          })
        : internalErrorProblem();
  }
}

/** Creates the 500 problem for unexpected errors. */
export const internalErrorProblem = (): Problem =>
  new Problem("internal_error", {
    detail: "The failure was logged.",
    next: "Try again later; GET /api/health says how the service is doing.",
  });

const isClientError = (status: number | undefined): boolean =>
  status !== undefined && status >= 400 && status < 500;
