import type { IncomingHttpHeaders, RequestListener } from "node:http";
import { createServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { createSignatureHeaders } from "../../../../../src/alerts/delivery/signing.ts";
import { OutboundError } from "../../../../../src/outbound/guarded-fetch.ts";
import {
  FRIEND,
  HOST,
  listen,
  NOW,
  rawReceiver,
  receiver,
  testSender,
  webhookRequestTo,
} from "./servers.ts";

/** Returns the internal reason of a failed delivery, which callers do not see. */
async function reasonOf(answer: Promise<unknown>): Promise<string> {
  const error: unknown = await answer.then(
    () => "it was answered",
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(OutboundError);
  expect(String(error)).toBe("OutboundError: The address could not be fetched.");
  return String((error as Error).cause);
}

describe("a webhook sender", () => {
  it("posts the body unchanged, with the given headers and the sender's own headers", async () => {
    const came: { method?: string; headers?: IncomingHttpHeaders; body?: string } = {};
    const url = await receiver(async (req, res) => {
      const body = Buffer.concat(await req.toArray()).toString();
      Object.assign(came, { method: req.method, headers: req.headers, body });
      res.writeHead(204).end();
    });
    const body = '{"name":"Ümlaut 🐂"}';
    const headers = createSignatureHeaders({ id: "msg_7", at: NOW, body, secrets: [], keys: [] });
    const answer = await testSender().send({ url, headers, body });
    expect(answer).toMatchObject({ status: 204, retryAfterMs: undefined, body: "" });
    expect(answer.latencyMs).toBeGreaterThanOrEqual(0);
    expect(Number.isInteger(answer.latencyMs)).toBe(true);
    expect(came).toMatchObject({ method: "POST", body });
    expect(came.headers).toMatchObject({
      ...headers,
      host: new URL(url).host,
      "content-type": "application/json",
      "user-agent": "market-signal/1.0.0",
      "content-length": String(Buffer.byteLength(body)),
    });
  });

  it.each([200, 201, 299, 400, 404, 410, 429, 500, 503])(
    "returns the status %d",
    async (status) => {
      const url = await receiver((_req, res) => void res.writeHead(status).end("why"));
      expect(await testSender().send(webhookRequestTo(url))).toMatchObject({ status, body: "why" });
    },
  );

  it("returns the delay that Retry-After requests, by its own clock", async () => {
    const url = await receiver((_req, res) => {
      res.writeHead(503, { "retry-after": "Sat, 21 Nov 2026 12:00:30 GMT" }).end();
    });
    expect((await testSender().send(webhookRequestTo(url))).retryAfterMs).toBe(30_000);
  });

  it("opens a new connection for every delivery", async () => {
    const waiting: (() => void)[] = [];
    let open = 0;
    let most = 0;
    const url = await receiver((req, res) => {
      open += 1;
      most = Math.max(most, open);
      req.socket.on("close", () => {
        open -= 1;
      });
      waiting.push(() => res.end());
      if (waiting.length === 20) for (const answer of waiting) answer();
    });
    const sender = testSender();
    await Promise.all(Array.from({ length: 20 }, () => sender.send(webhookRequestTo(url))));
    expect(most).toBe(20);
    await expect.poll(() => open).toBe(0);
  });
});

describe("the response of a webhook", () => {
  const answering = async (listener: RequestListener, bodyMs = 10_000) =>
    testSender({ bodyMs }).send(webhookRequestTo(await receiver(listener)));

  it("is truncated after 1 kB", async () => {
    const { body } = await answering((_req, res) => void res.end("a".repeat(5000)));
    expect(body).toBe("a".repeat(1024));
  });

  it("is truncated before a multi-byte character that does not fit", async () => {
    const { body } = await answering((_req, res) => void res.end(`a${"ü".repeat(1000)}`));
    expect(body).toBe(`a${"ü".repeat(511)}`);
  });

  it("is stored as valid text without control characters", async () => {
    const { body } = await answering((_req, res) => {
      res.write("one\r\ntwo\tthree\0\u001b[31mred\u0085\u202egnol\u2066\u2028");
      res.end(Buffer.of(0x61, 0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80));
    });
    const odd = "\ufffd";
    const text = `one\ntwo\tthree${odd}${odd}[31mred${odd}${odd}gnol${odd}${odd}`;
    expect(body).toBe(`${text}a${odd}${odd}(${odd.repeat(3)}`);
    expect(body.isWellFormed()).toBe(true);
  });

  it("is not decompressed", async () => {
    const bomb = gzipSync(Buffer.alloc(2_000_000));
    const { status, body } = await answering((_req, res) => {
      res.writeHead(200, { "content-encoding": "gzip" }).end(bomb);
    });
    expect(status).toBe(200);
    expect(body.length).toBeLessThanOrEqual(1024);
    expect(body).not.toContain("\0");
  });

  it("is judged by its status even if the body never ends", async () => {
    const slow = await answering((_req, res) => void res.writeHead(202).write("so far"), 50);
    expect(slow).toMatchObject({ status: 202, body: "so far" });
    const silent = await answering((_req, res) => res.writeHead(202).flushHeaders(), 50);
    expect(silent).toMatchObject({ status: 202, body: "" });
  });

  it("is judged by its status even if the body is incomplete", async () => {
    const answer = await answering((_req, res) => {
      res.writeHead(200, { "content-length": 100 }).write("so far", () => res.destroy());
    });
    expect(answer).toMatchObject({ status: 200, body: "so far" });
  });

  it("is cut off at the timeout of the request", async () => {
    const url = await receiver((_req, res) => void res.writeHead(200).write("so far"));
    const sender = testSender({ totalMs: 200 });
    expect(await sender.send(webhookRequestTo(url))).toMatchObject({ status: 200, body: "so far" });
  });
});

describe("a webhook without a valid response", () => {
  it.each([
    ["the port is closed", async () => [FRIEND], "ECONNREFUSED"],
    ["name servers fail", () => Promise.reject(new Error("SERVFAIL")), "SERVFAIL"],
  ])("is reported as one failure with a generic message when %s", async (_, lookup, reason) => {
    const url = `http://${HOST}:${await closedPort()}/`;
    const sent = testSender({ lookup }).send(webhookRequestTo(url));
    expect(await reasonOf(sent)).toContain(reason);
  });

  it.each<[string, Parameters<typeof rawReceiver>[0]]>([
    ["accepts the connection and sends nothing", () => undefined],
    ["resets the connection", (socket) => void socket.once("data", () => socket.resetAndDestroy())],
    ["closes the connection", (socket) => void socket.end()],
    ["does not speak HTTP", (socket) => void socket.write("220 mail ready\r\n")],
    ["sends its header byte by byte", drip],
    ["sends an endless header", (socket) => flood(socket, `x: ${"y".repeat(9000)}\r\n`)],
    ["sends informational responses forever", (socket) => flood(socket, INTERIM.repeat(100), "")],
    [
      "closes the connection in the middle of the header",
      (socket) => void socket.end("HTTP/1.1 200 OK\r\nx: "),
    ],
  ])("is reported as one failure with a generic message when it %s", async (_, onConnection) => {
    const url = await rawReceiver(onConnection);
    expect(await reasonOf(testSender({ totalMs: 300 }).send(webhookRequestTo(url)))).not.toBe("");
  });

  it("is disconnected when it sends only informational (1xx) responses", async () => {
    const url = await rawReceiver((socket) => flood(socket, INTERIM, ""));
    expect(await reasonOf(testSender().send(webhookRequestTo(url)))).toContain("come to the point");
  });

  it("is abandoned at the connect timeout", async () => {
    const port = await listen(createServer(() => undefined));
    const sender = testSender({ connectMs: 100 });
    expect(await reasonOf(sender.send(webhookRequestTo(`https://${HOST}:${port}/`)))).toMatch(
      /timeout/i,
    );
    const hanging = testSender({ connectMs: 100, lookup: () => new Promise(() => undefined) });
    expect(await reasonOf(hanging.send(webhookRequestTo(`http://${HOST}:${port}/`)))).toMatch(
      /timeout/i,
    );
  });

  it("is disconnected when the sender is closed", async () => {
    const connected = Promise.withResolvers<void>();
    const url = await rawReceiver(() => connected.resolve());
    const sender = testSender();
    const pending = reasonOf(sender.send(webhookRequestTo(url)));
    await connected.promise;
    await sender.close();
    expect(await pending).not.toBe("");
    await reasonOf(sender.send(webhookRequestTo(url)));
  });
});

const START = "HTTP/1.1 200 OK\r\n";
const INTERIM = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";

function drip(socket: Socket): void {
  socket.write(START);
  const timer = setInterval(() => socket.write("x: y\r\n"), 20);
  socket.on("close", () => clearInterval(timer));
}

/** Sends the same text repeatedly until the connection ends. */
function flood(socket: Socket, text: string, start = START): void {
  const more = () => {
    while (!socket.destroyed && socket.write(text));
  };
  socket.on("drain", more).write(start);
  more();
}

async function closedPort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
