import type { Request } from "express";
import type { PageAnswer } from "./answer.ts";
import { html } from "./html.ts";

/**
 * Whether a request may be the end of a form. Chromium holds every redirect that follows a form to the
 * `form-action` of the form's page, so that a person who is sent on to another site would be stuck.
 * Where a browser does not say where it comes from, as on http in a network of one's own, it still says
 * that it wants a page.
 */
export function followsForm({ headers }: Request): boolean {
  const { "sec-fetch-site": site, accept = "" } = headers;
  return site === undefined ? accept.includes("text/html") : site === "same-origin";
}

/** A page that goes on by itself: what follows it is no longer the end of a form. */
export function goOnPage(goesOnTo: string): PageAnswer {
  return {
    heading: "One moment",
    goesOnTo,
    body: html`<p class="lead">You are taken on. If nothing happens, <a href="${goesOnTo}">continue here</a>.</p>`,
  };
}
