import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Response } from "express";
import { isEqualConstantTime } from "../../access/secrets.ts";
import type { MarketMode } from "../../market/market.ts";
import { isLoopbackHost } from "../../outbound/loopback.ts";
import { createPassCookie } from "./pass-cookie.ts";
import { ACCOUNT_PATH } from "./return-to.ts";

/** Length of the token in the terminal's link, in random bytes. */
const TOKEN_BYTES = 32;

/** The settings that decide who can reach the service. */
interface Reachability {
  readonly market: { readonly kind: MarketMode };
  /** Mail server; `undefined` if no mail is sent. */
  readonly mail: object | undefined;
  /** Address that the service listens on. */
  readonly host: string;
  /** Number of trusted reverse proxies. */
  readonly proxyHops: number;
}

/** Whether a service is a sandbox that only its own machine can reach and that sends no mail. */
export const isLocalSandbox = (
  { market, mail, host, proxyHops }: Reachability,
  baseUrl: string,
): boolean =>
  market.kind === "sandbox" &&
  mail === undefined &&
  proxyHops === 0 &&
  isLoopbackHost(host === "::1" ? "[::1]" : host) &&
  isLoopbackHost(new URL(baseUrl).hostname);

/**
 * Sign-in codes on the page of a local sandbox, for the browsers of the person who started it. No
 * request shows by itself that it comes from this machine: a proxy on it can pass on the requests
 * of others just as a browser would send them. So a browser must open the link that stands in the
 * terminal of the process alone.
 */
export interface CodeOnPage {
  /** The link for the terminal. Keep it out of logs and answers. */
  readonly link: string;
  /** Admits a browser that opened a link, if its token is right. */
  admit(res: Response, token: string): void;
  /** Whether the answer to a request may show a code. */
  isShownTo(req: IncomingMessage): boolean;
}

/** Name of the parameter of the link that has the token. */
export const TOKEN_PARAMETER = "here";

/**
 * Creates the access to codes on the page, with a new token.
 *
 * @param baseUrl Public origin.
 * @returns `undefined` unless the service is a local sandbox.
 */
export function createCodeOnPage(
  config: Parameters<typeof isLocalSandbox>[0],
  baseUrl: string,
): CodeOnPage | undefined {
  if (!isLocalSandbox(config, baseUrl)) return undefined;
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  const cookie = createPassCookie({ name: "market-signal-here", baseUrl });
  const isToken = (given: string | undefined) =>
    given !== undefined && isEqualConstantTime(token, given);
  return {
    link: `${baseUrl}/sign-in?${TOKEN_PARAMETER}=${token}`,
    admit(res, given) {
      if (isToken(given)) cookie.give(res, token);
    },
    isShownTo: (req) => isToken(cookie.read(req)) && !mayBeProxied(req),
  };
}

/** The address for a person who reads the terminal: the link of a local sandbox, or the account. */
export const accountLinkOf = (codeOnPage: CodeOnPage | undefined, baseUrl: string): string =>
  codeOnPage?.link ?? baseUrl + ACCOUNT_PATH;

/** Headers that proxies add, of RFC 7239, RFC 9110 and common usage. */
const PROXY_HEADER =
  /^(?:forwarded|via|x-forwarded(?:-.*)?|x-original-.*|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip|cf-.*|client-ip)$/;

/**
 * Whether a request shows that it passed a proxy: by a header, by a Host that is not loopback, or
 * by HTTP/1.0, which no browser speaks. A proxy can leave all of them out.
 */
export function mayBeProxied({ headers, httpVersion }: IncomingMessage): boolean {
  const host = URL.parse(`http://${headers.host}`)?.hostname ?? "";
  return (
    httpVersion === "1.0" ||
    !isLoopbackHost(host) ||
    Object.keys(headers).some((name) => PROXY_HEADER.test(name))
  );
}
