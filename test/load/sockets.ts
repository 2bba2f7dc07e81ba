import { once } from "node:events";
import { connect, type Socket } from "node:net";

/**
 * Number of connections that are opened at once, small enough for the accept queue of the system.
 */
const AT_A_TIME = 200;

/** A connection of a hostile client. */
export interface HostileSocket {
  readonly socket: Socket;
  /** The first 4096 bytes received, as text. */
  said(): string;
  /** Resolves with the lifetime in milliseconds once the connection is closed. */
  readonly lasted: Promise<number>;
}

/** Number of networks from which connections are opened, because they share what the server has. */
const NETWORKS = 50;

/** Opens connections to a loopback port, from addresses of several networks. */
export async function openSockets(port: number, count: number): Promise<readonly HostileSocket[]> {
  const opened: HostileSocket[] = [];
  while (opened.length < count) {
    const some = Math.min(AT_A_TIME, count - opened.length);
    opened.push(
      ...(await Promise.all(Array.from({ length: some }, (_, at) => openSocket(port, at)))),
    );
  }
  return opened;
}

async function openSocket(port: number, at: number): Promise<HostileSocket> {
  const localAddress = `127.0.${1 + (at % NETWORKS)}.1`;
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  await once(socket, "connect");
  const startedAt = performance.now();
  let said = "";
  socket.on("data", (chunk) => {
    said = (said + chunk.toString("latin1")).slice(0, 4096);
  });
  socket.on("error", () => {});
  const lasted = once(socket, "close").then(() => performance.now() - startedAt);
  return { socket, said: () => said, lasted };
}

/**
 * Sends the beginning of a request, then a byte at a fixed interval. @param everyMs Interval in
 * milliseconds.
 */
export function dripBytes(
  { socket }: HostileSocket,
  start: string | Buffer,
  everyMs: number,
): void {
  socket.write(start);
  const timer = setInterval(() => socket.write("a"), everyMs);
  socket.once("close", () => clearInterval(timer));
}
