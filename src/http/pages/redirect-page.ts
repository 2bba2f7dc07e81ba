import type { Request } from "express";
import { html } from "./html.ts";
import type { PageAnswer } from "./page-answer.ts";

/**
 * Whether a request may result from a form submission. Chromium applies the page's `form-action` to
 * every redirect that follows the form, which would block a redirect to another site. A browser that
 * does not send `Sec-Fetch-Dest` or an origin, as over http in a private network, still says that it
 * accepts HTML.
 */
export function mayFollowForm({ headers }: Request): boolean {
  const { "sec-fetch-site": site, accept = "" } = headers;
  return site === undefined ? accept.includes("text/html") : site === "same-origin";
}

/** A page that navigates on its own, so that the next request no longer results from the form. */
export function redirectPage(goesOnTo: string): PageAnswer {
  return {
    heading: "One moment",
    goesOnTo,
    body: html`<p class="lead">You are taken on. If nothing happens, <a href="${goesOnTo}">continue here</a>.</p>`,
  };
}
