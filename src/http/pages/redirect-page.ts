import type { Request } from "express";
import { html } from "../../markup/html.ts";
import type { PageAnswer } from "./page-answer.ts";

/**
 * Whether a request may result from a form submission. Chromium applies the page's `form-action` to
 * every redirect after the submission, which would block a redirect to another site. If the browser
 * sends no `Sec-Fetch-Site`, as over plain HTTP in a private network, a request that accepts HTML
 * counts as a possible submission.
 */
export function mayResultFromForm({ headers }: Request): boolean {
  const { "sec-fetch-site": site, accept = "" } = headers;
  return site === undefined ? accept.includes("text/html") : site === "same-origin";
}

/**
 * An intermediate page that navigates on automatically. Without it, the browser would treat the
 * next request as part of the form submission, and block it by `form-action` (see
 * `mayResultFromForm`).
 */
export function redirectPage(redirectTo: string): PageAnswer {
  return {
    heading: "One moment",
    redirectTo,
    body: html`<p class="lead">You are being redirected. If nothing happens, <a href="${redirectTo}">continue here</a>.</p>`,
  };
}
