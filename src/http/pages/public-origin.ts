import { parseCookie, stringifySetCookie } from "cookie";
import type { Request } from "express";
import { Problem } from "../../problem.ts";
import { queryOf } from "../request-context.ts";

/** Cookie of a browser that was just redirected to the public address, and its lifetime in seconds. */
const COOKIE = "market-signal-sent";
const SENT_SECONDS = 10;

/**
 * Detects a page opened under another origin than the public one, such as localhost: forms sent from
 * there would be rejected.
 *
 * A browser that still arrives under another host after the redirect is behind a proxy that rewrites
 * Host, so it is in the right place.
 *
 * @returns The problem `forbidden_origin` with a `location`, of which only the path and the query come
 *   from the caller; `undefined` if the browser can stay.
 */
export function redirectToPublicOrigin(req: Request, baseUrl: string): Problem | undefined {
  const { protocol, host } = new URL(baseUrl);
  const secure = protocol === "https:";
  const name = secure ? `__Host-${COOKIE}` : COOKIE;
  const isRight = URL.parse(`${protocol}//${req.host}`)?.host === host;
  if (isRight || parseCookie(req.headers.cookie ?? "")[name] !== undefined) return undefined;

  const location = rightAddress(req, baseUrl);
  const about = { name, value: "1", path: "/", maxAge: SENT_SECONDS, secure } as const;
  const sent = stringifySetCookie({ ...about, httpOnly: true, sameSite: "lax" });
  return new Problem("forbidden_origin", {
    detail: "This page has another address.",
    next: `Open ${location} instead.`,
    headers: { location, "set-cookie": sent },
  });
}

/**
 * An absolute-form target can name another site (RFC 9112 section 3.2.2), so only its path and query
 * are used.
 */
function rightAddress(req: Request, baseUrl: string): string {
  const address = new URL(baseUrl + req.path);
  address.search = String(queryOf(req));
  return address.href;
}
