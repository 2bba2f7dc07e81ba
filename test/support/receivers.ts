import { EventEmitter, once } from "node:events";
import {
  createServer as createHttpServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import type { Certificate } from "./certificate.ts";

/**
 * Reaction of a receiver to a delivery. A number is an HTTP status. `healthy` accepts the delivery
 * and answers challenges. `silent` accepts the delivery, but ignores challenges. `black-hole` never
 * answers. `reset` resets the connection. `drip` sends its headers slowly, byte by byte. `endless`
 * answers 200 with an endless body.
 */
type Behavior = "healthy" | "silent" | "black-hole" | "reset" | "drip" | "endless" | number;

/** A delivery as it arrived. */
export interface ReceivedRequest {
  readonly id: string;
  readonly type: string;
  /** Time of arrival by the wall clock, Unix milliseconds. */
  readonly at: number;
  readonly headers: IncomingHttpHeaders;
  /** The body, unchanged. */
  readonly body: string;
}

/** Options of a receiver. */
export interface ReceiverOptions {
  readonly behavior?: Behavior;
  /** Reactions to successive deliveries, used instead of `behavior`. */
  readonly inTurn?: readonly Behavior[];
  /** Certificate for HTTPS; absent: HTTP. */
  readonly tls?: Certificate;
  /** Headers of the receiver's answers. */
  readonly answers?: Readonly<Record<string, string>>;
  /** Delay of the answer, in milliseconds. Default: 0. */
  readonly thinksMs?: number;
  /** Throws when the signature of a delivery is invalid. */
  readonly verify?: (received: ReceivedRequest) => unknown;
  /** Called for each delivery instead of adding it to `received`. */
  readonly onReceived?: (received: ReceivedRequest) => void;
}

/** An HTTP server on the loopback address, as the target of webhooks. */
export interface Receiver {
  readonly url: string;
  /** All received deliveries, regardless of the answer. */
  readonly received: readonly ReceivedRequest[];
  /** Errors of deliveries with an invalid signature. */
  readonly forged: readonly string[];
  /** Number of connections so far. */
  readonly connections: number;
  behavior: Behavior;
  answers: Readonly<Record<string, string>>;
  /** Resolves once at least this many deliveries have arrived. */
  arrived(count: number): Promise<readonly ReceivedRequest[]>;
  close(): Promise<void>;
}

/** Interval between two bytes of a `drip` answer, in milliseconds. */
const DRIP_MS = 100;

/** Starts a receiver on a free port. */
export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const { tls, inTurn, thinksMs = 0, verify, onReceived } = options;
  const events = new EventEmitter().setMaxListeners(0);
  const received: ReceivedRequest[] = [];
  const forged: string[] = [];
  let connections = 0;
  let count = 0;
  const handle = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const delivery = deliveryOf(req, (await buffer(req)).toString());
    const behavior = inTurn?.[count % inTurn.length] ?? receiver.behavior;
    count += 1;
    if (onReceived) onReceived(delivery);
    else received.push(delivery);
    const fault = faultOf(delivery, verify);
    if (fault !== undefined) forged.push(fault);
    if (thinksMs > 0) await delay(thinksMs);
    answer(res, fault === undefined ? behavior : 401, { delivery, headers: receiver.answers });
    events.emit("delivery");
  };
  const listener = (req: IncomingMessage, res: ServerResponse): void => {
    // A request that breaks off is not a delivery.
    handle(req, res).catch(() => res.destroy());
  };
  const server = tls ? createHttpsServer(tls, listener) : createHttpServer(listener);
  server.on("connection", () => {
    connections += 1;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const receiver = {
    url: `http${tls ? "s" : ""}://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    ...{ received, forged, behavior: options.behavior ?? "healthy" },
    answers: options.answers ?? {},
    get connections() {
      return connections;
    },
    async arrived(wanted: number) {
      while (received.length < wanted) await once(events, "delivery");
      return received;
    },
    close: () => closed(server),
  };
  return receiver;
}

async function closed(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  if (server.listening) await once(server, "close");
}

function deliveryOf({ headers }: IncomingMessage, body: string): ReceivedRequest {
  const { type } = JSON.parse(body) as { type: string };
  return { id: String(headers["webhook-id"]), type, at: Date.now(), headers, body };
}

function faultOf(delivery: ReceivedRequest, verify: ReceiverOptions["verify"]): string | undefined {
  try {
    verify?.(delivery);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

interface Answer {
  readonly delivery: ReceivedRequest;
  readonly headers: Readonly<Record<string, string>>;
}

function answer(res: ServerResponse, behavior: Behavior, { delivery, headers }: Answer): void {
  switch (behavior) {
    case "healthy":
      res.writeHead(200, { "content-type": "application/json", ...headers }).end(echo(delivery));
      return;
    case "silent":
      res.writeHead(204, headers).end();
      return;
    case "black-hole":
      return;
    case "reset":
      res.socket?.resetAndDestroy();
      return;
    case "drip":
      if (res.socket) drip(res.socket);
      return;
    case "endless":
      res.writeHead(200, headers);
      pourOut(res);
      return;
    default:
      res.writeHead(behavior, headers).end("no");
  }
}

function echo({ type, body }: ReceivedRequest): string {
  if (type !== "endpoint.verify") return "{}";
  const { challenge } = (JSON.parse(body) as { data: { challenge: string } }).data;
  return JSON.stringify({ challenge });
}

function drip(socket: Socket): void {
  socket.write("HTTP/1.1 200 OK\r\nx-slow: ");
  const timer = setInterval(() => socket.write("x"), DRIP_MS);
  socket.once("close", () => clearInterval(timer));
}

/** Writes an endless body for as long as the client reads. */
function pourOut(res: ServerResponse): void {
  const chunk = Buffer.alloc(64 * 1024, "x");
  const pour = (): void => {
    while (!res.destroyed && res.write(chunk));
  };
  res.on("drain", pour);
  pour();
}
