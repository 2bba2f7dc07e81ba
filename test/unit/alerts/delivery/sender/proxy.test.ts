import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { OutboundError } from "../../../../../src/outbound/guarded-fetch.ts";
import { createCertificate } from "../../../../support/certificate.ts";
import { FRIEND, HOST, listen, receiver, testSender, webhookRequestTo } from "./servers.ts";

/** How the proxy reacts to a CONNECT request. */
type Behavior = "tunnels" | "refuses" | "is silent" | "hangs up";

/** Starts a proxy that connects to the permitted receiver. */
async function startProxy(behavior: Behavior = "tunnels") {
  const asked: string[] = [];
  const credentials: (string | undefined)[] = [];
  const server = createHttpServer((req, res) => {
    asked.push(`${req.method} ${req.url}`);
    res.writeHead(200).end("not through a tunnel");
  });
  server.on("connect", (req, socket) => {
    asked.push(`CONNECT ${req.url}`);
    credentials.push(req.headers["proxy-authorization"]);
    socket.on("error", () => undefined);
    if (behavior === "refuses") socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    if (behavior === "hangs up") socket.destroy();
    if (behavior !== "tunnels") return;
    const port = Number(new URL(`http://${req.url}`).port || 80);
    const onward = connect(port, FRIEND, () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      socket.pipe(onward).pipe(socket);
    });
    onward.on("error", () => socket.destroy());
    socket.on("close", () => onward.destroy());
  });
  const port = await listen(server, "127.0.0.1");
  return { asked, credentials, proxy: `http://127.0.0.1:${port}` };
}

/** The sender must not resolve names itself when it uses a proxy. */
const lookup = () => Promise.reject(new Error("a name was looked up"));

describe("a sender with a proxy", () => {
  it("tunnels every request through the proxy by CONNECT, and resolves no host name locally", async () => {
    const { asked, credentials, proxy } = await startProxy();
    const plain = await receiver((_req, res) => void res.end("plain"));
    const ours = createCertificate(HOST);
    const server = createHttpsServer(ours, (_req, res) => void res.end("safe"));
    const safe = `https://${HOST}:${await listen(server)}/`;
    const sender = testSender({ proxy, lookup, ca: ours.cert });
    expect(await sender.send(webhookRequestTo(plain))).toMatchObject({
      status: 200,
      body: "plain",
    });
    expect(await sender.send(webhookRequestTo(safe))).toMatchObject({ status: 200, body: "safe" });
    expect(asked).toEqual([plain, safe].map((url) => `CONNECT ${new URL(url).host}`));
    expect(credentials).toEqual([undefined, undefined]);
  });

  it("sends the credentials of the proxy URL to the proxy, and not to the webhook", async () => {
    const { credentials, proxy } = await startProxy();
    const shown: unknown[] = [];
    const url = await receiver((req, res) => {
      shown.push(req.headers["proxy-authorization"], req.headers.authorization);
      res.end();
    });
    const withAccount = proxy.replace("//", "//user:pass%20word@");
    await testSender({ proxy: withAccount, lookup }).send(webhookRequestTo(url));
    expect(credentials).toEqual([`Basic ${btoa("user:pass word")}`]);
    expect(shown).toEqual([undefined, undefined]);
  });

  it("still verifies the certificate of the webhook", async () => {
    const { proxy } = await startProxy();
    const ours = createCertificate("other.example.com");
    const server = createHttpsServer(ours, (_req, res) => void res.end("safe"));
    const sender = testSender({ proxy, lookup, ca: ours.cert });
    const sent = sender.send(webhookRequestTo(`https://${HOST}:${await listen(server)}/`));
    await expect(sent).rejects.toThrow(OutboundError);
  });

  it.each([
    "https://127.0.0.1/",
    "https://[::1]/",
    "https://169.254.169.254/",
    "https://metadata.google.internal/",
    "https://user:password@hooks.example.com/",
    "https://hooks.example.com:22/",
    "ftp://hooks.example.com/",
  ])("still refuses a URL that the policy forbids: %s", async (url) => {
    const { asked, proxy } = await startProxy();
    await expect(testSender({ proxy }).send(webhookRequestTo(url))).rejects.toThrow(OutboundError);
    expect(asked).toEqual([]);
  });

  it.each<[Behavior, string]>([
    ["refuses", "403"],
    ["is silent", "took too long"],
    ["hangs up", "Proxy"],
  ])("fails like a faulty webhook when the proxy %s", async (behavior, reason) => {
    const { asked, proxy } = await startProxy(behavior);
    const sender = testSender({ proxy, totalMs: 500 });
    for (const scheme of ["http", "https"]) {
      const sent = sender.send(webhookRequestTo(`${scheme}://${HOST}:8443/`));
      const error = await sent.catch((failure: unknown) => failure);
      expect(error).toBeInstanceOf(OutboundError);
      expect(String((error as Error).cause)).toContain(reason);
    }
    expect(asked).toEqual([`CONNECT ${HOST}:8443`, `CONNECT ${HOST}:8443`]);
  });

  it("fails like an unreachable webhook when the proxy is down", async () => {
    const sender = testSender({ proxy: "http://127.0.0.1:1" });
    await expect(sender.send(webhookRequestTo(`https://${HOST}/`))).rejects.toThrow(OutboundError);
  });
});
