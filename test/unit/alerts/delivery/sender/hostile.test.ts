// @module-tag full

import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer, type Socket } from "node:net";
import { expect, it } from "vitest";
import { createCertificate } from "../../../../support/certificate.ts";
import { HOST, listen, rawReceiver, receiver, testSender, webhookRequestTo } from "./servers.ts";

/** Number of concurrent deliveries. */
const MANY = 200;

const BLOCK = Buffer.alloc(1 << 20, "a");

/** Maximum amount of a hostile server's output that the operating system may buffer, in bytes. */
const BUFFERED = 32 << 20;

it("200 deliveries to hostile webhooks all end and leave no connection open", async () => {
  const sockets = new Set<Socket>();
  const watched = (socket: Socket) => {
    sockets.add(socket.on("close", () => sockets.delete(socket)));
  };
  let poured = 0;
  const trapped: unknown[] = [];
  const trap = await listen(
    createServer((socket) => void trapped.push(socket.destroy())),
    "127.0.0.1",
  );
  const endless = createHttpServer((req, res) => {
    res.writeHead(200, { "content-length": 10_000_000_000 });
    const more = () => {
      while (!res.destroyed && res.write(BLOCK));
    };
    res.on("drain", more);
    more();
    req.socket.on("close", () => {
      poured = Math.max(poured, req.socket.bytesWritten);
    });
  });
  const tls = createHttpsServer(createCertificate("other.example.com"), (_req, res) => {
    res.end();
  });
  endless.on("connection", watched);
  tls.on("connection", watched);
  const kinds: readonly (readonly [string, string])[] = [
    ["nothing", await rawReceiver((socket) => watched(socket.resume()))],
    [
      "nothing",
      await rawReceiver((socket) => {
        watched(socket);
        socket.once("data", () => socket.resetAndDestroy());
      }),
    ],
    [
      "nothing",
      await rawReceiver((socket) => {
        watched(socket);
        const timer = setInterval(() => socket.write("H"), 20);
        socket.on("close", () => clearInterval(timer));
      }),
    ],
    ["nothing", `https://${HOST}:${await listen(tls)}/`],
    ["500", await receiver((_req, res) => void res.writeHead(500).end())],
    [
      "302",
      await receiver((_req, res) => {
        res.writeHead(302, { location: `http://127.0.0.1:${trap}/` }).end();
      }),
    ],
    ["200", `http://${HOST}:${await listen(endless)}/`],
    ["204", await receiver((_req, res) => void res.writeHead(204).end())],
  ];
  // Only what never answers is to reach its timeout, however busy the machine is.
  const [impatient, patient] = [testSender({ totalMs: 3_000 }), testSender({ totalMs: 120_000 })];
  const outcomes = await Promise.all(
    Array.from({ length: MANY }, async (_, at) => {
      const [expected, url] = kinds[at % kinds.length] ?? ["", ""];
      const sender = expected === "nothing" ? impatient : patient;
      const answer = await sender.send(webhookRequestTo(url)).catch(() => undefined);
      return [expected, String(answer?.status ?? "nothing")] as const;
    }),
  );
  for (const [expected, was] of outcomes) expect(was).toBe(expected);
  await expect.poll(() => sockets.size).toBe(0);
  expect(trapped).toEqual([]);
  expect(poured).toBeGreaterThan(1024);
  expect(poured).toBeLessThan(BUFFERED);
});
