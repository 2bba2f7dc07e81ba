// @module-tag full

import { connect } from "node:tls";
import { describe, expect, it } from "vitest";
import { newKey } from "../support/admin.ts";
import { EXAMPLE_REGISTRATION } from "../support/agent.ts";
import { freePort } from "../support/free-port.ts";
import { accountLinkOf, startProcess, temporaryFolder } from "../support/process.ts";
import {
  isInstalled,
  type ProxyProgram,
  startCaddy,
  startNginx,
} from "../support/proxy-program.ts";

const programs = [
  { name: "nginx", file: "deploy/nginx.conf", start: startNginx },
  { name: "caddy", file: "deploy/Caddyfile", start: startCaddy },
];

/** A service with a public address, for every proxy of the file, and a key of it. */
const inner = await freePort();
const DATA_DIR = temporaryFolder();
await startProcess({ PORT: inner, BASE_URL: "https://localhost", TRUST_PROXY: "1", DATA_DIR });
const keyed = { "x-api-key": await newKey({ DATA_DIR }, "alerts:write signals:read") };

describe.each(programs)("$name with $file", async ({ name, start }) => {
  const isMissing = !isInstalled(name);
  const said = (title: string) =>
    isMissing ? `${title} SKIPPED: ${name} is not installed (apt-get install ${name})` : title;
  const port = await freePort();
  let proxy: ProxyProgram;
  if (!isMissing) proxy = await start({ inner, port });
  const test = it.skipIf(isMissing);

  test(said("serves while the other process is absent, and sends HSTS once"), async () => {
    for (const path of ["/", "/api/health", "/nothing", "/livez", "/readyz"]) {
      const answer = await proxy.ask(path);
      expect(answer.status, path).toBe(path === "/nothing" ? 404 : 200);
      expect(answer.all("strict-transport-security"), path).toEqual(["max-age=31536000"]);
    }
  });

  test(said("redirects http to https"), async () => {
    const answer = await proxy.askPlain("/market?q=1");
    expect(answer.status).toBe(308);
    expect(answer.all("location")).toEqual([
      expect.stringMatching(/^https:\/\/localhost.*\/market\?q=1$/),
    ]);
  });

  test(said("speaks HTTP/2"), async () => {
    const { cert: ca } = proxy.certificate;
    const socket = connect({
      port: Number(port),
      servername: "localhost",
      ca,
      ALPNProtocols: ["h2"],
    });
    await new Promise((resolve) => socket.once("secureConnect", resolve));
    expect(socket.alpnProtocol).toBe("h2");
    socket.destroy();
  });

  test(said("passes on the address of the caller, whatever the caller says"), async () => {
    const left: number[] = [];
    for (const claimed of ["192.0.2.1", "198.51.100.2, 203.0.113.3"]) {
      const answer = await proxy.ask("/oauth/register", {
        method: "POST",
        headers: { "content-type": "application/json", "x-forwarded-for": claimed },
        body: JSON.stringify(EXAMPLE_REGISTRATION),
      });
      expect(answer.status).toBe(201);
      left.push(Number(/r=(\d+)/.exec(answer.all("ratelimit").join())?.[1]));
    }
    expect(left[1]).toBe((left[0] ?? 0) - 1);
  });

  test(said("passes on events at once"), async () => {
    expect(await proxy.beginningOf("/api/alerts/stream?cursor=0", keyed)).toMatch(/^retry: \d+\n/);
  });

  test(said("refuses a body that is larger than any that the service accepts"), async () => {
    const headers = { ...keyed, "content-type": "application/json", accept: "application/json" };
    const body = JSON.stringify("x".repeat(200_000));
    const answer = await proxy.ask("/mcp", { method: "POST", headers, body });
    expect(answer.status).toBe(413);
  });
});

describe("nginx with deploy/nginx.conf", () => {
  const isMissing = !isInstalled("nginx");
  const title =
    "refuses the flood of one network with a problem document, and serves other networks";
  const said = isMissing
    ? `${title} SKIPPED: nginx is not installed (apt-get install nginx)`
    : title;

  it.skipIf(isMissing)(said, async () => {
    const port = await freePort();
    const change = (text: string) =>
      text.replace("rate=200r/s", "rate=1r/m").replace("burst=400", "burst=5");
    const proxy = await startNginx({ inner, port, change });
    const statuses: number[] = [];
    for (const at of [2, 3, 4, 5, 6, 7, 8, 9]) {
      const answer = await proxy.ask("/livez", { localAddress: `127.0.1.${at}` });
      statuses.push(answer.status);
      if (answer.status === 200) continue;
      expect(answer.all("content-type")).toEqual(["application/problem+json"]);
      expect(answer.all("retry-after")).toEqual(["1"]);
      expect(JSON.parse(answer.body)).toMatchObject({ status: 429, code: "rate_limited" });
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 429, 429]);
    expect((await proxy.ask("/livez", { localAddress: "127.0.2.1" })).status).toBe(200);
  });
});

