import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { onTestFinished } from "vitest";

/** Starts listening on a free loopback port. @returns The origin. */
export async function listenLocally(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Serves on a free loopback port until the current test ends. @returns The origin. */
export function serveForTest(listener: RequestListener): Promise<string> {
  const server = createServer({ keepAliveTimeout: 0 }, listener);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return listenLocally(server);
}

/** Listens on a free port of an address until the current test ends. @returns The port. */
export async function listenForTest(server: Server, host: string): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket.on("error", () => undefined).on("close", () => sockets.delete(socket)));
  });
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  server.listen(0, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
