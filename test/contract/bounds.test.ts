import { once } from "node:events";
import type { RequestListener, ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createBoundedServer, IDLE_MS } from "../../src/http/server.ts";
import { workTurns } from "../../src/http/work-turns.ts";
import { newToken } from "../support/agent.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

let testService: TestService;
let port: number;

beforeAll(async () => {
  testService = await startTestService();
  const server = createBoundedServer(testService.service.app, { proxyHops: 0 }).listen(
    0,
    "127.0.0.1",
  );
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
  return () => {
    server.closeAllConnections();
    server.close();
  };
});

/** Starts a server that ends with the test. @returns Its port. */
async function startServer(
  listener: RequestListener,
  options: Parameters<typeof createBoundedServer>[1],
): Promise<number> {
  const server = createBoundedServer(listener, options).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Opens a connection that ends with the test. */
function connectTo(port: number, localAddress = "127.0.0.1"): Socket {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  onTestFinished(() => void socket.destroy());
  return socket.on("error", () => {});
}

/** Sends raw bytes. @returns Everything received until the service closes the connection. */
async function exchange(...parts: readonly string[]): Promise<string> {
  const socket = connectTo(port);
  let said = "";
  socket.on("data", (chunk) => {
    said += chunk.toString("latin1");
  });
  for (const part of parts) socket.write(part, "latin1");
  await once(socket, "close");
  return said;
}

const statusesIn = (said: string): readonly number[] =>
  Array.from(said.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => Number(status));

const bodyIn = (said: string): Record<string, unknown> =>
  JSON.parse(said.slice(said.indexOf("\r\n\r\n") + 4)) as Record<string, unknown>;

/** A request header section that makes the service close the connection afterwards. */
const head = (line: string, ...fields: readonly string[]): string =>
  `${[line, "Host: a", "Connection: close", ...fields].join("\r\n")}\r\n\r\n`;

const HEALTH = "GET /api/health HTTP/1.1";

function expectProblem(said: string, status: number, code: string): void {
  expect(statusesIn(said)).toEqual([status]);
  expect(said).toMatch(/\r\ncontent-type: application\/problem\+json; charset=utf-8\r\n/i);
  expect(said).toMatch(/\r\nx-content-type-options: nosniff\r\n/i);
  expect(bodyIn(said)).toMatchObject({ status, code, type: `urn:market-signal:problem:${code}` });
}

describe("a malformed HTTP request", () => {
  it.each([
    ["a request line that is not HTTP", "hello\r\n\r\n"],
    ["an unknown method", head("BREW / HTTP/1.1")],
    ["an unknown HTTP version", head("GET / HTTP/9.9")],
    ["a field name with a space", head(HEALTH, "X A: b")],
    ["a field value with a NUL", head(HEALTH, "X-A: a\0b")],
    ["a field value on two lines", `GET /api/health HTTP/1.1\r\nHost: a\r\nX-A: a\r\n b\r\n\r\n`],
    ["a Content-Length that is not a number", head("POST /mcp HTTP/1.1", "Content-Length: many")],
    [
      "two Content-Length fields",
      head("POST /mcp HTTP/1.1", "Content-Length: 1", "Content-Length: 2"),
    ],
    [
      "Content-Length with chunked encoding",
      head("POST /mcp HTTP/1.1", "Content-Length: 1", "Transfer-Encoding: chunked"),
    ],
    ["an invalid request target", head("GET //[ HTTP/1.1")],
  ])("is answered with a problem document: %s", async (_, request) => {
    expectProblem(await exchange(request), 400, "invalid_request");
  });

  it("is answered with a problem document even if the fault is in the middle of the body", async () => {
    const fields = ["Content-Type: application/json", "Transfer-Encoding: chunked"];
    const said = await exchange(head("POST /api/apply HTTP/1.1", ...fields), "zz\r\n");
    expectProblem(said, 400, "invalid_request");
  });

  it.each([
    ["no Host field", "GET /api/health HTTP/1.1\r\nConnection: close\r\n\r\n"],
    ["two Host fields", head(HEALTH, "Host: b")],
  ])("is rejected when it has %s", async (_, request) => {
    expectProblem(await exchange(request), 400, "invalid_request");
  });

  it("is not answered if its client ended the connection in the middle of it", async () => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    let said = "";
    socket.on("data", (chunk) => {
      said += chunk;
    });
    const closed = once(socket, "close");
    socket.end(`${HEALTH}\r\nHost: a\r\n`);
    await closed;
    expect(said).toBe("");
  });
});