describe("nginx with deploy/nginx.conf and streams of one network", () => {
  const isMissing = !isInstalled("nginx");
  const title = "refuses what the network has under way beyond its number, and serves others";
  const said = isMissing ? `${title} SKIPPED: nginx is not installed` : title;

  it.skipIf(isMissing)(said, async () => {
    const port = await freePort();
    const change = (text: string) =>
      text.replace("limit_conn networks_under_way 400", "limit_conn networks_under_way 2");
    const proxy = await startNginx({ inner, port, change });
    const opened = await Promise.all(
      [2, 3].map((at) =>
        proxy.open("/api/alerts/stream?cursor=0", {
          headers: keyed,
          localAddress: `127.0.1.${at}`,
        }),
      ),
    );
    const refused = await proxy.ask("/livez", { localAddress: "127.0.1.4" });
    expect(refused.status).toBe(429);
    expect(JSON.parse(refused.body)).toMatchObject({ code: "rate_limited" });
    expect((await proxy.ask("/livez", { localAddress: "127.0.2.1" })).status).toBe(200);
    for (const { close } of opened) close();
  });
});

describe("a sandbox with default settings behind nginx", async () => {
  const isMissing = !isInstalled("nginx");
  const title =
    "shows no sign-in code but to the browser with the terminal's link, whatever headers nginx adds: %s";

  let people = 0;

  /** Signs a new person in over a connection until the page that follows the email address. */
  async function codePage(
    origin: string,
    ask: (path: string, options: object) => Answer,
    path = "/sign-in",
  ) {
    const cookies: string[] = [];
    const headers = () => ({ cookie: cookies.join("; "), origin });
    let body = "";
    for (const visited of [path, "/sign-in"]) {
      const answer = await ask(visited, { headers: headers() });
      cookies.push(...answer.all("set-cookie").map((line) => line.split(";")[0] ?? ""));
      body = answer.body;
    }
    const [, form_token = ""] = /name="form_token" value="([^"]+)"/.exec(body) ?? [];
    expect(form_token).not.toBe("");
    people += 1;
    const email = `eve-${people}@example.com`;
    const sent = new URLSearchParams({ form_token, return_to: "/", email });
    return ask("/sign-in", {
      method: "POST",
      headers: { ...headers(), "content-type": "application/x-www-form-urlencoded" },
      body: String(sent),
    });
  }
  type Answer = ReturnType<ProxyProgram["ask"]>;

  const local = await freePort();
  const running = await startProcess({ PORT: local });
  const { baseUrl } = running;
  const link = await accountLinkOf(running);

  it.skipIf(isMissing).each([
    ["those of deploy/nginx.conf", (text: string) => text],
    // Then nginx sends what a browser on this machine would send: HTTP/1.1 and a loopback Host.
    [
      "none",
      (text: string) =>
        text
          .replaceAll(/^ *proxy_set_header (?!Connection).*\n/gm, "")
          .replace("proxy_pass http://market_signal", `proxy_pass http://127.0.0.1:${local}`),
    ],
  ])(isMissing ? `${title} SKIPPED: nginx is not installed` : title, async (_, change) => {
    const port = await freePort();
    const proxy = await startNginx({ inner: local, port, change });
    const proxied = await codePage(baseUrl, (path, options) => proxy.ask(path, options));
    expect([proxied.status, proxied.body]).toEqual([303, expect.not.stringMatching(/\d{8}/)]);
    const onMachine = async (path: string, options: object) => {
      const response = await fetch(baseUrl + path, { redirect: "manual", ...options });
      const all = (name: string) =>
        name === "set-cookie"
          ? response.headers.getSetCookie()
          : [response.headers.get(name) ?? ""];
      return { status: response.status, all, body: await response.text() };
    };
    const unproved = await codePage(baseUrl, onMachine);
    expect([unproved.status, unproved.body]).toEqual([303, expect.not.stringMatching(/\d{8}/)]);
    const direct = await codePage(baseUrl, onMachine, link.slice(baseUrl.length));
    expect([direct.status, direct.body]).toEqual([200, expect.stringMatching(/value="\d{8}"/)]);
  });
});
