import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type CostClass, createLoadShedder } from "../../../src/http/load-shedding.ts";
import { WorkTurns } from "../../../src/http/work-turns.ts";
import { concurrencyClasses } from "../../../src/limits/classes.ts";

interface Begun {
  readonly path: string;
  readonly res: ServerResponse;
}

/** Duration of a request that fills one turn of the event loop, in milliseconds. */
const WHOLE_TURN_MS = 5;

/** Starts a server whose responses and whose clock the test controls. */
async function startAdmission(
  answer: (res: ServerResponse) => void = () => {},
  { tookMs = WHOLE_TURN_MS, proxyHops = 0, readMs = 0 } = {},
) {
  const begun: Begun[] = [];
  const shed: CostClass[] = [];
  const clock = { now: 0 };
  const work = new WorkTurns(() => clock.now);
  const admit = createLoadShedder({
    handle(req, res) {
      begun.push({ path: req.url ?? "", res });
      clock.now += tookMs;
      answer(res);
    },
    now: () => clock.now,
    proxyHops,
    work,
    onShed: (effort) => shed.push(effort),
  });
  const arrived: string[] = [];
  const server = createServer((req, res) => {
    arrived.push(req.url ?? "");
    if (req.url === "/new") clock.now += readMs;
    admit(req, res);
  }).listen(0, "127.0.0.1");
  server.on("connection", () => work.noteConnection());
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;

  /** Sends requests in one write, and collects the status codes of the responses. */
  async function send(...requests: readonly string[]): Promise<Sent> {
    const socket = connect(port, "127.0.0.1");
    let said = "";
    socket.on("data", (chunk) => {
      said += chunk;
    });
    socket.on("error", () => {});
    const wanted = arrived.length + requests.length;
    socket.write(requests.join(""));
    while (arrived.length < wanted) await turn();
    return { socket, statuses: () => Array.from(said.matchAll(/HTTP\/1\.1 (\d+)/g), ([, s]) => s) };
  }
  return { send, begun, shed, clock, arrived, port };
}

type Admission = Awaited<ReturnType<typeof startAdmission>>;

