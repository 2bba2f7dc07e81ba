import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import {
  createWebhookSender,
  type WebhookSenderOptions,
} from "../../src/alerts/delivery/sender.ts";
import { OutboundError } from "../../src/outbound/guarded-fetch.ts";
import { urlFault } from "../../src/outbound/url-policy.ts";
import { createWebhookPolicy } from "../../src/outbound/webhook-policy.ts";
import { privateAddresses, privateHosts } from "../unit/outbound/hosts.ts";

/** Addresses of trap servers, which must never receive a connection. */
const TRAPS = ["127.0.0.1", "127.0.0.2", "::1"];

/** Address of a webhook that may receive connections, on the same port as the traps. */
const FRIEND = "127.0.0.3";

/** An ordinary webhook host name; each test determines the addresses to which it resolves. */
const NAME = "hooks.example.com";

/** Connections that reached a trap. */
const hits: string[] = [];
const servers: Server[] = [];
let port = 0;

beforeAll(async () => {
  const friend = createHttpServer((req, res) => {
    const [, status, target = ""] = /^\/redirect\/(\d+)\/(.*)$/.exec(req.url ?? "") ?? [];
    if (status === undefined) res.end("friend");
    else res.writeHead(Number(status), { location: decodeURIComponent(target) }).end();
  });
  port = await listen(friend, FRIEND, 0);
  for (const address of TRAPS) {
    const trap = createServer((socket) => {
      hits.push(address);
      socket.on("error", () => undefined).destroy();
    });
    await listen(trap, address, port);
  }
});
afterEach(() => {
  expect(hits).toEqual([]);
});
afterAll(() => {
  for (const server of servers) server.close();
});

