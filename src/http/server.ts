import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { Duplex } from "node:stream";
import { Problem } from "../lib/problem.ts";
import type { SharedCapacity } from "../limits/party-share.ts";
import { PROBLEM_CONTENT_TYPE, SECURITY_HEADERS } from "./errors.ts";
import { shareConnections } from "./network-connections.ts";
import { workTurns } from "./work-turns.ts";

/** Limits on the resources that an unauthenticated client can occupy. */
const SERVER_LIMITS = {
  /**
   * Maximum time until the header has arrived, in milliseconds; it also closes new connections that
   * stay idle.
   */
  headersTimeout: 10_000,
  /**
   * Maximum time until a whole request has arrived, in milliseconds; enough for 100 kB over a slow
   * mobile connection.
   */
  requestTimeout: 30_000,
  /**
   * Time after which an unused connection is closed, in milliseconds. This is the default of
   * Node.js; responses announce it to clients.
   */
  keepAliveTimeout: 5_000,
  /**
   * Interval of timeout checks, in milliseconds; it is short, so that few connections expire at the
   * same check.
   */
  connectionsCheckingInterval: 250,
  /**
   * Maximum total size of the request line and the header, in bytes; tokens and cookies of this
   * service take 2 kB.
   */
  maxHeaderSize: 16 * 1024,
} as const;

/**
 * Maximum number of connections, and of one network while others have few. An idle connection takes
 * 6 to 10 kB (measured), so all together take at most 150 MB; many systems allow a process 20,000
 * open files. 40 networks that open as many as they can have 300 each, four fifths in all.
 */
const CONNECTIONS: SharedCapacity = { total: 15_000, most: 4_000 };

/**
 * Time after which a connection is closed on which nothing was read or sent, in milliseconds: that
 * of a client that does not read its answer, which no other limit ends; it takes up to twice as
 * long if part of the answer was sent. Linux shows that a client reads only each time it has read
 * about a third of what the kernel buffers, at most 1.64 MB (measured), so a client of 4 kB/s, a
 * phone on 2G, needs seven minutes.
 */
export const IDLE_MS = 8 * 60_000;

/** Maximum time for sending the rejection of an unreadable request, in milliseconds. */
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

/** Options of `createBoundedServer`. */
interface BoundedServerOptions {
  /**
   * Number of trusted reverse proxies. If there is none, networks share the connections
   * (`shareConnections`); a proxy has the connections of all clients.
   */
  readonly proxyHops: number;
  /** Default: eight minutes. */
  readonly idleMs?: number;
  /** Default: 15,000, of which one network has at most 4,000. */
  readonly connections?: SharedCapacity;
}

/**
 * Creates a server whose resources cannot be exhausted by clients that send or read slowly or not
 * at all.
 */
export function createBoundedServer(
  listener: RequestListener,
  { proxyHops, idleMs = IDLE_MS, connections = CONNECTIONS }: BoundedServerOptions,
): Server {
  const server = createServer({ ...SERVER_LIMITS, requireHostHeader: false });
  // Node.js keeps one field more than the maximum, so that an excess can be detected; it drops all
  // further fields.
  server.maxHeadersCount = MAX_FIELDS + 1;
  server.maxConnections = connections.total;
  server.on("connection", () => workTurns.noteConnection());
  server.on("request", closeWithConnection);
  if (proxyHops === 0) shareConnections(server, connections);
  server.on("request", listener);
  server.setTimeout(idleMs);
  server.on("clientError", rejectUnreadable);
  // Requests with an unknown expectation are handled normally, because RFC 9110 section 10.1.1
  // permits a server to ignore it.
  server.on("checkExpectation", (req, res) => server.emit("request", req, res));
  return server;
}

/**
 * Closes a response that waits for earlier ones when its connection closes. Node.js does so too, but
 * not after CONNECT, and what such a response holds would be held for good.
 */
function closeWithConnection({ socket }: IncomingMessage, res: ServerResponse): void {
  if (res.socket !== null) return;
  const close = () => void res.destroy();
  socket.setMaxListeners(0).once("close", close);
  res.once("close", () => socket.off("close", close));
}

/**
 * Answers a request that is not valid HTTP, in the same format as every other error. A client that
 * ended its connection in the middle of a request is gone: an answer to it, and its connection for
 * a second, would be a fifth of what thousands of aborted requests cost (measured).
 */
function rejectUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (socket.writableEnded) return;
  const isGone = !socket.writable || error.code === "HPE_INVALID_EOF_STATE";
  if (isGone || hasStartedResponse(socket)) {
    socket.destroy();
    return;
  }
  // The socket is paused but not destroyed yet, because a reset could discard the response.
  socket.pause();
  socket.end(rawResponse(problemsByCode[error.code ?? ""] ?? UNREADABLE));
  setTimeout(() => socket.destroy(), ERROR_RESPONSE_MS).unref();
}

/** Whether part of a response has been sent, so that a second response would corrupt it. */
const hasStartedResponse = (
  socket: Duplex & { readonly _httpMessage?: ServerResponse | null },
): boolean => socket._httpMessage?.headersSent === true;

function rawResponse(problem: Problem): string {
  const body = JSON.stringify(problem);
  const headers = {
    ...SECURITY_HEADERS,
    "content-type": PROBLEM_CONTENT_TYPE,
    "content-length": Buffer.byteLength(body),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const { status } = problem;
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`;
}

/** Maximum number of header fields; browsers send about twenty. */
const MAX_FIELDS = 100;

/** Matches targets that are valid URLs whatever follows; to parse one takes 2 µs (measured). */
const PLAIN_TARGET = /^\/(?!\/)[\w\-.~/?&=,:+%]*$/;

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

/**
 * The problem with the form of a request, independent of its target; `undefined` if the request is
 * well-formed.
 */
export function malformedRequestProblem({
  url = "",
  rawHeaders,
  httpVersion,
}: IncomingMessage): Problem | undefined {
  if (!PLAIN_TARGET.test(url) && !URL.canParse(url, "http://localhost")) return INVALID_TARGET;
  if (rawHeaders.length > 2 * MAX_FIELDS) return TOO_MANY_FIELDS;
  const hosts = countHosts(rawHeaders);
  // Exactly one Host field is required (RFC 9112 section 3.2); HTTP/1.0 has no Host field.
  const isOne = hosts === 1 || (hosts === 0 && httpVersion === "1.0");
  return isOne ? undefined : NOT_ONE_HOST;
}

/** Counts the Host fields. In `rawHeaders`, names and values alternate. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === "host") hosts += 1;
  }
  return hosts;
}
