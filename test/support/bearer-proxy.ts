import { createServer, request } from "node:http";
import { atFileEnd } from "./file-end.ts";
import { listenLocally } from "./local-server.ts";

/**
 * Starts a proxy in front of a service, for programs that cannot send credentials. It adds a token
 * to each request and forwards the rest unchanged, including `Host` and `Origin`. It stops after
 * the last test of the file.
 *
 * @returns Its base URL.
 */
export async function startBearerProxy(base: string, token: string): Promise<string> {
  const { hostname, port } = new URL(base);
  const server = createServer((req, res) => {
    const headers = { ...req.headers, authorization: `Bearer ${token}` };
    const passed = request({ hostname, port, method: req.method, path: req.url, headers });
    passed.once("response", (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    passed.once("error", () => res.destroy());
    res.once("close", () => passed.destroy());
    req.pipe(passed);
  });
  const origin = await listenLocally(server);
  atFileEnd(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return origin;
}
