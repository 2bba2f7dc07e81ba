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

/** Bounds of what a stranger can make the server keep, before it knows who that is. */
const BOUNDS = {
  /** A header that takes longer to arrive ends its connection, in milliseconds; and so does a
   *  connection on which nothing is said. */
  headersTimeout: 10_000,
  /** The same for the whole request: 100 kB at the pace of a slow telephone. */
  requestTimeout: 30_000,
  /** A connection that is not used ends after this, in milliseconds: what Node.js does by itself, and
   *  clients are told. */
  keepAliveTimeout: 5_000,
  /** How often it is looked whether time is up, in milliseconds: so that not too many end at once. */
  connectionsCheckingInterval: 250,
  /** Largest header with its request line, in bytes; tokens and cookies of this service take 2 kB. */
  maxHeaderSize: 16 * 1024,
} as const;

/** Most connections. An idle one takes 6 to 10 kB (measured), so that all together take 150 MB at most;
 *  and a process can have 20,000 files on many systems. */
const MAX_CONNECTIONS = 15_000;

/** An answer that refuses what could not be read has so long to arrive, in milliseconds. */
const LAST_WORDS_MS = 1_000;

/** What is wrong with what could not be read, by the code of the error. */
const reasons: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: new Problem("headers_too_large", {
    detail: `A header has at most ${BOUNDS.maxHeaderSize} bytes, with the address.`,
    next: "Send fewer or shorter header fields.",
  }),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: new Problem("content_too_large", {
    detail: "The chunks of the body have too many extensions.",
    next: "Send the body with Content-Length, or in chunks without extensions.",
  }),
  ERR_HTTP_REQUEST_TIMEOUT: new Problem("request_timeout", {
    detail: `A header has ${BOUNDS.headersTimeout / 1000} seconds to arrive, a request ${BOUNDS.requestTimeout / 1000}.`,
    next: "Send the whole request again on a new connection.",
  }),
};

const UNREADABLE = new Problem("invalid_request", {
  detail: "The request could not be read as HTTP.",
  next: "Send a request as RFC 9112 has it.",
});

/** Makes a server that nobody can keep busy by sending little, slowly, or nothing at all. */
export function createBoundedServer(listener: RequestListener): Server {
  const server = createServer({ ...BOUNDS, requireHostHeader: false }, listener);
  // One more is read, to be seen; the rest is passed over.
  server.maxHeadersCount = MAX_FIELDS + 1;
  server.maxConnections = MAX_CONNECTIONS;
  server.on("clientError", refuseUnreadable);
  // RFC 9110 section 10.1.1 lets a server pass over what it does not expect.
  server.on("checkExpectation", (req, res) => server.emit("request", req, res));
  return server;
}

/** Answers what is no HTTP, in the form of every other failure. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (socket.writableEnded) return;
  if (!socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  // Whoever is still sending is not listened to; cut at once, the answer would be lost to them.
  socket.pause();
  socket.end(wholeAnswer(reasons[error.code ?? ""] ?? UNREADABLE));
  setTimeout(() => socket.destroy(), LAST_WORDS_MS).unref();
}

/** Whether a part of an answer is on its way already, which another must not come into. */
const isAnswering = (socket: Duplex & { readonly _httpMessage?: ServerResponse | null }): boolean =>
  socket._httpMessage?.headersSent === true;

function wholeAnswer(problem: Problem): string {
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

/** Most fields of a header; browsers send twenty. */
const MAX_FIELDS = 100;

const NO_ADDRESS = new Problem("invalid_request", {
  detail: "The request target is not an address.",
  next: "Ask for a path of this service, such as /llms.txt.",
});

const TOO_MANY_FIELDS = new Problem("headers_too_large", {
  detail: `A header has at most ${MAX_FIELDS} fields.`,
  next: "Send fewer header fields.",
});

const NOT_ONE_HOST = new Problem("invalid_request", {
  detail: "A request names its host once.",
  next: "Send one Host field.",
});

/** What is wrong with the form of a request, whatever it asks for; `undefined` when nothing is. */
export function faultOf({
  url = "",
  rawHeaders,
  httpVersion,
}: IncomingMessage): Problem | undefined {
  if (!URL.canParse(url, "http://localhost")) return NO_ADDRESS;
  if (rawHeaders.length > 2 * MAX_FIELDS) return TOO_MANY_FIELDS;
  const hosts = countHosts(rawHeaders);
  // RFC 9112 section 3.2; before HTTP/1.1 there was no such field.
  const isOne = hosts === 1 || (hosts === 0 && httpVersion === "1.0");
  return isOne ? undefined : NOT_ONE_HOST;
}

/** Names and values take turns in what came. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === "host") hosts += 1;
  }
  return hosts;
}
