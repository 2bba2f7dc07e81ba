import { Router } from "express";
import { z } from "zod";
import type { Accounts } from "../../auth/accounts/accounts.ts";
import { EmailAddress } from "../../auth/accounts/email.ts";
import type { Browser, Sessions } from "../../auth/accounts/sessions.ts";
import type { SignIn, Upstream } from "../../auth/accounts/sign-in.ts";
import { addressKey } from "../../limits/address-key.ts";
import { Problem } from "../../problem.ts";
import { onlyMethods } from "../methods.ts";
import { queryOf } from "../query.ts";
import type { ShowPage } from "./answer.ts";
import { codePage } from "./code.ts";
import { type Door, filled, readForm, typed } from "./form.ts";
import { followsForm, goOnPage } from "./go-on.ts";
import { returnTo, withReturn } from "./return-to.ts";
import { signInPage } from "./sign-in.ts";
import type { Throttle } from "./throttle.ts";

/** What the sign-in pages need. */
export interface SignInRoutesOptions {
  readonly door: Door;
  readonly show: ShowPage;
  readonly throttle: Throttle;
  readonly sessions: Sessions;
  readonly signIn: SignIn;
  readonly upstream: Upstream | undefined;
  readonly accounts: Accounts;
  readonly baseUrl: string;
  /** Whether messages wait for the operator of this service instead of being sent. */
  readonly mailHint: boolean;
}

const SendForm = z.object({ email: EmailAddress });

/** People copy a code with spaces or dashes in it. */
const CodeForm = z.object({
  code: z
    .string("Type the code from the e-mail.")
    .max(20, "The code is shorter.")
    .transform((text) => text.replace(/[\s-]/g, "").toUpperCase()),
});

const WRONG_CODE = "This code is wrong, too old or used up. Ask for another one, or try again.";

/** The pages where a person signs in and out. */
export function signInRoutes(options: SignInRoutesOptions): Router {
  const router = Router();
  sendRoute(router, options);
  codeRoute(router, options);
  providerRoutes(router, options);
  signOutRoute(router, options);
  return router;
}

function sendRoute(router: Router, options: SignInRoutesOptions): void {
  const { door, show, throttle, signIn, accounts, upstream } = options;
  const emailOf = async ({ session }: Browser) =>
    session && (await accounts.find(session.accountId))?.email;

  router
    .route("/sign-in")
    .get(async (req, res) => {
      const browser = await door.enter(req, res);
      const place = returnTo(queryOf(req).get("return_to"));
      const email = await emailOf(browser);
      const { formToken } = browser;
      show(res, signInPage({ formToken, place, email, upstream: upstream?.name }));
    })
    .post(...readForm, async (req, res) => {
      const { secret, formToken } = await door.enterByForm(req);
      const place = returnTo(typed(req, "return_to"));
      const { data, errors } = filled(SendForm, req);
      if (errors !== undefined) {
        const email = typed(req, "email");
        const wrong = errors.map(({ id }) => ({ id, text: "Type one e-mail address." }));
        const view = { formToken, place, email, errors: wrong, upstream: upstream?.name };
        return show(res, signInPage(view));
      }
      await throttle({ "code-address": addressKey(req.ip), "code-email": data.email });
      await signIn.sendCode(secret, data.email);
      res.redirect(303, withReturn("/sign-in/code", place));
    })
    .all(onlyMethods(["get", "post"]));
}

function codeRoute(router: Router, options: SignInRoutesOptions): void {
  const { door, show, throttle, sessions, signIn, mailHint } = options;

  router
    .route("/sign-in/code")
    .get(async (req, res) => {
      const { secret, formToken } = await door.enter(req, res);
      const place = returnTo(queryOf(req).get("return_to"));
      const email = (await signIn.pending(secret))?.email;
      show(res, codePage({ formToken, place, email, mailHint }));
    })
    .post(...readForm, async (req, res) => {
      const browser = await door.enterByForm(req);
      const place = returnTo(typed(req, "return_to"));
      await throttle({ "code-tries": addressKey(req.ip) });
      const { data } = filled(CodeForm, req);
      const email = (await signIn.pending(browser.secret))?.email;
      const accountId = data && (await signIn.complete(browser.secret, data.code));
      if (accountId === undefined) {
        const errors = [{ id: "code", text: WRONG_CODE }];
        const { formToken } = browser;
        return show(res, codePage({ formToken, place, email, mailHint, errors }));
      }
      res.append("set-cookie", await sessions.open(browser, accountId)).redirect(303, place);
    })
    .all(onlyMethods(["get", "post"]));
}

function providerRoutes(router: Router, options: SignInRoutesOptions): void {
  const { door, show, throttle, sessions, upstream, baseUrl } = options;
  if (upstream === undefined) return;

  router
    .route("/sign-in/provider")
    .post(...readForm, async (req, res) => {
      const { secret } = await door.enterByForm(req);
      await throttle({ "code-address": addressKey(req.ip) });
      const { href } = await upstream.start(secret, returnTo(typed(req, "return_to")));
      if (followsForm(req)) show(res, goOnPage(href));
      else res.redirect(303, href);
    })
    .all(onlyMethods(["post"]));
  router
    .route("/sign-in/callback")
    .get(async (req, res) => {
      const browser = await door.enter(req, res);
      const callback = new URL(`${baseUrl}/sign-in/callback?${queryOf(req)}`);
      const finished = await upstream.finish(browser.secret, callback);
      if (finished === undefined) throw notSignedIn(upstream);
      res.append("set-cookie", await sessions.open(browser, finished.accountId));
      res.redirect(303, returnTo(finished.returnTo));
    })
    .all(onlyMethods(["get"]));
}

const notSignedIn = ({ name }: Upstream): Problem =>
  new Problem("invalid_request", {
    detail: `You are not signed in: the answer of ${name} was refused, came too late, or is for somebody who cannot sign in here.`,
    next: "Open the sign-in page and try again.",
  });

function signOutRoute(router: Router, { door, sessions }: SignInRoutesOptions): void {
  router
    .route("/sign-out")
    .post(...readForm, async (req, res) => {
      const browser = await door.enterByForm(req);
      res.append("set-cookie", await sessions.close(browser)).redirect(303, "/sign-in");
    })
    .all(onlyMethods(["post"]));
}
