import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { Duplex } from "node:stream";
import { Problem } from "../problem.ts";
import { PROBLEM_TYPE, SECURITY_HEADERS } from "./errors.ts";

/** Limits on the resources that an unauthenticated client can occupy. */
const SERVER_LIMITS = {
  /** Time for the header to arrive, in milliseconds; also closes idle new connections. */
  headersTimeout: 10_000,
  /** Time for a whole request to arrive, in milliseconds: 100 kB over a slow mobile connection. */
  requestTimeout: 30_000,
  /** Time after which an unused connection closes, in milliseconds: the default of Node.js, which
   *  responses announce. */
  keepAliveTimeout: 5_000,
  /** Interval of timeout checks, in milliseconds; short, so that few connections expire at once. */
  connectionsCheckingInterval: 250,
  /** Maximum size of the header with the request line, in bytes; tokens and cookies of this service
   *  take 2 kB. */
  maxHeaderSize: 16 * 1024,
} as const;

/** Maximum number of connections. An idle one takes 6 to 10 kB (measured), so all together take at
 *  most 150 MB; many systems allow a process 20,000 open files. */
const MAX_CONNECTIONS = 15_000;

/** Time for sending the rejection of an unreadable request, in milliseconds. */
const ERROR_RESPONSE_MS = 1_000;

/** Problems for unreadable requests, by Node.js error code. */
const problemsByCode: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: new Problem("headers_too_large", {
    detail: `The header, with the request line, may have at most ${SERVER_LIMITS.maxHeaderSize} bytes.`,
    next: "Send fewer or shorter header fields.",
  }),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: new Problem("content_too_large", {
    detail: "The chunks of the body have too many extensions.",
    next: "Send the body with Content-Length, or in chunks without extensions.",
  }),
  ERR_HTTP_REQUEST_TIMEOUT: new Problem("request_timeout", {
    detail: `The header must arrive within ${SERVER_LIMITS.headersTimeout / 1000} seconds, the request within ${SERVER_LIMITS.requestTimeout / 1000}.`,
    next: "Send the whole request again on a new connection.",
  }),
};

const UNREADABLE = new Problem("invalid_request", {
  detail: "The request could not be read as HTTP.",
  next: "Send a request that conforms to RFC 9112.",
});

/** Creates a server that slow, silent or trickling clients cannot exhaust. */
export function createBoundedServer(listener: RequestListener): Server {
  const server = createServer({ ...SERVER_LIMITS, requireHostHeader: false }, listener);
  // One field more than the maximum is read, to detect an excess; further fields are dropped.
  server.maxHeadersCount = MAX_FIELDS + 1;
  server.maxConnections = MAX_CONNECTIONS;
  server.on("clientError", rejectUnreadable);
  // RFC 9110 section 10.1.1 permits a server to ignore an unknown expectation.
  server.on("checkExpectation", (req, res) => server.emit("request", req, res));
  return server;
}

/** Answers what is not HTTP, in the format of every other error. */
function rejectUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (socket.writableEnded) return;
  if (!socket.writable || hasStartedResponse(socket)) {
    socket.destroy();
    return;
  }
  // Stops reading but does not destroy the socket yet, since a reset could discard the response.
  socket.pause();
  socket.end(rawResponse(problemsByCode[error.code ?? ""] ?? UNREADABLE));
  setTimeout(() => socket.destroy(), ERROR_RESPONSE_MS).unref();
}

/** Whether part of a response has been sent, so that another one would corrupt it. */
const hasStartedResponse = (
  socket: Duplex & { readonly _httpMessage?: ServerResponse | null },
): boolean => socket._httpMessage?.headersSent === true;

function rawResponse(problem: Problem): string {
  const body = JSON.stringify(problem);
  const headers = {
    ...SECURITY_HEADERS,
    "content-type": PROBLEM_TYPE,
    "content-length": Buffer.byteLength(body),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const { status } = problem;
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`;
}

/** Maximum header fields; browsers send about twenty. */
const MAX_FIELDS = 100;

const INVALID_TARGET = new Problem("invalid_request", {
  detail: "The request target is not a valid URL.",
  next: "Request a path of this service, such as /llms.txt.",
});

const TOO_MANY_FIELDS = new Problem("headers_too_large", {
  detail: `The header may have at most ${MAX_FIELDS} fields.`,
  next: "Send fewer header fields.",
});

const NOT_ONE_HOST = new Problem("invalid_request", {
  detail: "A request must have exactly one Host field.",
  next: "Send one Host field.",
});

/** The problem with the form of a request, regardless of its target; `undefined` if it is
 *  well-formed. */
export function requestFormProblem({
  url = "",
  rawHeaders,
  httpVersion,
}: IncomingMessage): Problem | undefined {
  if (!URL.canParse(url, "http://localhost")) return INVALID_TARGET;
  if (rawHeaders.length > 2 * MAX_FIELDS) return TOO_MANY_FIELDS;
  const hosts = countHosts(rawHeaders);
  // RFC 9112 section 3.2; HTTP/1.0 has no Host field.
  const isOne = hosts === 1 || (hosts === 0 && httpVersion === "1.0");
  return isOne ? undefined : NOT_ONE_HOST;
}

/** Names and values alternate in `rawHeaders`. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === "host") hosts += 1;
  }
  return hosts;
}
