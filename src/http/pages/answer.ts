import type { Response } from "express";
import { type Frame, layout, type Page } from "./layout.ts";

/** A page and how it is sent. */
export interface PageAnswer extends Page {
  /** 200 when absent. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a page. */
export type ShowPage = (res: Response, answer: PageAnswer) => void;

/** With `no-referrer` a browser would send `Origin: null` with the forms of the site itself. */
const REFERRER_POLICY = "same-origin";

/** A page with a script says so beside it. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Nothing of a page runs, is framed, cached, or reaches another site. */
export const PAGE_HEADERS = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "referrer-policy": REFERRER_POLICY,
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
} as const;

/** Creates what sends pages. */
export function createShowPage(frame: Frame): ShowPage {
  return (res, { status = 200, headers = {}, ...page }) => {
    res
      .status(status)
      .set(PAGE_HEADERS)
      .set(headers)
      .type("html")
      .send(layout(page, frame).toString());
  };
}