describe("the request header section", () => {
  it("is limited to 16 kB", async () => {
    const said = await exchange(head(HEALTH, `X-A: ${"a".repeat(17_000)}`));
    expectProblem(said, 431, "headers_too_large");
    expect(statusesIn(await exchange(head(HEALTH, `X-A: ${"a".repeat(15_000)}`)))).toEqual([200]);
  });

  it("is limited to 16 kB including the request target", async () => {
    const request = head(`GET /api/health?${"a".repeat(17_000)} HTTP/1.1`);
    expectProblem(await exchange(request), 431, "headers_too_large");
  });

  it("is limited to 100 fields", async () => {
    const fields = (count: number) => Array.from({ length: count }, (_, at) => `X-${at}: a`);
    expectProblem(await exchange(head(HEALTH, ...fields(99))), 431, "headers_too_large");
    expectProblem(await exchange(head(HEALTH, ...fields(1_000))), 431, "headers_too_large");
    expect(statusesIn(await exchange(head(HEALTH, ...fields(98))))).toEqual([200]);
  });

  it("is rejected once it exceeds a megabyte, before the client has finished sending", async () => {
    const line = `X-A: ${"a".repeat(1_000)}\r\n`;
    const said = await exchange(`${HEALTH}\r\n${line.repeat(1_000)}\r\n`);
    expectProblem(said, 431, "headers_too_large");
  });
});

