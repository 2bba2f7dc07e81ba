import type { ServerResponse } from "node:http";
import type { Html } from "../../markup/html.ts";
import { layout, type Page, type PageFrame } from "./layout.ts";

/** A page with its HTTP status. */
export interface PageAnswer extends Page {
  /** HTTP status; default: 200, or 400 if the page has errors. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The parts of the body that the script of the page updates. */
  readonly liveParts?: readonly Html[];
}

/** Sends a page. */
export type SendPage = (res: ServerResponse, answer: PageAnswer) => void;

/**
 * Value of `Referrer-Policy`. With `no-referrer`, browsers would send `Origin: null` with the forms
 * of this site.
 */
const REFERRER_POLICY = "same-origin";

/** Content security policy of pages without a script; pages with a script extend it. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Headers of every page. They forbid scripts, framing, caching, and referrers to other sites. */
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

/** Headers of pages whose script makes no requests. */
const SCRIPT_POLICY = {
  "content-security-policy": `${CONTENT_SECURITY_POLICY}; script-src 'self'`,
} as const;

/** The HTTP status of a page. */
export const pageStatusOf = ({ status, errors = [] }: PageAnswer): number =>
  status ?? (errors.length > 0 ? 400 : 200);

/** Creates the function that sends pages. */
export function createPageSender(frame: PageFrame): SendPage {
  return (res, { headers = {}, ...page }) => {
    const text = layout(page, frame).toString();
    res.statusCode = pageStatusOf(page);
    const policy = page.scriptPath === undefined ? {} : SCRIPT_POLICY;
    for (const [name, value] of Object.entries({ ...PAGE_HEADERS, ...policy, ...headers })) {
      res.setHeader(name, value);
    }
    res.setHeader("Content-Type", "text/html; charset=utf-8");
    res.setHeader("Content-Length", Buffer.byteLength(text));
    res.end(text);
  };
}
