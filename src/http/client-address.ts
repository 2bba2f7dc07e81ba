import type { IncomingMessage } from "node:http";

/**
 * Network address of the caller, as Express finds it: that of the connection or, behind reverse
 * proxies, what the outermost of them says.
 *
 * @param proxyHops Proxies whose word counts; what was named before them, strangers make up.
 * @returns `undefined` when the connection is gone already.
 */
export function addressOf(req: IncomingMessage, proxyHops: number): string | undefined {
  if (proxyHops === 0) return req.socket.remoteAddress;
  const named = String(req.headers["x-forwarded-for"] ?? "").split(",");
  const addresses = named.map((name) => name.trim()).filter((name) => name !== "");
  return [...addresses, req.socket.remoteAddress].at(-1 - Math.min(proxyHops, addresses.length));
}
