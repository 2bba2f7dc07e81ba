import type { IncomingMessage } from "node:http";
import type { Config } from "../../config/config.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";

/**
 * Whether a service is a sandbox that only its own machine can reach and that sends no mail. It may
 * show a sign-in code on the page, to requests that did not pass a proxy.
 *
 * @param baseUrl Public origin.
 */
export const isLocalSandbox = (
  { market, mail, host, proxyHops }: Pick<Config, "market" | "mail" | "host" | "proxyHops">,
  baseUrl: string,
): boolean =>
  market.kind === "sandbox" &&
  mail === undefined &&
  proxyHops === 0 &&
  isLoopbackHost(host === "::1" ? "[::1]" : host) &&
  isLoopbackHost(new URL(baseUrl).hostname);

/** Headers that proxies add, of RFC 7239, RFC 9110 and common usage. */
const PROXY_HEADER =
  /^(?:forwarded|via|x-forwarded(?:-.*)?|x-original-.*|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip|cf-.*|client-ip)$/;

/**
 * Whether a request may have passed a proxy. The address of the peer says nothing about it, since
 * behind a proxy on the same machine every peer is loopback. A proxy that adds no header gives
 * itself away by a Host that is not loopback or by HTTP/1.0, which nginx speaks and no browser does.
 */
export function mayBeProxied({ headers, httpVersion }: IncomingMessage): boolean {
  const host = URL.parse(`http://${headers.host}`)?.hostname ?? "";
  return (
    httpVersion === "1.0" ||
    !isLoopbackHost(host) ||
    Object.keys(headers).some((name) => PROXY_HEADER.test(name))
  );
}
