import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer, type Server } from "node:net";
import { gzipSync } from "node:zlib";
import { Agent } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  createGuardedFetch,
  type GuardedFetchOptions,
  OutboundError,
} from "../../../src/outbound/guarded-fetch.ts";
import { createCertificate } from "../../support/certificate.ts";
import { privateAddresses, privateHosts } from "./hosts.ts";

/** Address of the permitted servers. 127.0.0.1 is the forbidden address. */
const FRIEND = "127.0.0.2";
const isAllowed = (address: string) => address === FRIEND;

async function listen(server: Server, host?: string, port = 0): Promise<number> {
  onTestFinished(() => void server.close());
  server.listen(port, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** A server that listens on every address of this machine and counts its connections. */
async function trap() {
  const hits: string[] = [];
  const server = createServer((socket) => {
    hits.push(socket.localAddress ?? "?");
    socket.on("error", () => undefined);
    socket.destroy();
  });
  return { hits, port: await listen(server) };
}

/** Starts a server at the permitted address. @returns Its port. */
async function friend(listener: RequestListener): Promise<number> {
  return listen(createHttpServer(listener), FRIEND);
}

function guarded(options: GuardedFetchOptions = {}) {
  const { fetch, close } = createGuardedFetch({
    schemes: ["https:", "http:"],
    isAllowed,
    lookup: async () => [FRIEND],
    ...options,
  });
  onTestFinished(close);
  return fetch;
}

/** Returns the internal reason of a failed fetch, which callers do not see. */
async function reasonOf(answer: Promise<Response>): Promise<string> {
  const error: unknown = await answer.then(
    () => "it was fetched",
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(OutboundError);
  expect(String(error)).toBe("OutboundError: The address could not be fetched.");
  const reasons: string[] = [];
  for (let at = (error as Error).cause; at instanceof Error; at = at.cause)
    reasons.push(at.message);
  return reasons.join("; ");
}

describe("a guarded fetch to a host that is not public never connects", () => {
  it("whatever the notation of the host", async () => {
    const { hits, port } = await trap();
    // The lookup acts like a resolver that resolves every host name to a private address.
    const fetch = guarded({ isAllowed: () => false, lookup: async () => ["127.0.0.1"] });
    for (const host of privateHosts) {
      for (const scheme of ["http", "https"]) await reasonOf(fetch(`${scheme}://${host}:${port}/`));
    }
    expect(hits).toEqual([]);
  });

  it("although an unguarded fetch reaches the same server", async () => {
    const { hits, port } = await trap();
    const fetch = guarded({ isAllowed: () => true, isAllowedName: () => true });
    await reasonOf(fetch(`http://127.1:${port}/`));
    await reasonOf(fetch(`http://0x7f.1:${port}/`));
    await reasonOf(fetch(`http://localhost:${port}/`));
    expect(hits).toHaveLength(3);
  });

  it.each(["http", "https"])(
    "when a public name resolves to a private address, over %s",
    async (scheme) => {
      const { hits, port } = await trap();
      for (const address of privateAddresses) {
        const fetch = guarded({ lookup: async () => [address] });
        const reason = await reasonOf(fetch(`${scheme}://agent.example.com:${port}/`));
        expect(reason, address).toContain("not public");
      }
      expect(hits).toEqual([]);
    },
  );

  it.each([
    ["the first of two", ["127.0.0.1", FRIEND]],
    ["the last of two", [FRIEND, "127.0.0.1"]],
    ["in the other address family", [FRIEND, "::1"]],
    ["between public addresses", ["93.184.216.34", "127.0.0.1", "2606:4700:4700::1111"]],
  ])("when a host has several addresses and the private address is %s", async (_, addresses) => {
    const { hits, port } = await trap();
    const fetch = guarded({ lookup: async () => addresses });
    expect(await reasonOf(fetch(`http://a.example.com:${port}/`))).toContain("not public");
    expect(hits).toEqual([]);
  });

  it("when a name resolves to a private address on a later lookup (DNS rebinding)", async () => {
    const port = await friend((_req, res) => void res.end("hello"));
    const hits: unknown[] = [];
    await listen(
      createServer((socket) => void hits.push(socket.destroy())),
      "127.0.0.1",
      port,
    );
    const answers = [[FRIEND], ["127.0.0.1"], [FRIEND, "127.0.0.1"], [FRIEND]];
    let lookups = 0;
    const fetch = guarded({ lookup: async () => answers[lookups++] ?? [] });
    const url = `http://rebound.example.com:${port}/`;
    expect(await (await fetch(url)).text()).toBe("hello");
    expect(await reasonOf(fetch(url))).toContain("127.0.0.1, which is not public");
    expect(await reasonOf(fetch(url))).toContain("127.0.0.1, which is not public");
    // Each connection looks its name up once, and never uses an earlier result.
    expect(await (await fetch(url)).text()).toBe("hello");
    expect([lookups, hits]).toEqual([4, []]);
  });

  it.each([301, 302, 303, 307, 308])("when it is the target of a %d redirect", async (status) => {
    const { hits, port: trapPort } = await trap();
    const targets = [`http://127.0.0.1:${trapPort}/`, `http://[::1]:${trapPort}/`, "http://a.b/"];
    const port = await friend((req, res) => {
      res.writeHead(status, { location: targets[Number(req.url?.slice(1))] }).end();
    });
    const fetch = guarded();
    for (const at of targets.keys()) {
      const url = `http://agent.example.com:${port}/${at}`;
      await reasonOf(fetch(url));
      await reasonOf(fetch(url, { redirect: "follow" }));
      await reasonOf(fetch(url, { redirect: "error" }));
      const shown = await fetch(url, { redirect: "manual" });
      expect([shown.status, shown.headers.get("location")]).toEqual([status, targets[at]]);
    }
    expect(hits).toEqual([]);
  });

  it("when the caller passes its own dispatcher", async () => {
    const { hits, port } = await trap();
    const dispatcher = new Agent();
    onTestFinished(() => dispatcher.close());
    const fetch = guarded({ lookup: async () => ["127.0.0.1"] });
    const init: object = { dispatcher };
    await reasonOf(fetch(`http://agent.example.com:${port}/`, init));
    await reasonOf(fetch(`http://127.0.0.1:${port}/`, init));
    expect(hits).toEqual([]);
  });

  it("and does not look up names that cannot be public", async () => {
    const asked: string[] = [];
    const lookup = async (name: string) => {
      asked.push(name);
      return [];
    };
    const fetch = guarded({ lookup });
    const urls = ["http://router/", "http://a.internal/", "ftp://a.com/", "http://u:p@a.com/"];
    for (const url of urls) await reasonOf(fetch(url));
    expect(asked).toEqual([]);
    expect(await reasonOf(fetch("http://agent.example.com/"))).toContain("has no address");
    expect(asked).toEqual(["agent.example.com"]);
  });
});

describe("a guarded fetch", () => {
  it("sends method, headers and body, and returns status, headers and body", async () => {
    const port = await friend(async (req, res) => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk);
      res.writeHead(201, { "content-type": "text/plain", "x-method": req.method });
      res.end(`${req.headers["x-mine"]} ${Buffer.concat(chunks)}`);
    });
    const init = { method: "POST", headers: new Headers({ "x-mine": "1" }), body: "text" };
    const answer = await guarded()(new URL(`http://agent.example.com:${port}/`), init);
    expect([answer.status, answer.headers.get("x-method")]).toEqual([201, "POST"]);
    expect(await answer.text()).toBe("1 text");
  });

  it("requires a trusted certificate that is valid for the host", async () => {
    const ours = createCertificate("agent.example.com");
    const server = createHttpsServer(ours, (_req, res) => void res.end("safe"));
    const port = await listen(server, FRIEND);
    const url = `https://agent.example.com:${port}/`;
    const fetch = guarded({ schemes: ["https:"], ca: ours.cert });
    expect(await (await fetch(url)).text()).toBe("safe");
    expect(await reasonOf(fetch(`https://other.example.com:${port}/`))).toContain("altnames");
    expect(await reasonOf(guarded()(url))).toMatch(/self-signed/);
    expect(await reasonOf(fetch(url.replace("https", "http")))).toContain("begin with https://");
  });

  it.each<[string, RequestListener]>([
    ["with a Content-Length header", (_req, res) => void res.end("a".repeat(1001))],
    [
      "without a Content-Length header",
      (_req, res) => {
        res.write("a".repeat(600));
        res.end("a".repeat(600));
      },
    ],
    [
      "compressed with gzip",
      (_req, res) => {
        res.setHeader("content-encoding", "gzip");
        res.end(gzipSync("a".repeat(100_000)));
      },
    ],
  ])("rejects a body that exceeds the size limit, %s", async (_, listener) => {
    const port = await friend(listener);
    const fetch = guarded({ maxBytes: 1000 });
    const reason = await reasonOf(fetch(`http://agent.example.com:${port}/`));
    expect(reason).toMatch(/more than 1000 bytes|exceeded/i);
  });

  it("accepts a body of exactly the size limit", async () => {
    const port = await friend((_req, res) => void res.end("a".repeat(1000)));
    const answer = await guarded({ maxBytes: 1000 })(`http://agent.example.com:${port}/`);
    expect(await answer.text()).toHaveLength(1000);
  });

  it.each<[string, RequestListener]>([
    ["the headers never arrive", () => undefined],
    ["the body never ends", (_req, res) => void res.writeHead(200).write("a")],
    [
      "the body arrives byte by byte without end",
      (_req, res) => {
        const timer = setInterval(() => res.write("a"), 10);
        res.on("close", () => clearInterval(timer));
      },
    ],
  ])("times out when %s", async (_, listener) => {
    const port = await friend(listener);
    const reason = await reasonOf(guarded({ totalMs: 100 })(`http://agent.example.com:${port}/`));
    expect(reason).toContain("timeout");
  });

  it("times out when the name lookup or the TLS handshake hangs", async () => {
    const port = await listen(
      createServer(() => undefined),
      FRIEND,
    );
    const slow = guarded({ totalMs: 100, lookup: () => new Promise(() => undefined) });
    expect(await reasonOf(slow(`http://agent.example.com:${port}/`))).toContain("timeout");
    const silent = guarded({ totalMs: 100 });
    expect(await reasonOf(silent(`https://agent.example.com:${port}/`))).toContain("timeout");
  });

  it("stops when its caller aborts it or when it is closed", async () => {
    const port = await friend(() => undefined);
    const { fetch, close } = createGuardedFetch({
      schemes: ["http:"],
      isAllowed,
      lookup: async () => [FRIEND],
    });
    const url = `http://agent.example.com:${port}/`;
    expect(await reasonOf(fetch(url, { signal: AbortSignal.timeout(50) }))).toContain("timeout");
    const pending = reasonOf(fetch(url));
    await close();
    expect(await pending).not.toBe("");
    await reasonOf(fetch(url));
  });

  it("does not reuse connections, and opens at most four to one host at a time", async () => {
    let open = 0;
    let most = 0;
    const server = createHttpServer((_req, res) => void setTimeout(() => res.end("a"), 20));
    server.on("connection", (socket) => {
      open += 1;
      most = Math.max(most, open);
      socket.on("close", () => {
        open -= 1;
      });
    });
    const url = `http://agent.example.com:${await listen(server, FRIEND)}/`;
    const fetch = guarded();
    await Promise.all(Array.from({ length: 20 }, async () => (await fetch(url)).text()));
    expect(most).toBeLessThanOrEqual(4);
    await expect.poll(() => open).toBe(0);
  });
});
