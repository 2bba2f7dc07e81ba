import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import {
  createWebhookSender,
  type WebhookSenderOptions,
} from "../../../../../src/alerts/delivery/sender.ts";
import { listenForTest } from "../../../../support/local-server.ts";

/** Address of the permitted receivers. 127.0.0.1 is the forbidden address. */
export const FRIEND = "127.0.0.2";

/** Host in the test URLs. Every name resolves to the address of the permitted receivers. */
export const HOST = "hooks.example.com";

/** Wall-clock time of the sender under test, Unix milliseconds. */
export const NOW = Date.UTC(2026, 10, 21, 12);

/** Listens at the address of the permitted receivers until the test ends. @returns The port. */
export const listen = (server: Server, host = FRIEND): Promise<number> =>
  listenForTest(server, host);

/** Starts an HTTP receiver. @returns Its URL. */
export async function receiver(listener: RequestListener): Promise<string> {
  return `http://${HOST}:${await listen(createHttpServer(listener))}/`;
}

/** Starts a TCP server with a custom connection handler. @returns Its URL. */
export async function rawReceiver(onConnection: (socket: Socket) => void): Promise<string> {
  return `http://${HOST}:${await listen(createServer(onConnection))}/`;
}

/**
 * A sender that may connect to the permitted receivers, even over plain HTTP. It is closed at the
 * end of the test.
 */
export function testSender(options: Partial<WebhookSenderOptions> = {}) {
  const sender = createWebhookSender({
    schemes: ["https:", "http:"],
    isAllowed: (address) => address === FRIEND,
    lookup: async () => [FRIEND],
    now: () => NOW,
    ...options,
  });
  onTestFinished(() => sender.close());
  return sender;
}

/** Creates a delivery to a URL with arbitrary headers and body. */
export const webhookRequestTo = (url: string) => ({
  url,
  headers: { "webhook-id": "msg_1" },
  body: "{}",
});
