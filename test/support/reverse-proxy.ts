import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Get } from "./checks-links.ts";
import { atFileEnd } from "./file-end.ts";

/** Options of a proxy. */
interface ProxyOptions {
  /** Origin of the server behind the proxy. */
  readonly inner: string;
  /** Public origin. */
  readonly publicUrl: string;
}

/** A reverse proxy. */
export interface ReverseProxy {
  /** Where it listens. */
  readonly address: string;
  /** Gets a public address through it, as if names led there. */
  readonly get: Get;
}

/** Starts a reverse proxy that calls what is behind it by its inner name, as many do; it ends with the
 *  tests of the file. */
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
