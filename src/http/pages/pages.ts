import { type RequestHandler, Router } from "express";
import { withCallerAddress } from "../../access/auditor.ts";
import { paths } from "../../lib/paths.ts";
import { GuessGuard } from "../../limits/guess-guard.ts";
import { accountRoutes } from "./account.ts";
import { alertRoutes } from "./alerts/alert-routes.ts";
import { earlyAccessRoutes } from "./apply.ts";
import { claimRoutes } from "./claim-routes.ts";
import { interactionRoutes } from "./consent.ts";
import { contactRoutes } from "./contact.ts";
import { copyScriptRoute } from "./copy.ts";
import { createCsrfGuard } from "./csrf.ts";
import { createErrorPageHandler } from "./error.ts";
import { operatorRoutes } from "./operator/operator-routes.ts";
import { createPageSender } from "./page-answer.ts";
import type { PageContext, PagesOptions } from "./page-context.ts";
import { signInRoutes } from "./sign-in.ts";
import { styleHref, styleRoute } from "./style-route.ts";
import { UNSUBSCRIBE_PATH, unsubscribeRoutes } from "./unsubscribe.ts";
import { watchlistAddRoutes } from "./watchlist-add.ts";

/** Makes the client's address available to the audit log. */
const provideCallerAddress: RequestHandler = (req, _res, next) => withCallerAddress(req.ip, next);

/** Paths of the pages that can change data. */
const ACTION_PATHS = [
  "/sign-in",
  "/sign-out",
  "/oauth/interaction",
  "/claim",
  "/account",
  paths.contactPage,
  paths.apply,
  UNSUBSCRIBE_PATH,
];

/**
 * Creates the pages for people, such as those for signing in, consent, claims, the account, contact
 * and applying for access. They work without JavaScript. Mount the router at the root, before any
 * other handler of `/oauth/interaction/:uid` and before any body parser. Errors of a page are shown
 * as a page; requests for other paths fall through.
 */
export function pagesRouter(options: PagesOptions): Router {
  const { name, baseUrl, sessions, limits, now, onError } = options;
  const show = createPageSender({ name, stylePath: styleHref });
  const guard = new GuessGuard(limits);
  const csrf = createCsrfGuard(sessions, baseUrl);
  const parts: PageContext = { ...options, show, guard, csrf };
  const router = Router();
  router.use(styleRoute(), copyScriptRoute());
  router.use(ACTION_PATHS, provideCallerAddress);
  router.use(signInRoutes(parts), interactionRoutes(parts), claimRoutes(parts));
  router.use(contactRoutes(parts), earlyAccessRoutes(parts));
  router.use(unsubscribeRoutes(parts));
  // These must come before the account routes, in which the last segment of the path is the id of a
  // watchlist.
  router.use(watchlistAddRoutes(parts), alertRoutes(parts), accountRoutes(parts));
  router.use(operatorRoutes(parts));
  router.use(createErrorPageHandler({ show, now, onError }));
  return router;
}
