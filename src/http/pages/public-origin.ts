import { parseCookie, stringifySetCookie } from "cookie";
import type { Request } from "express";
import { Problem } from "../../lib/problem.ts";
import { queryOf } from "../request-context.ts";

/** Name of the cookie that marks a browser that was just redirected to the public origin. */
const COOKIE = "market-signal-sent";
/** Lifetime of the cookie, in seconds. */
const COOKIE_SECONDS = 10;

/**
 * Detects a page that was opened under an origin other than the public one, such as localhost.
 * Forms sent from there would be rejected.
 *
 * If a browser still arrives under another host after the redirect, a proxy between the browser and
 * this service rewrites Host, so the browser is not redirected again.
 *
 * @returns The problem `forbidden_origin` with a `location`, in which only the path and the query
 * come from the request; `undefined` if the browser need not be redirected.
 */
export function redirectToPublicOrigin(req: Request, baseUrl: string): Problem | undefined {
  const { protocol, host } = new URL(baseUrl);
  const secure = protocol === "https:";
  const name = secure ? `__Host-${COOKIE}` : COOKIE;
  const isRight = URL.parse(`${protocol}//${req.host}`)?.host === host;
  if (isRight || parseCookie(req.headers.cookie ?? "")[name] !== undefined) return undefined;

  const location = publicUrl(req, baseUrl);
  const about = { name, value: "1", path: "/", maxAge: COOKIE_SECONDS, secure } as const;
  const sent = stringifySetCookie({ ...about, httpOnly: true, sameSite: "lax" });
  return new Problem("forbidden_origin", {
    detail: "This page has a different address.",
    next: `Open ${location} instead.`,
    headers: { location, "set-cookie": sent },
  });
}

/**
 * The URL of the requested page under the public origin. An absolute-form request target can
 * contain another site (RFC 9112 section 3.2.2), so only its path and query are used.
 */
function publicUrl(req: Request, baseUrl: string): string {
  const address = new URL(baseUrl + req.path);
  address.search = String(queryOf(req));
  return address.href;
}
