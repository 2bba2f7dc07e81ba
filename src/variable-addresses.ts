import { isLoopbackHost } from "./auth/loopback.ts";

/** Whether an address can be an issuer. Without TLS, what another machine says of a person can be
 *  believed by nobody. */
export function isIssuer(text: string): boolean {
  const { protocol, hostname = "" } = URL.parse(text) ?? {};
  return protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
}

/** Whether an address can be a proxy. Credentials may stand in it, and nothing but them, the host and
 *  the port. */
export function isProxy(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.host === "" || !/^https?:$/.test(url.protocol)) return false;
  const { pathname, search, hash, username, password } = url;
  return `${pathname}${search}${hash}` === "/" && [username, password].every(isEncoded);
}

/** Whether a text can be decoded (RFC 3986 section 2.1). */
function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
