import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createWebhookSender } from "../../../src/alerts/delivery/sender.ts";
import type { GuardedDispatcherOptions } from "../../../src/outbound/guarded-dispatcher.ts";
import { createGuardedFetch } from "../../../src/outbound/guarded-fetch.ts";
import { createWebhookPolicy } from "../../../src/outbound/webhook-policy.ts";
import { createCertificate } from "../../support/certificate.ts";
import { disguisedUrls, privateAddresses, privateHosts } from "./hosts.ts";
import { refusal } from "./refusal.ts";

/** Addresses of trap servers, which must never receive a connection. */
const TRAPS = ["127.0.0.1", "127.0.0.2", "::1"];

/** Address of a server that may receive connections, on the same port as the traps. */
const FRIEND = "127.0.0.3";

/** An ordinary host name; each test determines the addresses to which it resolves. */
const NAME = "hooks.example.com";

/** Connections that reached a trap. */
const hits: string[] = [];
/** Paths that were requested from the permitted server. */
const asked: string[] = [];
const servers: Server[] = [];
let port = 0;

beforeAll(async () => {
  const friend = createHttpServer((req, res) => {
    asked.push(req.url ?? "");
    const [, status, target = ""] = /^\/redirect\/(\d+)\/(.*)$/.exec(req.url ?? "") ?? [];
    if (status === undefined) res.end("friend");
    else res.writeHead(Number(status), { location: decodeURIComponent(target) }).end();
  });
  // A port that is free at every address.
  const first = createServer();
  port = await listen(first, "::", 0);
  await new Promise((resolve) => first.close(resolve));
  await listen(friend, FRIEND, port);
  for (const address of TRAPS) {
    const trap = createServer((socket) => {
      hits.push(address);
      socket.on("error", () => undefined).destroy();
    });
    await listen(trap, address, port);
  }
});
afterEach(() => {
  asked.length = 0;
  expect(hits.splice(0)).toEqual([]);
});
afterAll(() => {
  for (const server of servers) server.close();
});

