import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { createSender, type SenderOptions } from "../../../../../src/alerts/delivery/sender.ts";

/** Address of the permitted receivers; 127.0.0.1 is the forbidden one. */
export const FRIEND = "127.0.0.2";

/** Host of the URLs in tests; every name stands for the friend. */
export const HOST = "hooks.example.com";

/** Wall clock of the sender under test. */
export const NOW = Date.UTC(2026, 10, 21, 12);

/** Listens until the end of the test. @returns The port. */
export async function listen(server: Server, host = FRIEND, port = 0): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket.on("error", () => undefined).on("close", () => sockets.delete(socket)));
  });
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  server.listen(port, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** A receiver that speaks HTTP. @returns Its URL. */
export async function receiver(listener: RequestListener): Promise<string> {
  return `http://${HOST}:${await listen(createHttpServer(listener))}/`;
}

/** A TCP server with a custom connection handler. @returns Its URL. */
export async function rawReceiver(onConnection: (socket: Socket) => void): Promise<string> {
  return `http://${HOST}:${await listen(createServer(onConnection))}/`;
}

/** A sender that may reach the friend, by plain HTTP too; it ends with the test. */
export function testSender(options: Partial<SenderOptions> = {}) {
  const sender = createSender({
    schemes: ["https:", "http:"],
    isAllowed: (address) => address === FRIEND,
    lookup: async () => [FRIEND],
    now: () => NOW,
    ...options,
  });
  onTestFinished(() => sender.close());
  return sender;
}

/** A request to a URL with arbitrary headers and body. */
export const to = (url: string) => ({ url, headers: { "webhook-id": "msg_1" }, body: "{}" });
