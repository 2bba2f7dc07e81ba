import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { listenLocally } from "../local-server.ts";
import type { Serve, ServedAnswer, ServedRequest } from "./drive.ts";

/** Faults that a provider's server can simulate. */
export type Fault =
  | "silence"
  | "reset"
  | "limited with a time"
  | "limited without"
  | "broken"
  | "a page with 200"
  | "half an answer"
  | "half a text"
  | "another shape"
  | "an endless answer";

/** A provider's simulated server behind real HTTP. */
export interface ProviderServer {
  /** Origin, without a trailing slash. */
  readonly origin: string;
  /** Instants of the requests so far, on the server's clock. */
  readonly asked: readonly number[];
  /** Number of bytes that clients have read from endless answers. */
  readonly poured: () => number;
  /** Sets the fault from now on; `undefined`: none. */
  become(fault: Fault | undefined): void;
  close(): Promise<void>;
}

/**
 * Retry-After of a rate-limited answer in seconds, longer than the service would wait otherwise.
 */
export const RETRY_AFTER_S = 600;

const JSON_TYPE = { "content-type": "application/json" };
const PAGE = "<!doctype html><title>Just a moment</title><p>Checking your browser.";

/**
 * A chunk of an endless answer. It compresses well, so that a limit on the compressed size would
 * not stop it.
 */
const PIECE = Buffer.alloc(1024 * 1024, "[");

/** Starts a provider's simulated server; it stops after the test. @param now The server's clock. */
export async function startProvider(serve: Serve, now: () => number): Promise<ProviderServer> {
  let fault: Fault | undefined;
  let poured = 0;
  const count = (bytes: number) => {
    poured += bytes;
  };
  const asked: number[] = [];
  const server = createServer(async (req, res) => {
    asked.push(now());
    // Date headers follow the simulated clock; the machine's clock must not appear.
    res.sendDate = false;
    const request = await read(req);
    const good = () => serve(request, now());
    if (fault === undefined) send(res, good());
    else if (fault !== "an endless answer") misbehaviors[fault](res, good);
    else pour(res, count);
  });
  const origin = await listenLocally(server);
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  return {
    origin: origin,
    asked,
    poured: () => poured,
    become(next) {
      fault = next;
    },
    close,
  };
}

async function read(req: IncomingMessage): Promise<ServedRequest> {
  const body = (await buffer(req)).toString();
  const headers = new Headers(req.headers as Record<string, string>);
  const url = new URL(req.url ?? "/", `http://${req.headers.host}`);
  return { method: req.method ?? "GET", url, headers, body };
}

function send(res: ServerResponse, { status, headers, body }: ServedAnswer): void {
  res.writeHead(status, headers).end(body);
}

type Misbehavior = (res: ServerResponse, good: () => ServedAnswer) => void;

const answering =
  (answer: ServedAnswer): Misbehavior =>
  (res) =>
    send(res, answer);

const misbehaviors: Readonly<Record<Exclude<Fault, "an endless answer">, Misbehavior>> = {
  silence: () => undefined,
  reset: (res) => res.socket?.resetAndDestroy(),
  "limited with a time": answering({
    status: 429,
    headers: { "retry-after": String(RETRY_AFTER_S) },
    body: "slow down",
  }),
  "limited without": answering({ status: 429, body: "slow down" }),
  broken: answering({ status: 500, body: "oops" }),
  "a page with 200": answering({
    status: 200,
    headers: { "content-type": "text/html" },
    body: PAGE,
  }),
  "another shape": answering({ status: 200, headers: JSON_TYPE, body: '{"unexpected":true}' }),
  "half an answer"(res, good) {
    const { headers, body } = good();
    const whole = Buffer.from(body);
    res.writeHead(200, { ...headers, "content-length": whole.length + 1 });
    res.write(whole.subarray(0, whole.length / 2), () => res.destroy());
  },
  "half a text"(res, good) {
    const { headers, body } = good();
    const whole = Buffer.from(body);
    const half = whole.subarray(0, whole.length / 2);
    send(res, { status: 200, ...(headers && { headers }), body: half });
  },
};

function pour(res: ServerResponse, onBytes: (bytes: number) => void): void {
  res.writeHead(200, JSON_TYPE);
  const more = () => {
    while (!res.destroyed) {
      onBytes(PIECE.length);
      if (res.write(PIECE)) continue;
      res.once("drain", more);
      return;
    }
  };
  more();
}
