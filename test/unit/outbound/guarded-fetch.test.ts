import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer, type LookupFunction } from "node:net";
import { gzipSync } from "node:zlib";
import { Agent } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  createGuardedFetch,
  type GuardedFetchOptions,
} from "../../../src/outbound/guarded-fetch.ts";
import { listenForTest } from "../../support/local-server.ts";
import { refusal } from "./refusal.ts";

/** Address of the permitted servers. */
const FRIEND = "127.0.0.2";
const isAllowed = (address: string) => address === FRIEND;

/** Starts a server at the permitted address. @returns Its port. */
async function friend(listener: RequestListener): Promise<number> {
  return listenForTest(createHttpServer(listener), FRIEND);
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

describe("a guarded fetch", () => {
  it("ignores a dispatcher that its caller passes", async () => {
    const asked: unknown[] = [];
    const port = await friend((req, res) => void res.end(`${asked.push(req.url)}`));
    const lookup: LookupFunction = (_name, _options, callback) =>
      callback(null, [{ address: FRIEND, family: 4 }]);
    const dispatcher = new Agent({ connect: { lookup } });
    onTestFinished(() => dispatcher.close());
    const init: object = { dispatcher };
    const fetch = guarded({ lookup: async () => ["127.0.0.1"] });
    await refusal(fetch(`http://agent.example.com:${port}/`, init));
    expect(asked).toEqual([]);
  });

  it("fails at a redirect unless it is to return it", async () => {
    const asked: unknown[] = [];
    const port = await friend((req, res) => {
      asked.push(req.url);
      res.writeHead(302, { location: "/elsewhere" }).end();
    });
    const url = `http://agent.example.com:${port}/`;
    const fetch = guarded();
    for (const redirect of [undefined, "follow", "error"] as const) {
      await refusal(fetch(url, redirect && { redirect }));
    }
    const shown = await fetch(url, { redirect: "manual" });
    expect([shown.status, shown.headers.get("location")]).toEqual([302, "/elsewhere"]);
    expect(asked).toEqual(["/", "/", "/", "/"]);
  });

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
    const reason = await refusal(fetch(`http://agent.example.com:${port}/`));
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
    const reason = await refusal(guarded({ totalMs: 100 })(`http://agent.example.com:${port}/`));
    expect(reason).toContain("timeout");
  });

  it("times out when the name lookup or the TLS handshake hangs", async () => {
    const port = await listenForTest(
      createServer(() => undefined),
      FRIEND,
    );
    const slow = guarded({ totalMs: 100, lookup: () => new Promise(() => undefined) });
    expect(await refusal(slow(`http://agent.example.com:${port}/`))).toContain("timeout");
    const silent = guarded({ totalMs: 100 });
    expect(await refusal(silent(`https://agent.example.com:${port}/`))).toContain("timeout");
  });

  it("stops when its caller aborts it or when it is closed", async () => {
    const port = await friend(() => undefined);
    const { fetch, close } = createGuardedFetch({
      schemes: ["http:"],
      isAllowed,
      lookup: async () => [FRIEND],
    });
    const url = `http://agent.example.com:${port}/`;
    expect(await refusal(fetch(url, { signal: AbortSignal.timeout(50) }))).toContain("timeout");
    const pending = refusal(fetch(url));
    await close();
    expect(await pending).not.toBe("");
    await refusal(fetch(url));
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
    const url = `http://agent.example.com:${await listenForTest(server, FRIEND)}/`;
    const fetch = guarded();
    await Promise.all(Array.from({ length: 20 }, async () => (await fetch(url)).text()));
    expect(most).toBeLessThanOrEqual(4);
    await expect.poll(() => open).toBe(0);
  });
});
