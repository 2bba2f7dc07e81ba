import { once } from "node:events";
import type { Server } from "node:http";
import { type Socket, Server as SocketServer } from "node:net";
import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";

/** A client that was told to leave may hold its connection so much longer, and ask once more, in
 *  milliseconds: as long as clients of Node.js and most others keep one that nobody uses. */
const LAST_WORD_MS = 4_000;

/** Requests may take this long to end once nobody new may come, in milliseconds. */
const REQUEST_MS = 5_000;

/** How often connections with nothing under way are ended, in milliseconds. */
const LOOK_MS = 20;

/** Time that stopping may take besides the wait for others to take over, in milliseconds. */
const STOP_MS = 8_000;

/** A turn of the event loop that took less time than this had nothing to do, in milliseconds. */
const QUIET_TURN_MS = 0.2;

/** After so long the process counts as too busy for a quiet turn, in milliseconds. */
const MAX_BUSY_MS = 500;

/** What is stopped, step by step. */
export interface Stopping {
  /** Gives each connection to the sockets of `openSockets`. */
  readonly server: Server;
  readonly openSockets: ReadonlySet<Socket>;
  /** Makes `/readyz` say that the service is stopping. */
  drain(): void;
  /** Ends the answers that stay open. */
  endStreams(): void;
  /** Lets go of everything; nobody can ask for anything any more. */
  close(): Promise<void>;
  /** How long connections are still accepted, in milliseconds, until those who send them have
   *  noticed. 0: nobody takes over, so there is nothing to wait for. */
  readonly acceptMs: number;
}

/** Follows the connections of a server. */
export function openSocketsOf(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

/**
 * Stops so that no request fails while others can take it: says that it stops, goes on until that
 * is known, closes each connection with its next answer, then stops listening, and lets what is
 * under way end.
 *
 * @returns When the process can end.
 */
export async function stopInOrder(stopping: Stopping): Promise<void> {
  const { server, openSockets, acceptMs } = stopping;
  stopping.drain();
  server.prependListener("request", (_req, res) => res.setHeader("connection", "close"));
  if (acceptMs > 0) await pause(acceptMs);
  await untilQuiet();
  const closed = once(server, "close");
  // That of HTTP would end connections on which a request may just be on its way.
  SocketServer.prototype.close.call(server);
  stopping.endStreams();
  const lastWordMs = acceptMs > 0 ? LAST_WORD_MS : 0;
  await atMost(closed, lastWordMs);
  const looking = setInterval(() => endIdle(server, openSockets), LOOK_MS);
  await atMost(closed, REQUEST_MS - lastWordMs);
  clearInterval(looking);
  server.closeAllConnections();
  await stopping.close();
}

/** Ends the process when stopping takes too long, whatever holds it up. */
export function exitInTime(acceptMs: number): void {
  setTimeout(() => process.exit(1), acceptMs + STOP_MS).unref();
}

/**
 * Connections that wait to be accepted are reset when nobody listens any more, also when others
 * share the port. A turn of the event loop that had nothing to do has left none behind.
 */
async function untilQuiet(): Promise<void> {
  const endsAt = performance.now() + MAX_BUSY_MS;
  for (let startedAt = performance.now(); startedAt < endsAt; startedAt = performance.now()) {
    await turn();
    if (performance.now() - startedAt < QUIET_TURN_MS) return;
  }
}

async function atMost(event: Promise<unknown>, ms: number): Promise<void> {
  const over = new AbortController();
  const time = pause(ms, undefined, { signal: over.signal }).catch(() => undefined);
  await Promise.race([event, time]);
  over.abort();
}

/** For Node.js a connection on which nothing was ever said is not idle: a request is expected. */
function endIdle(server: Server, openSockets: ReadonlySet<Socket>): void {
  server.closeIdleConnections();
  for (const socket of openSockets) if (socket.bytesRead === 0) socket.destroy();
}
