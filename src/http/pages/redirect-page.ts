import type { Request } from "express";
import { html } from "./html.ts";
import type { PageAnswer } from "./page-answer.ts";

/** Whether a request may result from a form submission. Chromium applies the page's `form-action`
 *  to every redirect that follows the form, which would block a redirect to another site. A browser
 *  that does not send `Sec-Fetch-Site`, as over http in a private network, is recognized by
 *  accepting HTML. */
export function mayFollowForm({ headers }: Request): boolean {
  const { "sec-fetch-site": site, accept = "" } = headers;
  return site === undefined ? accept.includes("text/html") : site === "same-origin";
}

/** An intermediate page that navigates by itself, so that the next request is no longer the result
 *  of the form. */
export function redirectPage(redirectTo: string): PageAnswer {
  return {
    heading: "One moment",
    redirectTo,
    body: html`<p class="lead">You are being redirected. If nothing happens, <a href="${redirectTo}">continue here</a>.</p>`,
  };
}
