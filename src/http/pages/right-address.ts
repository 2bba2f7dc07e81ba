import { parseCookie, stringifySetCookie } from "cookie";
import type { Request } from "express";
import { Problem } from "../../problem.ts";
import { queryOf } from "../request-context.ts";

/** Cookie of a browser that was sent to the right address just now, and its life in seconds. */
const COOKIE = "market-signal-sent";
const SENT_SECONDS = 10;

/**
 * Finds whether a page was opened under another address than that of the service, such as localhost:
 * no form that is sent from there would be taken.
 *
 * A browser that was sent to the right address and still comes under another one is behind a proxy that
 * writes a Host of its own. It is where it should be.
 *
 * @returns The problem `forbidden_origin` with a `location`, in which nothing but path and query is the
 *   caller's; `undefined` when the browser can stay.
 */
export function wrongAddress(req: Request, baseUrl: string): Problem | undefined {
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

/** The target can name another site as well (RFC 9112 section 3.2.2): only its path and query count. */
function rightAddress(req: Request, baseUrl: string): string {
  const address = new URL(baseUrl + req.path);
  address.search = String(queryOf(req));
  return address.href;
}
