import type { IncomingMessage } from "node:http";
import { parseCookie, stringifySetCookie } from "cookie";
import type { Response } from "express";

/**
 * A cookie with a pass, which a browser gets by opening a link that was sent to its person, or with
 * the place to which they then return.
 */
export interface PassCookie {
  /** The pass that a browser sends; `undefined` if it sends none. */
  read(req: IncomingMessage): string | undefined;
  /** Gives a browser the pass. */
  give(res: Response, pass: string): void;
}

/** Parameters of `createPassCookie`. */
interface PassCookieParameters {
  /** Name of the cookie, without the prefix for https. */
  readonly name: string;
  /** Public origin. */
  readonly baseUrl: string;
  /** Lifetime in milliseconds; absent for a cookie that the browser deletes when it closes. */
  readonly lifetimeMs?: number;
}

/** Creates a pass cookie that no script reads and that no other site's page causes to be sent. */
export function createPassCookie({ lifetimeMs, ...about }: PassCookieParameters): PassCookie {
  const secure = about.baseUrl.startsWith("https:");
  // With the prefix `__Host-`, no other host of the domain can set the cookie (RFC 6265bis section
  // 4.1.3.2).
  const name = `${secure ? "__Host-" : ""}${about.name}`;
  return {
    read: ({ headers }) => parseCookie(headers.cookie ?? "")[name],
    give(res, value) {
      const lifetime = lifetimeMs === undefined ? {} : { maxAge: lifetimeMs / 1_000 };
      const cookie = {
        name,
        value,
        path: "/",
        httpOnly: true,
        sameSite: "strict",
        secure,
      } as const;
      res.append("set-cookie", stringifySetCookie({ ...cookie, ...lifetime }));
    },
  };
}