async function listen(server: Server, host: string, at: number): Promise<number> {
  servers.push(server.listen(at, host));
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Requests a URL. */
type Ask = (url: string) => Promise<{ readonly status: number; readonly body: string }>;

/** The clients that request URLs of callers; each is closed when the test ends. */
const clients: Readonly<Record<string, (options: GuardedDispatcherOptions) => Ask>> = {
  "the webhook sender": (options) => {
    const { send, close } = createWebhookSender({ ...options, now: Date.now });
    onTestFinished(close);
    return (url) => send({ url, headers: {}, body: "{}" });
  },
  "the guarded fetch": (options) => {
    const { fetch, close } = createGuardedFetch(options);
    onTestFinished(close);
    return async (url) => {
      const answer = await fetch(url, { method: "POST", redirect: "manual" });
      return { status: answer.status, body: await answer.text() };
    };
  },
};

describe("the test server for SSRF", () => {
  it("is reachable, and detects connections of an unguarded client", async () => {
    for (const address of TRAPS) await once(connect(port, address), "close");
    expect(hits.splice(0)).toEqual(TRAPS);
    const isHere = /^(127\.|0\.0\.0\.0$|localhost$|\[(::1?|::ffff:7f00:1)\]$)/;
    const near = privateHosts.filter((host) => {
      return isHere.test(URL.parse(`http://${host}/`)?.hostname ?? "") && !host.includes("255");
    });
    for (const host of near) await fetch(`http://${host}:${port}/`).catch(() => undefined);
    expect(hits.splice(0).length).toBeGreaterThanOrEqual(25);
  });
});

describe.each(Object.entries(clients))("%s", (_, open) => {
  /** Plain HTTP is allowed too, so that the scheme never provides the protection. */
  const client = (lookup: GuardedDispatcherOptions["lookup"], options = {}) =>
    open({
      schemes: ["https:", "http:"],
      isAllowed: (address) => address === FRIEND,
      ...(lookup && { lookup }),
      ...options,
    });

  it.each(["http", "https"])(
    "connects to no address that is not public in any spelling, over %s",
    async (scheme) => {
      const ask = client(async () => ["127.0.0.1"], { isAllowed: () => false });
      for (const host of privateHosts) {
        const reason = await refusal(ask(`${scheme}://${host}:${port}/`));
        expect(reason, host).toMatch(/not public|is not a URL/);
      }
      for (const url of disguisedUrls(port)) await refusal(ask(url));
    },
  );

  it.each(["http", "https"])(
    "connects to no such address through a host name, over %s",
    async (scheme) => {
      for (const address of [...TRAPS, ...privateAddresses]) {
        const ask = client(async () => [address]);
        expect(await refusal(ask(`${scheme}://${NAME}:${port}/`)), address).toContain("not public");
      }
    },
  );

  it.each([
    ["the first of two", ["127.0.0.1", FRIEND]],
    ["the last of two", [FRIEND, "127.0.0.2"]],
    ["in the other address family", [FRIEND, "::1"]],
    ["between public addresses", ["93.184.216.34", "127.0.0.1", "2606:4700:4700::1111"]],
    ["one of 301", [...Array(300).fill(FRIEND), "::1"]],
  ])(
    "does not connect when a host has several addresses and the one that is not public is %s",
    async (_place, addresses) => {
      const ask = client(async () => addresses);
      expect(await refusal(ask(`http://${NAME}:${port}/`))).toContain("not public");
    },
  );

  it("does not connect when the host name resolves to another address later", async () => {
    const answers = [[FRIEND], ["127.0.0.1"], [FRIEND, "::1"], [FRIEND], ["127.0.0.2"]];
    let lookups = 0;
    const ask = client(async () => answers[lookups++ % answers.length] ?? []);
    const outcomes: string[] = [];
    for (let at = 0; at < 10; at++) {
      const sent = ask(`http://${NAME}:${port}/`);
      outcomes.push(await sent.then(({ body }) => body).catch(() => "refused"));
    }
    const round = ["friend", "refused", "refused", "friend", "refused"];
    expect(outcomes).toEqual([...round, ...round]);
    // Each name is resolved once, so the checked address is the connected address.
    expect(lookups).toBe(10);
  });

  it("connects only to the public address when many requests run while the DNS record changes", async () => {
    let lookups = 0;
    const ask = client(async () => [lookups++ % 2 === 0 ? FRIEND : "127.0.0.1"]);
    const sent = Array.from({ length: 100 }, () => ask(`http://${NAME}:${port}/`));
    const outcomes = await Promise.allSettled(sent);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(50);
  });

  it.each([301, 302, 303, 307, 308])("does not follow a %d redirect", async (status) => {
    const ask = client(async () => [FRIEND]);
    const targets = [
      "/elsewhere",
      ...TRAPS.map(
        (address) => `http://${address.includes(":") ? `[${address}]` : address}:${port}/`,
      ),
      `http://localhost:${port}/`,
      `https://127.0.0.1:${port}/`,
      `//127.1:${port}/`,
    ];
    const paths = targets.map((target) => `/redirect/${status}/${encodeURIComponent(target)}`);
    for (const path of paths) {
      const answer = await ask(`http://${NAME}:${port}${path}`);
      expect(answer).toMatchObject({ status, body: "" });
    }
    expect(asked).toEqual(paths);
  });

  it("looks up no name that cannot be public, and refuses a name without an address", async () => {
    const names: string[] = [];
    const ask = client(async (name) => {
      names.push(name);
      return [];
    });
    const urls = ["http://router/", "http://a.internal/", "ftp://a.com/", "http://u:p@a.com/"];
    for (const url of urls) await refusal(ask(url));
    expect(names).toEqual([]);
    expect(await refusal(ask(`http://${NAME}/`))).toContain("has no address");
    expect(names).toEqual([NAME]);
  });

  it("requires a trusted certificate that is valid for the host", async () => {
    const ours = createCertificate(NAME);
    const server = createHttpsServer(ours, (_req, res) => void res.end("safe"));
    const url = `https://${NAME}:${await listen(server, FRIEND, 0)}/`;
    const lookup = async () => [FRIEND];
    const trusting = client(lookup, { schemes: ["https:"], ca: ours.cert });
    expect(await trusting(url)).toMatchObject({ body: "safe" });
    expect(await refusal(trusting(url.replace("hooks", "other")))).toContain("altnames");
    expect(await refusal(client(lookup)(url))).toMatch(/self-signed/);
    expect(await refusal(trusting(url.replace("https", "http")))).toContain("begin with https://");
  });

  it("may connect to this machine while ALLOW_INSECURE_WEBHOOKS is set, but to no other host of its network", async () => {
    const warn = () => undefined;
    const policy = createWebhookPolicy({ allowsInsecure: true, warn, lookup: async () => [] });
    expect(await open(policy)(`http://${FRIEND}:${port}/`)).toMatchObject({ body: "friend" });
    for (const address of privateAddresses.filter((each) => !/^(127\.\d|::1$)/.test(each))) {
      const ask = open({ ...policy, lookup: async () => [address] });
      expect(await refusal(ask(`http://${NAME}:${port}/`)), address).toContain("not public");
    }
  });
});