async function listen(server: Server, host: string, at: number): Promise<number> {
  servers.push(server.listen(at, host));
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/**
 * A webhook sender that also allows plain HTTP, so that the scheme never provides the protection.
 * It is closed when the test ends.
 */
function sender(
  lookup: WebhookSenderOptions["lookup"],
  options: Partial<WebhookSenderOptions> = {},
) {
  const { send, close } = createWebhookSender({
    schemes: ["https:", "http:"],
    isAllowed: (address) => address === FRIEND,
    ...(lookup && { lookup }),
    now: Date.now,
    ...options,
  });
  onTestFinished(close);
  return (url: string) => send({ url, headers: {}, body: "{}" });
}

/** Returns the internal reason why nothing was sent; the public error is always the same. */
async function refusal(sent: Promise<unknown>): Promise<string> {
  const error: unknown = await sent.then(
    () => new Error("it was answered"),
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(OutboundError);
  expect((error as Error).message).toBe("The address could not be fetched.");
  return String((error as Error).cause);
}

/** URLs that different parsers interpret as different hosts. */
const disguised = (): readonly string[] => [
  `https://${NAME}@127.0.0.1:${port}/`,
  `https://${NAME}:443@127.0.0.1:${port}/`,
  `https://127.0.0.1:${port}@${NAME}/`,
  `https://${NAME}%23@127.0.0.1:${port}/`,
  `https://127.0.0.1:${port}\\@${NAME}/`,
  `https://127.0.0.1:${port}#@${NAME}/`,
  `https://127.0.0.1:${port}?@${NAME}/`,
  `https://127.0.0.1:${port}/.${NAME}`,
  `https://127.0.0.1:${port}\\.${NAME}/`,
  `https://[::1]:${port}/@${NAME}`,
  `https:127.0.0.1:${port}/`,
  `https:/127.0.0.1:${port}/`,
  `https:\\\\127.0.0.1:${port}\\`,
  `https:////127.0.0.1:${port}/`,
  `  https://127.0.0.1:${port}/  `,
  `ht\ntps://127.\t0.0.1:${port}/`,
  `HTTPS://LOCALHOST:${port}/`,
  `https://127.0.0.1%2f@${NAME}:${port}/`,
  `https://127.0.0.1%00.${NAME}:${port}/`,
  `https://127.0.0.1%20.${NAME}:${port}/`,
  `https://${NAME}%40127.0.0.1:${port}/`,
  `//127.0.0.1:${port}/`,
  `127.0.0.1:${port}`,
  `ftp://127.0.0.1:${port}/`,
  `ws://127.0.0.1:${port}/`,
  `gopher://127.0.0.1:${port}/_POST`,
  `http+unix://%2Fvar%2Frun%2Fdocker.sock/`,
  "file:///etc/passwd",
  "data:application/json,{}",
  `blob:https://127.0.0.1:${port}/1`,
  `https://${NAME}:22/`,
  `https://${NAME}:25/`,
  `https://${NAME}:0/`,
];

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

describe("a webhook at a non-public address", () => {
  it("is rejected at registration in more than 60 spellings", () => {
    expect(new Set(privateHosts).size + disguised().length).toBeGreaterThan(100);
    const policy = createWebhookPolicy({ allowsInsecure: false, warn: () => undefined });
    const urls = [...privateHosts.map((host) => `https://${host}:${port}/`), ...disguised()];
    const registered = urls.filter((url) => urlFault(url, policy) === undefined);
    expect(registered).toEqual([]);
  });

  it.each(["http", "https"])(
    "receives no connection in any spelling of the address, over %s",
    async (scheme) => {
      const send = sender(async () => ["127.0.0.1"], { isAllowed: () => false });
      for (const host of privateHosts) {
        const reason = await refusal(send(`${scheme}://${host}:${port}/`));
        expect(reason, host).toMatch(/not public|is not a URL/);
      }
      for (const url of disguised()) await refusal(send(url));
    },
  );

  it.each(["http", "https"])(
    "receives no connection through a host name, over %s",
    async (scheme) => {
      for (const address of [...TRAPS, ...privateAddresses]) {
        const send = sender(async () => [address]);
        const reason = await refusal(send(`${scheme}://${NAME}:${port}/`));
        expect(reason, address).toContain("not public");
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
    "receives no connection when its host also has other addresses and the non-public address is %s",
    async (_, addresses) => {
      const send = sender(async () => addresses);
      expect(await refusal(send(`http://${NAME}:${port}/`))).toContain("not public");
    },
  );

  it("receives no connection when the host name resolves to another address later", async () => {
    const answers = [[FRIEND], ["127.0.0.1"], [FRIEND, "::1"], [FRIEND], ["127.0.0.2"]];
    let lookups = 0;
    const send = sender(async () => answers[lookups++ % answers.length] ?? []);
    const outcomes: string[] = [];
    for (let at = 0; at < 50; at++) {
      const sent = send(`http://${NAME}:${port}/`);
      outcomes.push(await sent.then(({ body }) => body).catch(() => "refused"));
    }
    const round = ["friend", "refused", "refused", "friend", "refused"];
    expect(outcomes).toEqual(Array(10).fill(round).flat());
    // Each name is resolved once, so the checked address is the connected address.
    expect(lookups).toBe(50);
  });

  it("receives no connection when many deliveries run while the DNS record changes", async () => {
    let lookups = 0;
    const send = sender(async () => [lookups++ % 2 === 0 ? FRIEND : "127.0.0.1"]);
    const sent = Array.from({ length: 100 }, () => send(`http://${NAME}:${port}/`));
    const outcomes = await Promise.allSettled(sent);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(50);
  });

  it.each([301, 302, 303, 307, 308])(
    "receives no connection when a public webhook redirects to it with %d",
    async (status) => {
      const send = sender(async () => [FRIEND]);
      for (const target of [
        ...TRAPS.map((address) => `http://${address.includes(":") ? `[${address}]` : address}`),
        `http://localhost`,
        `https://127.0.0.1`,
        `//127.1`,
      ]) {
        const location = encodeURIComponent(`${target}:${port}/`);
        const answer = await send(`http://${NAME}:${port}/redirect/${status}/${location}`);
        expect(answer).toMatchObject({ status, body: "" });
      }
    },
  );
});

describe("a webhook while ALLOW_INSECURE_WEBHOOKS is set", () => {
  it("may be on this machine, but on no other host of its network", async () => {
    const warn = () => undefined;
    const policy = createWebhookPolicy({ allowsInsecure: true, warn, lookup: async () => [] });
    const send = sender(undefined, policy);
    expect(await send(`http://${FRIEND}:${port}/`)).toMatchObject({ body: "friend" });
    for (const address of privateAddresses.filter((each) => !/^(127\.\d|::1$)/.test(each))) {
      const named = sender(async () => [address], { ...policy, lookup: async () => [address] });
      const reason = await refusal(named(`http://${NAME}:${port}/`));
      expect(reason, address).toContain("not public");
    }
  });
});