interface Sent {
  readonly socket: Socket;
  statuses(): readonly (string | undefined)[];
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

/** A request of a client behind the proxy. */
const getFrom = (address: string, path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${address}\r\n\r\n`;

const post = (path: string, body = ""): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

const some = (count: number, request: string): readonly string[] =>
  Array.from({ length: count }, () => request);

/** Runs the event loop until the condition is true. */
async function settle(isDone: () => boolean): Promise<void> {
  while (!isDone()) await turn();
}

describe("admission control", () => {
  it("starts a request immediately when no other request is waiting", async () => {
    const { send, begun } = await startAdmission((res) => res.end());
    await send(get("/api/signals"));
    expect(begun.map(({ path }) => path)).toEqual(["/api/signals"]);
  });

  it("starts several requests in one turn of the event loop if they fit", async () => {
    const { send, begun } = await startAdmission((res) => res.end(), { tookMs: 1 });
    await send(...some(20, get("/a")));
    expect(begun).toHaveLength(WHOLE_TURN_MS);
    await turn();
    expect(begun.length).toBeLessThanOrEqual(2 * WHOLE_TURN_MS);
    await settle(() => begun.length === 20);
  });

  it("starts at most eight queued requests per turn, however short they are", async () => {
    const started = await startAdmission(
      (res) => {
        if (started.begun.length === 1) started.clock.now += WHOLE_TURN_MS;
        res.end();
      },
      { tookMs: 0 },
    );
    const { send, begun } = started;
    await send(...some(50, get("/a")));
    for (let seen = begun.length; begun.length < 50; seen = begun.length) {
      await turn();
      expect(begun.length - seen).toBeLessThanOrEqual(8);
    }
  });

  it("starts one slow request per turn, in order of arrival", async () => {
    const { send, begun } = await startAdmission((res) => res.end());
    const paths = Array.from({ length: 20 }, (_, at) => `/${at}`);
    await send(...paths.map(get));
    // The first request started on arrival, and each of the others waits for a turn of its own.
    expect(begun).toHaveLength(1);
    await settle(() => begun.length === 20);
    expect(begun.map(({ path }) => path)).toEqual(paths);
  });

  it("leaves one turn for I/O between two slow requests", async () => {
    const { send, begun } = await startAdmission((res) => res.end());
    await send(...some(5, get("/a")));
    for (let seen = begun.length; begun.length < 5; seen = begun.length) {
      await turn();
      expect(begun.length - seen).toBeLessThanOrEqual(1);
    }
  });

  /** Has 40 clients connect and send a request each. @returns When all have arrived. */
  function startNewcomers({ arrived, port }: Pick<Admission, "arrived" | "port">): Promise<void> {
    const sockets = Array.from({ length: 40 }, () => connect(port, "127.0.0.1"));
    onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
    for (const socket of sockets) socket.write(get("/new"));
    return settle(() => arrived.filter((path) => path === "/new").length === 40);
  }

  /** Number of requests that start while 40 clients connect and send a request each. */
  async function countStartsMeanwhile({ readMs = 0, waiting = 90 } = {}): Promise<number> {
    const started = await startAdmission((res) => res.end(), { readMs });
    const { send, begun, arrived } = started;
    await send(...some(waiting, get("/waiting")));
    const all = startNewcomers(started);
    await settle(() => arrived.includes("/new"));
    const before = begun.length;
    await all;
    return begun.length - before;
  }

  it("accepts all connections that wait before it starts the next request", async () => {
    expect(await countStartsMeanwhile()).toBeLessThanOrEqual(4);
  });

  it("accepts all connections that wait although no request waits yet", async () => {
    expect(await countStartsMeanwhile({ waiting: 0 })).toBeLessThanOrEqual(4);
  });

  it("starts requests between new connections that take long", async () => {
    expect(await countStartsMeanwhile({ readMs: WHOLE_TURN_MS })).toBeGreaterThan(4);
  });

  it.each(["/api/health", "/livez", "/readyz", "/api/health?a=b"])(
    "starts at most three queued requests before the health check %s",
    async (path) => {
      const { send, begun } = await startAdmission();
      await send(...some(300, get("/a")), get(path));
      await settle(() => begun.some((one) => one.path === path));
      expect(begun.length).toBeLessThanOrEqual(3);
    },
  );

  it("does not starve queued requests when many health checks arrive", async () => {
    const { send, begun } = await startAdmission((res) => res.end());
    await send(...some(100, get("/api/health")), ...some(10, get("/a")));
    await settle(() => begun.filter(({ path }) => path === "/a").length === 10);
    expect(begun.length).toBeLessThan(25);
  });

  it("starts fast requests before slow ones, at most eight in a row", async () => {
    const { send, begun } = await startAdmission((res) => res.end());
    const slow = [post("/oauth/token"), get("/api/signals?limit=500"), post("/api/apply")];
    await send(get("/first"), ...slow, ...some(20, get("/quick")), ...some(2, post("/mcp?x")));
    await settle(() => begun.length === 26);
    const order = begun.map(({ path }) => (/quick|mcp|first/.test(path) ? "q" : "S")).join("");
    expect(order).toBe("qqqqqqqqSqqqqqqqqSqqqqqqqS");
  });

  /** Starts a load shedder that has learned the duration `tookMs` of each request. */
  async function startBusy(
    request: string,
    { tookMs = 20, proxyHops = 0, answer = (res: ServerResponse) => void res.end() } = {},
  ) {
    const started = await startAdmission(answer, { tookMs, proxyHops });
    for (const count of [50, 100, 150, 200]) {
      await started.send(...some(50, request));
      await settle(() => started.begun.length === count);
    }
    return started;
  }

  it("keeps 100 queued requests, and rejects further requests at once if they would wait too long", async () => {
    const { send, shed } = await startBusy(get("/a"));
    const late = await send(...some(300, get("/b")));
    // In 1,500 ms the load shedder starts 75 requests or slightly more.
    expect(shed).toEqual(some(199, "quick"));
    await settle(() => late.statuses().length === 300);
    expect(late.statuses().filter((status) => status === "503")).toHaveLength(shed.length);
  });

  it("reserves capacity for the fast class when the slow class is overloaded", async () => {
    const { send, begun, shed } = await startBusy(post("/oauth/token"));
    await send(...some(300, post("/oauth/token")), get("/a"));
    expect(new Set(shed)).toEqual(new Set(["slow"]));
    await settle(() => begun.some(({ path }) => path === "/a"));
    expect(begun.length).toBeLessThan(205);
  });

  it("rejects fewer requests when the requests of a class take less time", async () => {
    const { send, shed } = await startBusy(get("/a"), { tookMs: 10 });
    await send(...some(300, get("/b")));
    // In 1,500 ms the load shedder starts 150 requests or slightly more.
    expect(shed.length).toBeGreaterThan(120);
    expect(shed.length).toBeLessThan(150);
  });

  it("rejects no requests after a single request that took two seconds", async () => {
    const { send, begun, shed, clock } = await startAdmission((res) => {
      clock.now += begun.length === 3 ? 2_000 : 1;
      res.end();
    });
    await send(...some(10, get("/a")));
    await settle(() => begun.length === 10);
    await send(...some(500, get("/b")));
    expect(shed).toEqual([]);
  });

  it("rejects requests that have waited too long", async () => {
    const { send, begun, shed, clock } = await startAdmission();
    // No request is answered, as when the database does not respond.
    const sent = await send(...some(300, get("/a")));
    await settle(() => begun.length === 200);
    clock.now += 3_000;
    await settle(() => shed.length === 100);
    for (const { res } of begun) res.end();
    await settle(() => sent.statuses().length === 300);
    expect(sent.statuses().slice(200)).toEqual(some(100, "503"));
  });

  it("runs at most 200 requests of a network at a time, and starts another for each that is answered", async () => {
    const { send, begun } = await startAdmission();
    await send(...some(250, get("/a")));
    await settle(() => begun.length === 200);
    for (let turns = 0; turns < 50; turns++) await turn();
    expect(begun).toHaveLength(200);
    for (const { res } of begun.slice(0, 30)) res.end();
    await settle(() => begun.length === 230);
  });

  it("runs requests of others while 50 networks have as many fetches under way as they may have, which no host answers", async () => {
    const { send, begun } = await startAdmission(() => {}, { proxyHops: 1 });
    const { network, total } = concurrencyClasses.fetches;
    const waiting = Array.from({ length: total / network }, (_, at) =>
      some(network, getFrom(`198.51.${at}.1`, "/oauth/authorize?client_id=https:")),
    );
    await send(...waiting.flat());
    await settle(() => begun.length === total);
    await send(getFrom("203.0.113.7", "/oauth/token"));
    await settle(() => begun.length === total + 1);
    expect(begun.at(-1)?.path).toBe("/oauth/token");
  });

  it("leaves room for others beside ten networks that run as much as they can, and runs 500 requests in all", async () => {
    const { send, begun } = await startAdmission(() => {}, { proxyHops: 1, tookMs: 1 });
    const paths = Array.from({ length: 10 }, (_, at) => `/greedy/${at}`);
    const greedy = paths.map((path, at) => some(200, getFrom(`198.51.${at}.1`, path)));
    await send(...greedy.flat());
    await settle(() => begun.length >= 370);
    const newcomers = Array.from({ length: 150 }, (_, at) => getFrom(`203.0.${at}.1`, "/new"));
    await send(...newcomers);
    await settle(() => begun.length === 500);
    for (let turns = 0; turns < 50; turns++) await turn();
    expect(begun).toHaveLength(500);
    // Ten networks that begin at the same instant have 37 each, because 200 (130/300)² is 37.6.
    expect(begun.filter(({ path }) => path === "/new").length).toBeGreaterThan(80);
    for (const path of paths)
      expect(begun.filter((one) => one.path === path).length).toBeGreaterThan(9);
  });

  it("counts neither streams nor requests with an incomplete body as running", async () => {
    const { send, begun } = await startAdmission((res) => {
      if (res.req.method === "GET") res.flushHeaders();
      else res.req.resume();
    });
    const slow = "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\na";
    for (let each = 0; each < 250; each++) await send(slow);
    await send(...some(250, get("/stream")));
    await settle(() => begun.length === 500);
  });

  it("counts a request as running once its body is complete", async () => {
    const { send, begun } = await startAdmission((res) => res.req.resume());
    await send(...some(250, post("/mcp", "hello")));
    await settle(() => begun.length === 200);
    for (let turns = 0; turns < 50; turns++) await turn();
    expect(begun.length).toBeLessThan(210);
  });

  /** Sends 40 bodies except their last byte. @returns How many have ended, and the connections. */
  async function startBodies() {
    const bodies = { ended: 0 };
    const started = await startAdmission(
      (res) => {
        if (res.req.method === "GET") res.end();
        res.req.resume().once("end", () => {
          if (res.req.method === "GET") return;
          bodies.ended += 1;
          started.clock.now += WHOLE_TURN_MS;
        });
      },
      { tookMs: 0 },
    );
    const slow = "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell";
    const sockets: Socket[] = [];
    for (let each = 0; each < 40; each++) sockets.push((await started.send(slow)).socket);
    return { ...started, bodies, sockets };
  }

  it("lets bodies that end at the same moment end in several turns", async () => {
    const { bodies, sockets } = await startBodies();
    for (const socket of sockets) socket.write("o");
    let most = 0;
    for (let before = 0; bodies.ended < 40; before = bodies.ended) {
      await turn();
      most = Math.max(most, bodies.ended - before);
    }
    expect(most).toBeLessThan(10);
  });

  it("takes a body that comes with its header in the turn in which the request starts", async () => {
    const order: string[] = [];
    const { send } = await startAdmission((res) => {
      setImmediate(() => order.push("next turn"));
      res.req.resume().once("end", () => {
        order.push("end of the body");
        res.end();
      });
    });
    const { statuses } = await send(post("/oauth/token", "hello"));
    await settle(() => statuses().length === 1);
    expect(order).toEqual(["end of the body", "next turn"]);
  });

  it("accepts all connections that wait before bodies that end at the same moment", async () => {
    const started = await startBodies();
    const { bodies, sockets } = started;
    for (const socket of sockets) socket.write("o");
    await startNewcomers(started);
    expect(bodies.ended).toBeLessThan(10);
    await settle(() => bodies.ended === 40);
  });

  it("does not start a request whose client has disconnected", async () => {
    const { send, begun } = await startAdmission();
    const gone = await send(...some(260, get("/gone")));
    await settle(() => begun.length === 200);
    const there = await send(get("/there"));
    gone.socket.destroy();
    await settle(() => begun.length === 201);
    expect(begun.at(-1)?.path).toBe("/there");
    expect(there.socket.destroyed).toBe(false);
  });

  it("queues at most 5,000 requests per class", async () => {
    const { send, shed } = await startAdmission();
    await send(...some(5_300, get("/a")));
    expect(shed.length).toBeGreaterThanOrEqual(50);
  });

  it("stops reading from a rejected connection until its retry time", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { send, shed, arrived } = await startBusy(get("/a"));
    const refused = await send(...some(300, get("/a")));
    await settle(() => refused.statuses().length === 300);
    expect(shed).toContain("quick");
    refused.socket.write(get("/again"));
    // Requests of other clients are still read.
    for (let each = 0; each < 20; each++) await send(get("/other"));
    expect(arrived).not.toContain("/again");
    vi.advanceTimersByTime(3_000);
    await settle(() => arrived.includes("/again"));
  });

  it("neither queues nor answers what was read from a connection before it was closed", async () => {
    const { send, begun, shed } = await startBusy(get("/a"), {
      answer: (res) => void (res.req.url === "/flood" ? res.req.socket.destroy() : res.end()),
    });
    const before = begun.length;
    await send(...some(300, get("/flood")));
    expect(begun).toHaveLength(before + 1);
    expect(shed).toEqual([]);
  });

  it("continues to read from a proxy, because the connection carries requests of other clients", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { send, shed, arrived } = await startBusy(get("/a"), { proxyHops: 1 });
    const refused = await send(...some(300, get("/a")));
    await settle(() => refused.statuses().length === 300);
    expect(shed).toContain("quick");
    refused.socket.write(get("/of-somebody-else"));
    await settle(() => arrived.includes("/of-somebody-else"));
  });

  it("lets networks take turns, however many requests of one of them wait", async () => {
    const { send, begun } = await startAdmission((res) => res.end(), { proxyHops: 1 });
    const flood = Array.from({ length: 200 }, (_, at) => getFrom(`198.51.100.${at}`, "/flood"));
    await send(...flood, getFrom("203.0.113.7", "/one"), getFrom("203.0.113.8", "/two"));
    await settle(() => begun.length === 202);
    const paths = begun.map(({ path }) => path);
    // The first request of the flood started on arrival.
    expect(paths.slice(0, 6)).toEqual(["/flood", "/flood", "/one", "/flood", "/two", "/flood"]);
  });

  it("rejects the newest request of the network of which most wait, in place of one of which none waits", async () => {
    const busy = await startBusy(getFrom("198.51.100.1", "/a"), { proxyHops: 1 });
    const flood = some(300, getFrom("198.51.100.2", "/flood"));
    const others = [7, 8, 9].map((at) => getFrom(`203.0.${at}.1`, "/other"));
    const { statuses } = await busy.send(...flood, ...others, ...flood);
    await settle(() => statuses().length === 603);
    expect(statuses().slice(300, 303)).toEqual(["200", "200", "200"]);
    // 100 of the first 300 could wait; the newest three of them made room.
    expect(statuses().slice(0, 98)).toEqual(some(98, "200"));
    expect(statuses().slice(98, 300)).toEqual(some(202, "503"));
  });

  it("shares what it answers between two networks that both send too much", async () => {
    const busy = await startBusy(getFrom("198.51.100.1", "/a"), { proxyHops: 1 });
    const [one, other] = [getFrom("198.51.100.2", "/one"), getFrom("203.0.113.2", "/other")];
    const { statuses } = await busy.send(...some(300, one), ...some(300, other));
    await settle(() => statuses().length === 600);
    const answered = (from: number) =>
      statuses()
        .slice(from, from + 300)
        .filter((status) => status === "200").length;
    expect(answered(300)).toBeGreaterThan(45);
    expect(Math.abs(answered(0) - answered(300))).toBeLessThan(5);
  });

  it.each([
    ...["/api/signals?limit=100", "/api/signals?limit=0000000500", "/api/signals?a=b&limit=1e3"],
    ...["/api/signals?%6cimit=500", "/api/signals?limit=%35%30%30", "/api/signals?limit="],
  ])("classifies %s as a slow request for a large page", async (path) => {
    const { send, begun } = await startAdmission((res) => res.end());
    await send(get("/first"), get(path), ...some(7, get("/quick")));
    await settle(() => begun.length === 9);
    expect(begun.at(-1)?.path).toBe(path);
  });

  it.each(["/market/ALDER.SIM", "/market/ALDER.SIM/history.csv", "/?q=a", "/MARKET/x"])(
    "classifies the page %s as a slow request",
    async (path) => {
      const { send, begun } = await startAdmission((res) => res.end());
      await send(get("/first"), get(path), ...some(7, get("/")));
      await settle(() => begun.length === 9);
      expect(begun.at(-1)?.path).toBe(path);
    },
  );

  it("classifies a request for less than 100 items as fast", async () => {
    const { send, begun } = await startAdmission((res) => res.end());
    await send(get("/first"), get("/api/signals?limit=99&a=b"), ...some(7, get("/quick")));
    await settle(() => begun.length === 9);
    expect(begun[1]?.path).toBe("/api/signals?limit=99&a=b");
  });

  it("responds to OAuth clients with OAuth error codes", async () => {
    const { send, begun, clock } = await startAdmission();
    await send(...some(200, post("/oauth/token")));
    await settle(() => begun.length === 200);
    const { socket } = await send(post("/oauth/token"));
    clock.now += 3_000;
    const [said] = await once(socket, "data");
    expect(String(said)).toMatch(/^HTTP\/1\.1 503 .*\r\nRetry-After: \d+\r\n/s);
    expect(String(said)).toContain('"error":"temporarily_unavailable"');
    expect(String(said)).toContain('"code":"overloaded"');
  });
});