describe("unusual but valid HTTP", () => {
  it.each([
    ["HTTP/1.0 without Host", "GET /api/health HTTP/1.0\r\n\r\n"],
    ["an absolute request target", head("GET http://elsewhere.example/api/health HTTP/1.1")],
    ["an unknown expectation", head(HEALTH, "Expect: a-miracle")],
    ["an upgrade that is not supported", head(HEALTH, "Upgrade: websocket")],
    ["a repeated field", head(HEALTH, "X-A: a", "X-A: b", "User-Agent: a", "User-Agent: b")],
  ])("gets an answer: %s", async (_, request) => {
    const said = await exchange(request);
    expect(statusesIn(said)).toEqual([200]);
    expect(said).not.toContain("elsewhere.example");
  });

  it.each(["PROPFIND", "TRACE", "PURGE", "OPTIONS *"])(
    "%s is answered with 204, 404 or 405",
    async (line) => {
      const request = head(line.includes("*") ? `${line} HTTP/1.1` : `${line} /mcp HTTP/1.1`);
      const [status] = statusesIn(await exchange(request));
      expect([204, 404, 405]).toContain(status);
    },
  );

  it("CONNECT opens no connection to other hosts", async () => {
    expect(await exchange("CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n")).toBe("");
  });

  it.each([0, 1])(
    "CONNECT after pipelined requests closes what they hold, with %i proxies",
    async (proxyHops) => {
      const { promise: all, resolve } = Promise.withResolvers<readonly ServerResponse[]>();
      const begun: ServerResponse[] = [];
      const listener: RequestListener = (_req, res) => {
        if (begun.push(res) === 20) resolve(begun);
      };
      const socket = connectTo(await startServer(listener, { proxyHops }));
      const get = `${HEALTH}\r\nHost: a\r\n\r\n`;
      socket.write(`${get.repeat(20)}CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n`);
      await Promise.all((await all).map((res) => once(res, "close")));
    },
  );

  it("pipelined requests are answered in order", async () => {
    const paths = Array.from({ length: 50 }, (_, at) => `/nothing-${at}`);
    const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    const said = await exchange(...requests, head("GET /last HTTP/1.1"));
    expect(statusesIn(said)).toHaveLength(51);
    const answered = Array.from(said.matchAll(/"instance":"([^"]+)"/g), ([, path]) => path);
    expect(answered).toEqual([...paths, "/last"]);
  });

  it("Expect: 100-continue is answered before the body is read", async () => {
    const body = JSON.stringify({});
    const fields = ["Content-Type: application/json", `Content-Length: ${body.length}`];
    const request = head("POST /api/apply HTTP/1.1", ...fields, "Expect: 100-continue");
    expect(statusesIn(await exchange(request, body))).toEqual([100, 400]);
  });

  it("a credential in the trailer section is ignored", async () => {
    const token = await newToken(testService.base);
    const fields = ["Content-Type: application/json", "Transfer-Encoding: chunked"];
    const trailer = `0\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    const said = await exchange(head("POST /mcp HTTP/1.1", ...fields), "2\r\n{}\r\n", trailer);
    expect(statusesIn(said)).toEqual([401]);
  });
});

describe("connections without a proxy in front", () => {
  /** Opens connections from an address, one after the other. @returns Those that stay open. */
  async function open(
    port: number,
    localAddress: string,
    count: number,
  ): Promise<readonly Socket[]> {
    const kept: Socket[] = [];
    for (let at = 0; at < count; at++) {
      const socket = connectTo(port, localAddress);
      let said = "";
      socket.on("data", (chunk) => {
        said += chunk;
      });
      socket.write(`${HEALTH}\r\nHost: a\r\n\r\n`);
      await Promise.race([once(socket, "data"), once(socket, "close")]);
      if (said !== "") kept.push(socket);
    }
    return kept;
  }

  const endAtOnce: RequestListener = (_req, res) => void res.end();

  const startShared = (proxyHops: number, listener = endAtOnce) =>
    startServer(listener, { proxyHops, connections: { total: 20, most: 10 } });

  it("are shared by networks: what one opens beyond its share is closed at once", async () => {
    const shared = await startShared(0);
    const [first, ...others] = await open(shared, "127.0.1.1", 15);
    expect(others).toHaveLength(9);
    expect(await open(shared, "127.0.1.2", 2)).toEqual([]);
    expect(await open(shared, "127.0.2.1", 10)).toHaveLength(4);
    expect(await open(shared, "127.0.3.1", 10)).toHaveLength(2);
    expect(await open(shared, "127.0.4.1", 10)).toHaveLength(1);
    first?.destroy();
    if (first !== undefined) await once(first, "close");
    await expect.poll(async () => (await open(shared, "127.0.5.1", 1)).length).toBe(1);
  });

  it("are not shared behind a proxy, which has those of all clients", async () => {
    expect(await open(await startShared(1), "127.0.1.1", 15)).toHaveLength(15);
  });

  it("give way to new ones of their network if they sent no request, the oldest first", async () => {
    const shared = await startShared(0);
    const silent: Socket[] = [];
    for (let at = 0; at < 10; at++) {
      const socket = connectTo(shared, "127.0.1.1");
      silent.push(socket.resume());
      await once(socket, "connect");
    }
    const closed = silent.map((socket) => once(socket, "close"));
    expect(await open(shared, "127.0.1.2", 2)).toHaveLength(2);
    await Promise.all(closed.slice(0, 2));
    expect(silent.map((socket) => socket.closed)).toEqual(silent.map((_, at) => at < 2));
    // Those that sent a request stay.
    expect(await open(shared, "127.0.1.3", 12)).toHaveLength(8);
    await Promise.all(closed);
  });

  const PATIENT = "GET /patient HTTP/1.1\r\nHost: a\r\n\r\n";

  /**
   * Starts a server that does not answer `/patient`, and a client with 501 such requests under way:
   * 500 are pipelined.
   */
  async function startPatient(proxyHops: number) {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const waiting: ServerResponse[] = [];
    const shared = await startShared(proxyHops, (req, res) => {
      if (req.socket.destroyed) return;
      if (req.url === "/patient") waiting.push(res);
      else res.end();
    });
    const [busy] = await open(shared, "127.0.1.1", 1);
    if (busy === undefined) throw new Error("no connection");
    const isWaiting = async (count: number) => {
      while (waiting.length < count) await new Promise(setImmediate);
    };
    busy.write(PATIENT.repeat(501));
    await isWaiting(501);
    return { shared, busy, waiting, isWaiting };
  }

  async function answerAll(waiting: readonly ServerResponse[]): Promise<void> {
    const closed = waiting.map((res) => once(res, "close"));
    for (const res of waiting) res.end();
    await Promise.all(closed);
  }

  it("have at most 500 pipelined requests of a network in three seconds: more close what their address could send them with", async () => {
    const { shared, busy, waiting, isWaiting } = await startPatient(0);
    const [idle] = await open(shared, "127.0.1.1", 1);
    const [neighbor] = await open(shared, "127.0.1.2", 1);
    const working = connectTo(shared, "127.0.1.1");
    working.write(PATIENT);
    await isWaiting(502);
    let said = "";
    busy.on("data", (chunk) => {
      said += chunk;
    });
    const closed = [busy, idle].map((socket) => once(socket as Socket, "close"));
    busy.write(PATIENT.repeat(1_000));
    await Promise.all(closed);
    expect(said).toBe("");
    expect(waiting).toHaveLength(502);
    expect(await open(shared, "127.0.1.1", 2)).toEqual([]);
    expect(await open(shared, "127.0.1.3", 1)).toHaveLength(1);
    expect(neighbor?.closed).toBe(false);
    vi.advanceTimersByTime(2_999);
    expect(await open(shared, "127.0.1.1", 1)).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(await open(shared, "127.0.1.1", 1)).toHaveLength(1);
    // What was under way on another connection is answered.
    waiting[501]?.end();
    await once(working, "data");
  });

  it("share the pipelined requests of their network, which are counted anew after three seconds", async () => {
    const { shared, waiting, isWaiting } = await startPatient(0);
    await answerAll(waiting);
    vi.advanceTimersByTime(3_000);
    const [again, last] = await open(shared, "127.0.1.2", 2);
    again?.write(PATIENT.repeat(501));
    await isWaiting(1_002);
    const closed = once(last as Socket, "close");
    last?.write(PATIENT.repeat(2));
    await closed;
    // Only the first of the two was not pipelined.
    expect(waiting).toHaveLength(1_003);
    expect(again?.closed).toBe(false);
  });

  it("hold at most 500 pipelined requests of a network that are not answered, however long", async () => {
    const { shared, busy, waiting, isWaiting } = await startPatient(0);
    const gone = waiting.map((res) => once(res, "close"));
    vi.advanceTimersByTime(3_000);
    const [other] = await open(shared, "127.0.1.2", 1);
    const closed = once(other as Socket, "close");
    other?.write(PATIENT.repeat(2));
    await Promise.race([closed, isWaiting(503)]);
    // Only the first of the two was not pipelined.
    expect(waiting).toHaveLength(502);
    // Those of a closed connection are not held.
    busy.destroy();
    await Promise.all(gone);
    vi.advanceTimersByTime(3_000);
    const [again] = await open(shared, "127.0.1.2", 1);
    again?.write(PATIENT.repeat(501));
    await isWaiting(1_003);
  });

  it("are not read for three seconds if they have a request under way and their address is barred", async () => {
    const { shared, busy, waiting, isWaiting } = await startPatient(0);
    const working = connect({ port: shared, host: "127.0.0.1", localAddress: "127.0.1.1" });
    onTestFinished(() => void working.destroy());
    working.write(PATIENT);
    await isWaiting(502);
    const closed = once(busy, "close");
    busy.write(PATIENT);
    await closed;
    working.write(PATIENT);
    expect(await open(shared, "127.0.1.2", 1)).toHaveLength(1);
    vi.advanceTimersByTime(2_999);
    expect(await open(shared, "127.0.1.2", 1)).toHaveLength(1);
    expect(waiting).toHaveLength(502);
    vi.advanceTimersByTime(1);
    await isWaiting(503);
  });

  it("are closed in the whole network once four of its addresses are barred", async () => {
    const { shared, busy } = await startPatient(0);
    const [neighbor] = await open(shared, "127.0.1.5", 1);
    const [stranger] = await open(shared, "127.0.2.5", 1);
    const barred = [busy];
    for (const address of ["127.0.1.2", "127.0.1.3", "127.0.1.4"]) {
      expect(neighbor?.closed).toBe(false);
      barred.push(...(await open(shared, address, 1)));
    }
    const closed = [...barred, neighbor].map((socket) => once(socket as Socket, "close"));
    for (const socket of barred) socket.write(PATIENT.repeat(2));
    await Promise.all(closed);
    expect(await open(shared, "127.0.1.6", 1)).toEqual([]);
    expect(stranger?.closed).toBe(false);
    vi.advanceTimersByTime(3_000);
    expect(await open(shared, "127.0.1.6", 1)).toHaveLength(1);
  });

  const CHUNKED = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const CHUNK = "1\r\na\r\n";

  it("have 32 chunks of a body count as a pipelined request", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let chunks = 0;
    const shared = await startShared(0, (req, res) => {
      if (req.method === "GET") res.end();
      req.on("data", () => {
        chunks += 1;
      });
    });
    const [sender] = await open(shared, "127.0.1.1", 1);
    sender?.write(CHUNKED + CHUNK.repeat(500 * 32 + 31));
    while (chunks < 500 * 32 + 31) await new Promise(setImmediate);
    // Those that are not answered count longer than three seconds.
    vi.advanceTimersByTime(3_000);
    const [other] = await open(shared, "127.0.1.2", 1);
    const closed = once(other as Socket, "close");
    other?.write(CHUNKED + CHUNK.repeat(100));
    await closed;
    expect(chunks).toBe(500 * 32 + 31 + 32);
    expect(sender?.closed).toBe(false);
  });

  it("offer nothing after an answer to a chunked body that has not arrived, and close in a second", async () => {
    const shared = await startShared(0, (req, res) => {
      if (req.url === "/early") res.end();
      else req.resume().on("end", () => res.end());
    });
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const sender = connect({ port: shared, host: "127.0.0.1", allowHalfOpen: true });
    onTestFinished(() => void sender.destroy());
    let said = "";
    sender
      .on("error", () => {})
      .on("data", (chunk) => {
        said += chunk;
      });
    const ended = once(sender, "end");
    sender.write(`${CHUNKED}${CHUNK}0\r\n\r\n`);
    sender.write(CHUNKED.replace("/", "/early") + CHUNK);
    await ended;
    expect(Array.from(said.matchAll(/^Connection: (.+)\r$/gm), ([, option]) => option)).toEqual([
      "keep-alive",
      "close",
    ]);
    vi.advanceTimersByTime(999);
    expect(await open(shared, "127.0.1.1", 1)).toHaveLength(1);
    expect(sender.closed).toBe(false);
    vi.advanceTimersByTime(1);
    // The system says that the other end is closed only to those who write.
    while (!sender.closed) {
      sender.write(CHUNK);
      await new Promise(setImmediate);
    }
  });

  it("do not count chunks that arrive after the answer", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const shared = await startShared(0, (req, res) => {
      if (req.method === "GET") res.end();
      else req.on("data", () => res.end());
    });
    const [sender] = await open(shared, "127.0.1.1", 1);
    // The end of a connection that was not read to the end is an error.
    const gone = new Promise((resolve) => sender?.on("error", () => {}).on("close", resolve));
    sender?.write(CHUNKED + CHUNK);
    // More than one read of 64 kB, so that the server reads on before it pauses the connection.
    sender?.write(CHUNK.repeat(100_000));
    for (let turns = 0; turns < 1_000; turns++) await new Promise(setImmediate);
    vi.advanceTimersByTime(3_000);
    await gone;
    const [other] = await open(shared, "127.0.1.2", 1);
    let said = "";
    other?.on("data", (chunk) => {
      said += chunk;
    });
    other?.write(`${HEALTH}\r\nHost: a\r\n\r\n`.repeat(2));
    while (other?.closed === false && statusesIn(said).length < 2) await new Promise(setImmediate);
    expect(statusesIn(said)).toEqual([200, 200]);
  });

  it("let the work of this turn wait for the next one, which can accept another connection", async () => {
    const server = createBoundedServer(endAtOnce, { proxyHops: 0 }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const order: string[] = [];
    const accepted = new Promise<void>((resolve) => {
      server.once("connection", () => {
        workTurns.schedule(() => {
          order.push("work");
          resolve();
        });
        setImmediate(() => order.push("turn"));
      });
    });
    connectTo((server.address() as AddressInfo).port);
    await accepted;
    expect(order).toEqual(["turn", "work"]);
  });

  it("have no such bound behind a proxy", async () => {
    const { busy, isWaiting } = await startPatient(1);
    busy.write(PATIENT.repeat(64));
    await isWaiting(565);
  });
});

describe("a client that does not read its answer", () => {
  it("is disconnected", async () => {
    const { promise: closed, resolve: close } = Promise.withResolvers<boolean>();
    // Longer than what the kernel takes without a reader.
    const body = Buffer.alloc(64 * 1024 * 1024);
    const listener: RequestListener = (_req, res) => {
      res.once("close", () => close(res.writableFinished));
      res.end(body);
    };
    const socket = connectTo(await startServer(listener, { proxyHops: 0, idleMs: 200 })).pause();
    socket.write(`${HEALTH}\r\nHost: a\r\n\r\n`);
    expect(await closed).toBe(false);
  });

  it("is told from one that reads 4 kB/s", async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<ServerResponse>();
    const listening = await startServer((_req, res) => answer(res), { proxyHops: 0 });
    const socket = connectTo(listening).pause();
    socket.write(`${HEALTH}\r\nHost: a\r\n\r\n`);
    const res = await answered;
    let written = 0;
    const write = () => {
      while (!res.destroyed && res.write(PIECE)) written += 1;
    };
    res.on("drain", write);
    write();
    // The first steps are shorter, because the buffers of the kernel still grow.
    for (let step = 0; step < 8; step++) {
      let read = 0;
      for (const before = await settled(() => written); (await settled(() => written)) === before; )
        read += socket.read(PIECE.length)?.length ?? socket.read()?.length ?? 0;
      expect(read / (IDLE_MS / 1_000)).toBeLessThan(4_000);
    }
  });
});

const PIECE = Buffer.alloc(16 * 1024);

/** The figure when it has not changed for fifty turns of the event loop. */
async function settled(figure: () => number): Promise<number> {
  let value = figure();
  for (let quiet = 0; quiet < 50; quiet++) {
    await new Promise(setImmediate);
    if (figure() !== value) quiet = 0;
    value = figure();
  }
  return value;
}
