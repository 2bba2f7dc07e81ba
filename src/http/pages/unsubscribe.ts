import { type Request, Router } from "express";
import { Problem } from "../../lib/problem.ts";
import { type Html, html } from "../../markup/html.ts";
import { rejectOtherMethods } from "../allowed-methods.ts";
import { untrustedText } from "./elements.ts";
import { formReader } from "./form.ts";
import { buttonForm } from "./form-html.ts";
import type { PageAnswer } from "./page-answer.ts";
import type { PageContext } from "./page-context.ts";
import { createPassCookie, type PassCookie } from "./pass-cookie.ts";
import { safeReturnPath, withReturnPath } from "./return-to.ts";

/** Path of the unsubscribe links in emails. */
export const UNSUBSCRIBE_PATH = "/unsubscribe";

/** How long a browser at which the link was used stays one of the mailbox, in milliseconds. */
const MAILBOX_BROWSER_MS = 86_400_000;

/** How long a browser keeps its place: as long as an authorization request, in milliseconds. */
const PLACE_MS = 600_000;

/** Where a browser was on the way to when it asked for a code, which the link in an email lacks. */
export const signInPlace = ({ baseUrl }: Pick<PageContext, "baseUrl">): PassCookie =>
  createPassCookie({ name: "market-signal-place", baseUrl, lifetimeMs: PLACE_MS });

/** The pass of a browser at which a link of a mailbox was used: the token of the link. */
export const mailboxPass = ({ baseUrl }: Pick<PageContext, "baseUrl">): PassCookie =>
  createPassCookie({ name: "market-signal-mailbox", baseUrl, lifetimeMs: MAILBOX_BROWSER_MS });

/**
 * Routes of the unsubscribe link in the emails of a channel. Mail programs send a POST without a
 * page, a session or a form token (RFC 8058 section 3.2), so the token in the link is sufficient. A
 * GET changes nothing, because programs that scan mail follow links. Any body is accepted: who has
 * the link could send the right one too. The other two are forms of the page, and are sent from it.
 *
 * The link of a mailbox also gives a browser codes of its own to sign in with, because whoever has
 * it reads the mailbox, and strangers may have used up the codes of all other browsers.
 */
export function unsubscribeRoutes(options: PageContext): Router {
  const { csrf, sessions, show, unsubscribing, suppression } = options;
  const router = Router();
  const pass = mailboxPass(options);
  router
    .route(`${UNSUBSCRIBE_PATH}/:token`)
    .get(async (req, res) => {
      const isStopped = await suppression.stateOf(tokenOf(req));
      if (isStopped !== undefined) {
        const { formToken } = await csrf.openPage(req, res);
        return show(res, (isStopped ? stoppedPage : stopPage)(tokenOf(req), formToken));
      }
      const channel = await unsubscribing.channelOf(tokenOf(req));
      if (channel === undefined) throw noSuchLink();
      show(res, channel.state.is === "disabled" ? endedPage : unsubscribeConfirmPage(channel.hint));
    })
    .post(async (req, res) => {
      if (await suppression.stop(tokenOf(req))) {
        // Not `openPage`: a mail program that calls a host by another name has stopped the mail.
        const { formToken, setCookie } = await sessions.browserOf(req.headers.cookie);
        if (setCookie !== undefined) res.append("set-cookie", setCookie);
        return show(res, stoppedPage(tokenOf(req), formToken));
      }
      if (!(await unsubscribing.unsubscribe(tokenOf(req)))) throw noSuchLink();
      show(res, endedPage);
    })
    .all(rejectOtherMethods(["get", "post"]));
  router
    .route(`${UNSUBSCRIBE_PATH}/:token/allow`)
    .post(...formReader, async (req, res) => {
      await csrf.requireOwnForm(req);
      if (!(await suppression.allow(tokenOf(req)))) throw noSuchLink();
      show(res, allowedPage);
    })
    .all(rejectOtherMethods(["post"]));
  router
    .route(`${UNSUBSCRIBE_PATH}/:token/browser`)
    .post(...formReader, async (req, res) => {
      await csrf.requireOwnForm(req);
      if ((await suppression.stateOf(tokenOf(req))) === undefined) throw noSuchLink();
      pass.give(res, tokenOf(req));
      res.redirect(303, withReturnPath("/sign-in", safeReturnPath(signInPlace(options).read(req))));
    })
    .all(rejectOtherMethods(["post"]));
  return router;
}

const stopPage = (token: string, formToken: string): PageAnswer => ({
  heading: "No more mail",
  body: html`<p class="lead">Nothing will be sent to your mailbox any more: no alerts, and no codes that others ask for. ${ownCodes}</p>
<form method="post"><button class="main">Do not send me mail again</button></form>
<p>Are you refused a code, because others have asked for too many?</p>
${signInForm(token, formToken)}`,
});

const stoppedPage = (token: string, formToken: string): PageAnswer => ({
  heading: "No more mail",
  body: html`<p class="lead">Nothing is sent to your mailbox any more. ${ownCodes}</p>
${buttonForm({ action: `${UNSUBSCRIBE_PATH}/${token}/allow`, formToken }, html`<button>Send me mail again</button>`)}
<p>Do you want to sign in without other mail?</p>
${signInForm(token, formToken)}`,
});

/** What is sent to a mailbox that gets no more mail. */
const ownCodes = "Only a browser at which you signed in before, or use this link, gets a code.";

const signInForm = (token: string, formToken: string): Html =>
  buttonForm(
    { action: `${UNSUBSCRIBE_PATH}/${token}/browser`, formToken },
    html`<button>Sign in at this browser</button>`,
  );

const allowedPage: PageAnswer = {
  heading: "Mail is sent again",
  body: html`<p class="lead">Mail is sent to your mailbox again.</p>`,
};

const tokenOf = ({ params }: Request): string => String(params.token);

const unsubscribeConfirmPage = (address: string): PageAnswer => ({
  heading: "Unsubscribe",
  body: html`<p class="lead">No more alerts will be sent to ${untrustedText(address)}.</p>
<form method="post"><button class="main">Unsubscribe</button></form>`,
});

const endedPage: PageAnswer = {
  heading: "Unsubscribed",
  body: html`<p class="lead">No more alerts are sent to this address.</p>
<p>Its person can start them again on the <a href="/account#channels">account page</a>.</p>`,
};

const noSuchLink = (): Problem =>
  new Problem("not_found", {
    detail: "The link is not complete, or what it was for does not exist any more.",
    next: "Nothing more is sent in that case. Otherwise open the link of a newer email.",
  });
