import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Get } from "./checks-links.ts";
import { atFileEnd } from "./file-end.ts";

/** Options of a reverse proxy. */
interface ProxyOptions {
  /** Origin of the proxied server. */
  readonly inner: string;
  /** Public origin of the service. */
  readonly publicUrl: string;
}

/** A running reverse proxy. */
export interface ReverseProxy {
  /** Origin of the proxy itself. */
  readonly address: string;
  /** Fetches a public URL through the proxy, as if DNS pointed there. */
  readonly get: Get;
}

/**
 * Starts a reverse proxy that replaces Host by the inner name, as many proxies do; it stops after
 * the last test of the file.
 */
export async function startReverseProxy({ inner, publicUrl }: ProxyOptions): Promise<ReverseProxy> {
  const { hostname, port, host } = new URL(inner);
  const server = createServer((req, res) => {
    const { method = "GET", url = "/" } = req;
    const headers: IncomingHttpHeaders = {
      ...req.headers,
      host,
      "x-forwarded-for": req.socket.remoteAddress,
    };
    const onwards = request({ hostname, port, method, path: url, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    onwards.on("error", () => failed(res));
    req.pipe(onwards);
  }).listen(0, "127.0.0.1");
  atFileEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { address, get: (url, init) => fetch(url.replace(publicUrl, address), init) };
}

function failed(res: ServerResponse): void {
  if (!res.headersSent) res.writeHead(502);
  res.end();
}
