import { type Request, type RequestHandler, Router } from "express";
import { OPERATOR_VISIT_LIFETIME_MS } from "../../../auth/operator-access.ts";
import { rejectOtherMethods } from "../../allowed-methods.ts";
import { queryOf } from "../../request-context.ts";
import { copyScriptHref } from "../copy.ts";
import type { PageContext } from "../page-context.ts";
import { createPassCookie } from "../pass-cookie.ts";
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
  const lifetimeMs = OPERATOR_VISIT_LIFETIME_MS;
  const cookie = createPassCookie({ name: "market-signal-operator", baseUrl, lifetimeMs });
  const isOperator = (req: Request): boolean => {
    const pass = cookie.read(req);
    return pass !== undefined && access.isVisit(pass);
  };
  const open: RequestHandler = (req, res, next) => {
    const link = queryOf(req).get("link");
    if (link === null) return next();
    if (!access.isLink(link)) return show(res, operatorAccessNeededPage({ isExpired: true }));
    res.set({ "cache-control": "no-store", "referrer-policy": "no-referrer" });
    cookie.give(res, access.newVisit());
    res.redirect(303, PATH);
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
