import { type RequestHandler, Router } from "express";
import { paths } from "../../../wellknown/paths.ts";
import type { Accounts } from "../../auth/accounts/accounts.ts";
import type { Sessions } from "../../auth/accounts/browser-sessions.ts";
import type { SignIn } from "../../auth/accounts/email-code-sign-in.ts";
import type { Upstream } from "../../auth/accounts/upstream-sign-in.ts";
import type { Claims } from "../../auth/agents/claims.ts";
import { withCallerAddress } from "../../auth/auditor.ts";
import type { ApiKeys } from "../../auth/keys/api-keys.ts";
import type { Interactions } from "../../auth/oidc/interactions.ts";
import type { SignUp } from "../../config/config.ts";
import type { Intake } from "../../intake/intake.ts";
import { createCodeGuard } from "../../limits/code-guard.ts";
import type { Limits } from "../../limits/limits.ts";
import { type AccountRoutesOptions, accountRoutes } from "./account-routes.ts";
import { APPLY_PATH } from "./apply.ts";
import { applyRoutes } from "./apply-routes.ts";
import { claimRoutes } from "./claim-routes.ts";
import { contactRoutes } from "./contact-routes.ts";
import { errorPages } from "./error.ts";
import { createCsrfGuard } from "./form.ts";
import { interactionRoutes } from "./interaction-routes.ts";
import { createShowPage } from "./page-answer.ts";
import { signInRoutes } from "./sign-in-routes.ts";
import { styleAddress, styleRoute } from "./style-route.ts";
import { createThrottle, createThrottleNetworks } from "./throttle.ts";

/** Dependencies of the pages. */
export interface PagesOptions {
  /** Display name of the service. */
  readonly name: string;
  /** Public origin without a trailing slash. */
  readonly baseUrl: string;
  readonly sessions: Sessions;
  readonly signIn: SignIn;
  /** External OpenID provider, if configured. */
  readonly upstream: Upstream | undefined;
  readonly accounts: Accounts;
  readonly claims: Claims;
  readonly interactions: Interactions;
  readonly keys: ApiKeys;
  readonly intake: Pick<Intake, "apply" | "contact">;
  /** Reads the alerts that people own. */
  readonly alerts: AccountRoutesOptions["alerts"];
  readonly limits: Limits;
  /** Whether emails are shown to the operator instead of being sent. */
  readonly isMailShownToOperator: boolean;
  /** Policy for creating accounts. */
  readonly signUp: SignUp;
  readonly now: () => Date;
  /** Called with every error that the person did not cause. */
  readonly onError: (error: unknown) => void;
}

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
  APPLY_PATH,
];

/** Creates the pages for people: sign-in, consent, claim, account, contact and application. They
 *  work without JavaScript. Mount them at the root, before any other handler of
 *  `/oauth/interaction/:uid` and before any body parser. Errors on a page are shown as pages; other
 *  paths fall through. */
export function pagesRouter(options: PagesOptions): Router {
  const { name, baseUrl, sessions, limits, now, onError } = options;
  const show = createShowPage({ name, stylePath: styleAddress });
  const throttle = createThrottle(limits);
  const throttleNetworks = createThrottleNetworks(limits);
  const guard = createCodeGuard(limits);
  const csrf = createCsrfGuard(sessions, baseUrl);
  const parts = { ...options, show, throttle, throttleNetworks, guard, csrf };
  const router = Router();
  router.use(styleRoute());
  router.use(ACTION_PATHS, provideCallerAddress);
  router.use(signInRoutes(parts), interactionRoutes(parts), claimRoutes(parts));
  router.use(contactRoutes(parts), applyRoutes(parts));
  router.use(accountRoutes(parts), errorPages({ show, now, onError }));
  return router;
}
