import { parseCookie, stringifySetCookie } from "cookie";
import { type Request, type RequestHandler, Router } from "express";
import { OPERATOR_VISIT_LIFETIME_MS } from "../../../auth/operator-access.ts";
import { rejectOtherMethods } from "../../allowed-methods.ts";
import { queryOf } from "../../request-context.ts";
import { copyScriptHref } from "../copy.ts";
import type { PageContext } from "../page-context.ts";
import { operatorAccessNeededPage, setupPage } from "./operator-page.ts";

/** Path of the operator's page. */
const PATH = "/operator";

/**
 * GET /operator: what is configured, what is missing and what to do next. Neither the network
 * address nor an account identifies the operator: behind a proxy, every request comes from this
 * machine, and anyone may have an account. Access starts with a link that `admin setup` prints;
 * opening it sets a cookie.
 */
export function operatorRoutes({ operator, baseUrl, show }: PageContext): Router {
  const { access, facts } = operator;
  const isSecure = baseUrl.startsWith("https:");
  // With the prefix `__Host-`, no other host of the domain can set the cookie (RFC 6265bis section
  // 4.1.3.2).
  const name = `${isSecure ? "__Host-" : ""}market-signal-operator`;
  const isOperator = ({ headers }: Request): boolean => {
    const pass = parseCookie(headers.cookie ?? "")[name];
    return pass !== undefined && access.isVisit(pass);
  };
  const open: RequestHandler = (req, res, next) => {
    const link = queryOf(req).get("link");
    if (link === null) return next();
    if (!access.isLink(link)) return show(res, operatorAccessNeededPage({ isExpired: true }));
    const cookie = {
      name,
      value: access.newVisit(),
      path: "/",
      maxAge: OPERATOR_VISIT_LIFETIME_MS / 1_000,
      httpOnly: true,
      sameSite: "strict",
      secure: isSecure,
    } as const;
    res.set({ "cache-control": "no-store", "referrer-policy": "no-referrer" });
    res.append("set-cookie", stringifySetCookie(cookie)).redirect(303, PATH);
  };
  const router = Router();
  router
    .route(PATH)
    .get(open, async (req, res) => {
      const page = isOperator(req)
        ? setupPage(await facts())
        : operatorAccessNeededPage({ isExpired: false });
      show(res, { ...page, scriptPath: copyScriptHref });
    })
    .all(rejectOtherMethods(["get"]));
  return router;
}
