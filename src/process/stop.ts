import { once } from "node:events";
import type { Server } from "node:http";
import { type Socket, Server as SocketServer } from "node:net";
import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";

/**
 * How long a client that received `connection: close` may still keep its connection and send one
 * more request, in milliseconds: the keep-alive timeout of Node.js and of most other clients.
 */
const KEEP_ALIVE_MS = 4_000;

/** How long requests in flight may still run once the port is closed, in milliseconds. */
const DRAIN_REQUESTS_MS = 5_000;

/** Interval between closings of idle connections, in milliseconds. */
const CLOSE_IDLE_EVERY_MS = 20;

/**
 * Maximum duration of the shutdown, in milliseconds, not counting the time in which connections are
 * still accepted.
 */
const STOP_MS = 8_000;

/** Duration below which a turn of the event loop counts as having had no work, in milliseconds. */
const QUIET_TURN_MS = 0.2;

/** Maximum wait for an event-loop turn without work, in milliseconds. */
const MAX_BUSY_MS = 500;

/** The parts of the service that `stopInOrder` stops. */
export interface ShutdownParts {
  /** The HTTP server; its connections are in `openSockets`. */
  readonly server: Server;
  readonly openSockets: ReadonlySet<Socket>;
  /** Makes `/readyz` report that the service is stopping. */
  drain(): void;
  /** Ends the open event streams. */
  endStreams(): void;
  /** Closes the store and all other parts; called when no more requests can arrive. */
  close(): Promise<void>;
  /**
   * How long connections are still accepted, in milliseconds, so that load balancers notice that
   * the process is stopping. 0 if no other process can take over.
   */
  readonly acceptMs: number;
}

/** The open connections of a server, as a set that stays up to date. */
export function openSocketsOf(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

/**
 * Shuts down without failing a request that another process could handle: reports that it is
 * stopping, accepts connections until load balancers have noticed, closes each connection with its
 * next response, then stops listening and waits for requests in flight.
 *
 * @returns Resolves when the process can exit.
 */
export async function stopInOrder(stopping: ShutdownParts): Promise<void> {
  const { server, openSockets, acceptMs } = stopping;
  stopping.drain();
  server.prependListener("request", (_req, res) => res.setHeader("connection", "close"));
  if (acceptMs > 0) await pause(acceptMs);
  await untilQueueIsEmpty();
  const closed = once(server, "close");
  // The `close` of http.Server would also close connections on which a request may be arriving.
  SocketServer.prototype.close.call(server);
  stopping.endStreams();
  const keepAliveMs = acceptMs > 0 ? KEEP_ALIVE_MS : 0;
  await waitAtMost(closed, keepAliveMs);
  const closingIdle = setInterval(() => closeIdle(server, openSockets), CLOSE_IDLE_EVERY_MS);
  await waitAtMost(closed, DRAIN_REQUESTS_MS - keepAliveMs);
  clearInterval(closingIdle);
  server.closeAllConnections();
  await stopping.close();
}

/** Exits the process with code 1 if the shutdown takes too long. */
export function exitAfterTimeout(acceptMs: number): void {
  setTimeout(() => process.exit(1), acceptMs + STOP_MS).unref();
}

/**
 * Waits until the accept queue is empty, because closing the port resets the connections in the
 * queue, even if other processes share the port. The queue is empty after a turn of the event loop
 * without work.
 */
async function untilQueueIsEmpty(): Promise<void> {
  const endsAt = performance.now() + MAX_BUSY_MS;
  for (let startedAt = performance.now(); startedAt < endsAt; startedAt = performance.now()) {
    await turn();
    if (performance.now() - startedAt < QUIET_TURN_MS) return;
  }
}

async function waitAtMost(event: Promise<unknown>, ms: number): Promise<void> {
  const over = new AbortController();
  const time = pause(ms, undefined, { signal: over.signal }).catch(() => undefined);
  await Promise.race([event, time]);
  over.abort();
}

/**
 * Closes idle connections, including those on which no request has arrived yet, which Node.js does
 * not count as idle.
 */
function closeIdle(server: Server, openSockets: ReadonlySet<Socket>): void {
  server.closeIdleConnections();
  for (const socket of openSockets) if (socket.bytesRead === 0) socket.destroy();
}
