import { Router } from "express";
import { Problem } from "../../lib/problem.ts";
import { partyAt } from "../../limits/address-key.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import { type Html, html } from "../../markup/html.ts";
import type { UpstreamSignIn } from "../../principals/accounts/upstream-sign-in.ts";
import { rejectOtherMethods } from "../allowed-methods.ts";
import { queryOf } from "../request-context.ts";
import { formReader } from "./form.ts";
import { buttonForm } from "./form-html.ts";
import type { PageContext } from "./page-context.ts";
import { mayResultFromForm, redirectPage } from "./redirect-page.ts";
import { safeReturnPath, sentReturnPath } from "./return-to.ts";

/** The button that signs in with the external provider. */
export const providerButton = (name: string, formToken: string, return_to: string): Html =>
  buttonForm(
    { action: "/sign-in/provider", formToken, hidden: { return_to } },
    html`<button class="second">Sign in with ${name}</button>`,
  );

/** Routes of the sign-in with the external provider; none if none is configured. */
export function providerRoutes(context: PageContext): Router {
  const { csrf, show, limits, sessions, upstream, baseUrl } = context;
  const router = Router();
  if (upstream === undefined) return router;

  router
    .route("/sign-in/provider")
    .post(...formReader, async (req, res) => {
      const { secret } = await csrf.requireOwnForm(req);
      await requireAdmission(limits, "authorizations", partyAt(req.ip));
      const { href } = await upstream.start(secret, sentReturnPath(req));
      if (mayResultFromForm(req)) show(res, redirectPage(href));
      else res.redirect(303, href);
    })
    .all(rejectOtherMethods(["post"]));
  router
    .route("/sign-in/callback")
    .get(async (req, res) => {
      const browser = await csrf.openPage(req, res);
      const callback = new URL(`${baseUrl}/sign-in/callback?${queryOf(req)}`);
      const finished = await upstream.finish(browser.secret, callback);
      if (finished === undefined) throw notSignedIn(upstream);
      const { accountId, signedInAt, returnTo: place } = finished;
      res.append("set-cookie", await sessions.open(browser, accountId, signedInAt));
      res.redirect(303, safeReturnPath(place));
    })
    .all(rejectOtherMethods(["get"]));
  return router;
}

const notSignedIn = ({ name }: UpstreamSignIn): Problem =>
  new Problem("invalid_request", {
    detail: `You are not signed in: the response of ${name} was invalid or too late, or is for a person who cannot sign in here.`,
    next: "Open the sign-in page and try again.",
  });
