import type { Response } from "express";
import { type Frame, layout, type Page } from "./layout.ts";

/** A page and how it is sent. */
export interface PageAnswer extends Page {
  /** 200 when absent. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sources (CSP level 3, section 2.3.1) besides the site that a form of this page may lead to. */
  readonly formTargets?: readonly string[];
}

/** Sends a page. */
export type ShowPage = (res: Response, answer: PageAnswer) => void;

/** With `no-referrer` a browser would send `Origin: null` with the forms of the site itself. */
const REFERRER_POLICY = "same-origin";

/** Nothing of a page runs, is framed, cached, or reaches another site. */
const HEADERS = {
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "referrer-policy": REFERRER_POLICY,
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
} as const;

function contentSecurityPolicy(formTargets: readonly string[]): string {
  return [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self' data:",
    ["form-action 'self'", ...formTargets].join(" "),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** Creates what sends pages. */
export function createShowPage(frame: Frame): ShowPage {
  return (res, { status = 200, headers = {}, formTargets = [], ...page }) => {
    res
      .status(status)
      .set(HEADERS)
      .set("content-security-policy", contentSecurityPolicy(formTargets))
      .set(headers)
      .type("html")
      .send(layout(page, frame).toString());
  };
}
